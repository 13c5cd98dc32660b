"""What a reader sees: names beside what they name, and no words where nothing is shown."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from glassformer.extensions.pictures import PICTURES, meaning, multihead
from glassformer.extensions.pictures.lessons import learning_rate, smoothed_loss
from glassformer.extensions.pictures.multihead import Portrait, portray_heads
from glassformer.extensions.pictures.parts import style
from glassformer.extensions.pictures.parts.scene import BoxMark, GridMark, PathMark, Scene
from glassformer.extensions.pictures.parts.typesetting import TypeStyle, balance_width, set_lines
from glassformer.extensions.pictures.poster import A1
from glassformer.see import Trace
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
    assert left.count("<s>") == 2  # where the decoder reads what it has written, and only there


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


def test_the_learning_rate_is_a_picture_of_its_own(trace: Trace) -> None:
    """V89 has one subject: what smoothing asks for and costs, or the rate if that is asked for."""
    scene = draw_scene("V89", trace, smoothing=0.3)
    (grid,) = (mark for mark in scene.marks if isinstance(mark, GridMark))
    np.testing.assert_allclose(np.sum(grid.values, axis=1), 1)
    np.testing.assert_allclose(np.diag(grid.values), 0.75)
    assert not any("warm-up" in mark.text for mark in scene.texts)
    rate = draw_scene("V89", trace, subject="rate")
    peaks = [learning_rate(warmup, 512, warmup) for warmup in (4000, 8000)]
    assert f"{peaks[0] / peaks[1]:.1f} times" in rate.title
    assert sum("warm-up" in mark.text for mark in rate.texts) >= 3


def test_descent_takes_the_steps_that_are_told(trace: Trace) -> None:
    """At the best constant rate a step leaves (κ - 1) / (κ + 1) of the distance, κ = ratio²."""
    scene = draw_scene("V67", trace, subject="loss")
    many, few = map(int, re.findall(r"\d+", scene.title))
    (ratio,) = re.findall(r"is ([\d.]+) times", " ".join(mark.text for mark in scene.texts))
    rate = (float(ratio) ** 2 - 1) / (float(ratio) ** 2 + 1)
    assert few == 1 and abs(many - math.log(0.01) / math.log(rate)) < 4
    drawn = [m for m in scene.marks if isinstance(m, PathMark) and m.ink == style.LIT]
    assert sorted(len(mark.points) for mark in drawn) == [few + 1, many + 1]


def test_an_angle_in_a_title_is_drawn(trace: Trace) -> None:
    """The arrow of V08 and the last one of V71 have the angle that the title names."""
    for id in ("V08", "V71"):
        scene = draw_scene(id, trace)
        (told,) = re.findall(r"(?:by|to) (\d+)°", scene.title)
        heads = [m for m in scene.marks if isinstance(m, PathMark) and m.fill == style.LIT]
        paths = [m for m in scene.marks if isinstance(m, PathMark) and m.line > 1.2]
        shafts = [mark for mark in paths if mark.ink == style.LIT]
        tips = {mark.points[0] for mark in heads if len(mark.points) == 4}
        angles = []
        for (x, y), (a, b) in (mark.points for mark in shafts if len(mark.points) == 2):
            if any(math.hypot(a - u, b - v) < 5 for u, v in tips):
                angles.append(math.degrees(math.atan2(y - b, a - x)))
        assert len(angles) == 1 and angles[0] == pytest.approx(float(told), abs=0.6), id
        assert f"{told}°" in [mark.text for mark in scene.texts]


def test_the_lines_of_a_title_are_drawn(trace: Trace) -> None:
    """V52 counts the weights of at least 0.2: of one head of each attention, then of all."""
    scene = draw_scene("V52", trace)
    counts = [int(m.text.split()[0]) for m in scene.texts if re.fullmatch(r"\d+ lines", m.text)]
    few, many = counts[:3], counts[3:]
    found = [
        trace[f"{side}.{-1 % n}.{kind}.weights"] >= 0.2
        for side, kind, n in (
            ("encoder", "self_attention", 3),
            ("decoder", "self_attention", 2),
            ("decoder", "cross_attention", 2),
        )
    ]
    assert many == [int(each.sum()) for each in found] and len(few) == 3
    lines = [m for m in scene.marks if isinstance(m, PathMark) and m.ink in style.HEADS]
    assert len(lines) == sum(counts)
    assert str(sum(few)) in scene.title and str(sum(many)) in scene.title


def test_the_recap_draws_the_heads_that_its_title_counts(trace: Trace) -> None:
    scene = draw_scene("V45", trace)
    count = trace.settings.heads
    names = [m.text for m in scene.texts if re.fullmatch(r"head \d+", m.text)]
    assert names == [f"head {h}" for h in range(count)] and f"{count} heads" in scene.title


def test_the_heads_of_a_picture_share_a_scale(trace: Trace) -> None:
    """Weights are as dark in one head of V43 as in another, and so is what is read."""
    grids = [mark for mark in draw_scene("V43", trace).marks if isinstance(mark, GridMark)]
    for window in ("weights", "context"):
        limits = {mark.limit for mark in grids if f".{window}[" in mark.of}
        assert len(limits) == 1, window


def test_each_word_is_joined_to_its_nearest_if_the_map_has_it_nearby() -> None:
    """On the map of V16: in colour only where both are of one kind, and no line across the map."""
    trace = Translator.load("demo", device="cpu").see("The dog sleeps.")
    scene = draw_scene("V16", trace)
    same, words = map(int, re.findall(r"\d+", scene.title)[:2])
    lines = [m for m in scene.marks if isinstance(m, PathMark) and len(m.points) == 2]
    coloured = [mark for mark in lines if mark.ink in meaning.INKS.values()]
    faint = [mark for mark in lines if mark.ink == style.FAINT]
    assert 0.8 * same < len(coloured) <= same
    assert 0 < len(faint) < words - same
    ends = np.array([mark.points for mark in (*coloured, *faint)])
    assert np.hypot(*(ends[:, 0] - ends[:, 1]).T).max() < meaning.SHORT


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
        (("verb", "noun"), "2 heads with 2 habits", "Each of the 2 heads has a habit"),
        (("verb", "verb"), "2 of 2 heads have one habit", "Each of the 2 heads has a habit"),
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


def test_a_weak_habit_is_none(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the note says by what rule the layer was chosen, unless it was asked for."""
    found = [Portrait(key, 0.24, 0.1) for key in ("verb", "noun")]
    monkeypatch.setattr(multihead, "portray_heads", lambda weights, texts: found)
    scene = draw_scene("V43", trace)
    assert scene.title.startswith("In layer 0 no head has a clear habit")
    assert "Of all layers" in scene.description
    scene = draw_scene("V43", trace, layer=1)
    assert "In layer 1" in scene.title and "Of all layers" not in scene.description


