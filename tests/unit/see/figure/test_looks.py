"""What a reader sees: names beside what they name, and no words where nothing is shown."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from glassformer.see import Trace
from glassformer.see.figure import PICTURES, multihead, style
from glassformer.see.figure.lessons import smoothed_loss
from glassformer.see.figure.multihead import Portrait, portray_heads
from glassformer.see.figure.poster import A1
from glassformer.see.figure.scene import BoxMark, GridMark, Scene
from glassformer.see.figure.typesetting import TypeStyle, balance_width, set_lines
from glassformer.translator import Translator

from .test_scenes import check_layout


def draw_scene(id: str, trace: Trace, **options: object) -> Scene:
    return PICTURES[id].scene(trace, **options)  # type: ignore[arg-type]


def test_balanced_lines_are_no_more_and_fit() -> None:
    kind, text = TypeStyle(18.0, bold=True), "the longest sentence sets the width of a batch"
    for width in (90.0, 200.0, 300.0, 900.0):
        least = balance_width(text, kind, width)
        lines = set_lines(text, kind, least)
        assert least <= width and len(lines) == len(set_lines(text, kind, width))
    uneven, even = (
        np.ptp([sum(run.width for run in line) for line in set_lines(text, kind, width)])
        for width in (300.0, balance_width(text, kind, 300.0))
    )
    assert even < uneven


def test_the_numbers_of_a_poster_cover_no_heading(trace: Trace) -> None:
    scene = draw_scene("V113", trace)
    assert scene.width == A1[0]
    badges = [m for m in scene.marks if isinstance(m, BoxMark) and m.fill == style.TOPIC]
    numbers = {str(n + 1) for n in range(len(badges))}
    for badge in badges:
        over = {mark.text for mark in scene.texts if mark.area.meets(badge.area)}
        assert len(over) == 1 and over <= numbers


def test_the_query_stands_above_no_key(trace: Trace) -> None:
    """The token that is asked about is left of the columns, so that it heads none of them."""
    scene = draw_scene("V51", trace)
    grid = next(mark for mark in scene.marks if isinstance(mark, GridMark))
    query = next(mark for mark in scene.texts if mark.ink == style.role("query").ink)
    assert query.area.right < grid.x + grid.width / len(grid.values[0])


def test_both_pictures_of_cross_attention_name_what_is_written(trace: Trace) -> None:
    """The rows of V52 are those of V54: the tokens that come out, the end mark among them."""
    written = [token.text.strip() for token in trace.predicted]
    for id in ("V52", "V54"):
        texts = [mark.text for mark in draw_scene(id, trace).texts]
        assert all(text in texts for text in written)
    left = [m.text for m in draw_scene("V52", trace).texts if m.anchor == "end"]
    assert left.count("<s>") == 3  # where the decoder reads what it has written, and only there


@pytest.mark.parametrize(("id", "has"), [("V34", False), ("V35", False), ("V36", True)])
def test_vectors_are_spoken_of_where_there_are_some(id: str, has: bool, trace: Trace) -> None:
    assert ("Of each vector" in draw_scene(id, trace).description) == has


def test_the_largest_products_are_named(trace: Trace) -> None:
    """The callout of V32 names the two products that move the first number of the query most."""
    scene = draw_scene("V32", trace, layer=0, head=1, query=2)
    weight = trace["encoder.0.self_attention.to_query.weight"][trace.settings.width]
    products = trace["source_embedding.sum"][2] * weight
    for n in np.argsort(-np.abs(products))[:2]:
        assert f"{products[n]:.2f}".replace("-", "−") in scene.description


@pytest.mark.parametrize("smoothing", [0.1, 0.3])
def test_the_cheapest_doubt_is_in_the_title(smoothing: float, trace: Trace) -> None:
    doubts = np.linspace(0.001, 0.6, 5000)
    costs = [smoothed_loss(float(x), smoothing, 6) for x in doubts]
    best = 100 * float(doubts[int(np.argmin(costs))])
    title = draw_scene("V89", trace, smoothing=smoothing).title
    assert f"{best:.1f} %" in title


def test_the_most_marked_head_comes_first(other: Trace) -> None:
    """In V43 large, and the others by number; in V46 all by how marked their habits are."""
    scene = draw_scene("V43", other)
    ordered = [int(m.text[5:]) for m in scene.texts if re.fullmatch(r"head \d+", m.text)]
    found = portray_heads(
        other["encoder.0.self_attention.weights"], [token.text.strip() for token in other.source]
    )
    best = max(range(len(found)), key=lambda n: found[n].excess)
    assert ordered == [best, *(n for n in range(other.settings.heads) if n != best)]
    large = max((m for m in scene.marks if isinstance(m, GridMark)), key=lambda m: m.width)
    assert f"weights[{best}," in large.of
    told = " ".join(draw_scene("V46", other).captions)
    excess = [found[int(n)].excess for n in re.findall(r"Head (\d+)", told)]
    assert len(excess) == len(found) and excess == sorted(excess, reverse=True)


@pytest.mark.parametrize(
    ("keys", "still", "moving"),
    [
        (("verb", "noun"), "2 heads with 2 habits", "Of 2 heads 2 have a habit"),
        (("verb", "verb"), "2 of 2 heads have one habit", "Of 2 heads 2 have a habit"),
        (("verb", "anywhere"), "only head 0 has a habit", "only head 0 has a habit"),
        (("anywhere", "anywhere"), "none of them", "none of them"),
    ],
)
def test_habits_are_counted_in_good_english(
    keys: tuple[str, str], still: str, moving: str, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [Portrait(key, 0.9 - n / 10, 0.1) for n, key in enumerate(keys)]
    monkeypatch.setattr(multihead, "portray_heads", lambda weights, texts: found)
    assert still in draw_scene("V43", trace).title
    assert moving in draw_scene("V46", trace).title


@pytest.fixture(scope="module")
def shipped() -> Trace:
    return Translator.load("demo", device="cpu").see("The animal was too tired to cross.")


def test_the_whole_way_of_a_trained_model_is_json(shipped: Trace) -> None:
    """A comparison of arrays is no truth value of Python, which JSON would refuse."""
    told = draw_scene("V79", shipped).to_json()
    assert any(mark.get("bold") for mark in json.loads(json.dumps(told))["marks"])


@pytest.mark.parametrize("id", ["V45", "V60", "V75", "V76", "V84", "V113"])
def test_layout_of_whole_words(id: str, shipped: Trace) -> None:
    """A trained model has tokens of many letters, and is least sure far from the first row."""
    check_layout(draw_scene(id, shipped))