def test_the_share_of_the_longest_part_stands_at_its_bar(trace: Trace) -> None:
    scene = draw_scene("V44", trace)
    sizes = scene.data["size"]
    most, share = int(sizes.argmax()), f"{100 * sizes.max() / sizes.sum():.1f}\u202f%"
    (told,) = (m for m in scene.texts if share in m.text.replace(" ", "\u202f"))
    (bar,) = (m for m in scene.texts if m.of == f"size[{most}]")
    assert abs(told.area.middle[0] - bar.area.middle[0]) < 60
    assert scene.title.endswith(f"head {most}'s part is the longest")


def test_each_projection_has_its_own_product(trace: Trace) -> None:
    """V48 has X before each of three matrices of one head, with commas between them."""
    scene = draw_scene("V48", trace, head=1)
    texts = [mark.text for mark in scene.texts]
    assert texts.count(",") >= 2 and texts.count("·") == 3
    shape = trace["source_embedding.sum"].shape
    products = [m for m in scene.marks if isinstance(m, GridMark) and m.of.startswith("source_")]
    assert [(len(m.values), len(m.values[0])) for m in products] == [shape] * 3
    below = [m for m in scene.texts if m.text in [*"QKVi"] and m.size < style.TITLE]
    assert {m.text for m in below} == {*"QKVi"} and all(mark.italic for mark in below)


def test_no_note_speaks_of_options(trace: Trace) -> None:
    for id in ("V67", "V89"):
        assert "subject" not in draw_scene(id, trace).description


def test_what_ends_a_translation_does_not_go_in_again(shipped: Trace, trace: Trace) -> None:
    """Of what comes out in V75 all but the last has an arrow; none is called the least sure."""
    scene, count = draw_scene("V75", shipped), len(shipped.predicted)
    assert scene.title == f"{count} steps: {count - 1} tokens go in again, “</s>” ends it"
    arrows = [m for m in scene.marks if isinstance(m, PathMark) and m.dashed and m.curved]
    lines = -(-count // 7)
    assert len(arrows) == count - lines
    sure = np.sort(np.exp([each.log_prob for each in shipped.predictions]))
    assert sure[1] - sure[0] < 0.1 and "least sure" not in scene.description
    assert trace.predicted[-1].text != "</s>"
    assert draw_scene("V75", trace).title.endswith("each token but the last goes in again")


def test_lanes_that_are_left_out_are_dots(shipped: Trace, other: Trace) -> None:
    for each, dots in ((shipped, 3), (other, 0)):
        scene = draw_scene("V09", each)
        assert [mark.text for mark in scene.texts].count("…") == dots
    assert "its weights are not drawn" in scene.description


def test_the_rotation_is_told_if_it_is_asked_for(trace: Trace) -> None:
    """Each of the three charts of V26 has the axis of positions."""
    scene = draw_scene("V26", trace)
    assert "R =" not in scene.description
    assert [mark.text for mark in scene.texts].count("20") == 3
    told = draw_scene("V26", trace, shift=3).description
    (c, s, t, d) = re.findall(r"[−\d.]+", told.partition("R = (")[2])[:4]
    assert c == d and t == f"−{s}"
    assert float(c) ** 2 + float(s) ** 2 == pytest.approx(1, abs=2e-3)


def test_the_sublayer_that_turns_most_is_named(shipped: Trace) -> None:
    scene = draw_scene("V08", shipped)
    start = shipped["source_embedding.sum"][0]
    turns = [0.0]
    for n in range(2):
        for window in ("self_attention", "feed_forward"):
            end = shipped[f"encoder.{n}.{window}_residual.sum"][0]
            cosine = start @ end / np.linalg.norm(start) / np.linalg.norm(end)
            turns.append(math.degrees(math.acos(cosine)))
    most = int(np.diff(turns).argmax())
    assert most == 1 and f"from {turns[1]:.0f}° to {turns[2]:.0f}°" in scene.title
    assert scene.title.startswith("One feed-forward network")


def test_every_encoder_head_is_told_from_those_of_the_decoder(shipped: Trace) -> None:
    scene = draw_scene("V53", shipped)
    counts = [m.text for m in scene.texts if m.text.startswith("framed:")]
    parted = counts[:2] == ["framed: 0 of 48", "framed: 48 of 48"]
    assert parted == scene.title.startswith("Sharp on average: no encoder head")
    across = counts[2].removeprefix("framed: ").removesuffix(" of 48")
    assert not parted or f"{across} heads of cross-attention, all 48 of" in scene.title
    grids = [mark for mark in scene.marks if isinstance(mark, GridMark)]
    assert {mark.limit for mark in grids if ".weights[" in mark.of or not mark.of} <= {1.0}
    assert "percentile" not in scene.description
