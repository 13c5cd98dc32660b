"""What pictures V119 to V121 draw of circuits and of methods is what is measured."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from benchmarks.circuits import measure_drawn
from glassformer.extensions.pictures import circuits
from glassformer.extensions.pictures.circuits import (
    NodeSpot,
    compose_circuit,
    gather_edges,
    locate_node,
)
from glassformer.extensions.pictures.parts import style
from glassformer.extensions.pictures.parts.plan import Outline
from glassformer.extensions.pictures.parts.scene import BoxMark, PathMark, Scene
from glassformer.extensions.pictures.pictures import make_scene
from glassformer.see import Trace
from glassformer.translator import Translator

NUMBERS = {"lead": 0.01, "nothing": 0.01, "kept": 0.02, "without": 0.05}  # and how exact


@pytest.fixture(scope="module")
def demo() -> Translator:
    return Translator.load("demo", device="cpu", precision="fp32")


@pytest.fixture(scope="module")
def trace(demo: Translator) -> Trace:
    return demo.see("The cat is on the mat.", level="attention")


@pytest.fixture
def stored() -> dict[str, Any]:
    return json.loads(circuits.MEASURED.read_text(encoding="utf-8"))


def test_what_is_drawn_is_what_is_measured(demo: Translator, stored: dict[str, Any]) -> None:
    """Another processor may find a circuit like it; what methods say has no choice in it."""
    found = measure_drawn(demo)
    drawn, again = stored["circuit"], found["circuit"]
    for name in ("text", "source", "target", "word", "rival", "layers", "elsewhere", "of"):
        assert drawn[name] == again[name], name
    for name, near in NUMBERS.items():
        assert drawn[name] == pytest.approx(again[name], abs=near), name
    assert len(drawn["edges"]) == pytest.approx(len(again["edges"]), rel=0.2)
    assert max(*again["random"], *again["connected"], *drawn["random"], *drawn["connected"]) < 0.2
    heaviest = [sorted(each["edges"], key=lambda edge: -edge[-1])[0][:4] for each in (drawn, again)]
    assert heaviest[0] == heaviest[1]
    assert stored["methods"]["words"] == found["methods"]["words"]
    for one, two in zip(stored["methods"]["methods"], found["methods"]["methods"], strict=True):
        assert (one["method"], one["named"]) == (two["method"], two["named"])
        assert one["scores"] == pytest.approx(two["scores"], abs=1e-3)
    for name in ("attributed", "random"):
        for one, two in zip(stored["sizes"][name], found["sizes"][name], strict=True):
            assert one[0] == two[0] and one[1] == pytest.approx(two[1], abs=0.02)
    size, kept = found["sizes"]["found"][-1]
    assert size == len(again["edges"]) and kept == pytest.approx(again["kept"], abs=1e-5)


def draw(trace: Trace, found: dict[str, Any], lang: str = "en") -> Scene:
    return compose_circuit(Outline("circuit", trace, lang), found)


def test_the_heaviest_edge_is_the_thickest(trace: Trace, stored: dict[str, Any]) -> None:
    scene = make_scene(trace, "V119")
    edges = gather_edges(stored["circuit"])
    lines = [mark for mark in scene.marks if isinstance(mark, PathMark) and mark.curved]
    assert len(lines) == len(edges.losses) <= len(stored["circuit"]["edges"])
    start, end = max(edges.losses, key=edges.losses.__getitem__)
    assert (start.kind, end.side) == ("token", "source")
    thickest = max(lines, key=lambda mark: mark.line)
    assert thickest.ink == style.role("encoder").ink
    found = copy.deepcopy(stored["circuit"])
    across = next(edge for edge in found["edges"] if edge[1].startswith("decoder.2.cross"))
    across[-1] = 100.0
    marks = [mark for mark in draw(trace, found).marks if isinstance(mark, PathMark)]
    assert max(marks, key=lambda mark: mark.line).ink == style.role("memory").ink


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_bars_are_those_of_the_circuit(lang: str, trace: Trace, stored: dict[str, Any]) -> None:
    found = stored["circuit"]
    wanted = [found["kept"], max(found["random"]), max(found["connected"]), found["without"]]
    scene = make_scene(trace, "V119", lang=lang)
    printed = [mark.value for mark in scene.texts if mark.of.startswith("share[")]
    assert printed == pytest.approx(wanted)
    assert f"{100 * found['kept']:.0f} %" in scene.title
    assert str(len(found["edges"])) in scene.title


@pytest.mark.parametrize(
    ("elsewhere", "said"),
    [
        (None, "carry on average over other sentences"),
        ("", "carry in the counterpart"),
        ("A cow.", "carry in “A cow”"),
    ],
)
def test_the_note_says_what_other_edges_carry(
    elsewhere: str | None, said: str, trace: Trace, stored: dict[str, Any]
) -> None:
    assert said in draw(trace, stored["circuit"] | {"elsewhere": elsewhere}).description


def test_another_word_is_seen(trace: Trace, stored: dict[str, Any]) -> None:
    """An edge at a third word changes the title, and joins what an attention reads there."""
    found = copy.deepcopy(stored["circuit"])
    assert "all at “wide” and after “parce”" in draw(trace, found).title
    found["edges"].append(["source_embedding.embedded", "encoder.0.self_attention", "source", 7, 1])
    scene = draw(trace, found)
    assert "all at" not in scene.title and "Broken lines" in scene.description
    assert sum(isinstance(mark, PathMark) and mark.dashed for mark in scene.marks) == 1
    lanes = [m for m in scene.marks if isinstance(m, BoxMark) and m.fill == style.GROUND]
    assert len({round(mark.x) for mark in lanes if mark.layer == 0}) == 3


def test_heads_share_a_place_and_are_named(trace: Trace, stored: dict[str, Any]) -> None:
    found = copy.deepcopy(stored["circuit"])
    found["edges"] = [
        ["encoder.1.self_attention.3", "decoder.2.cross_attention.0.key", "source", 10, 0.5],
        ["encoder.1.self_attention.5", "decoder.2.cross_attention.4.value", "source", 10, 0.25],
        ["decoder.2.cross_attention.4", "answer", "target", 7, 0.5],
    ]
    start = NodeSpot("source", 10, 1, "self_attention")
    end = NodeSpot("target", 7, 2, "cross_attention")
    edges = gather_edges(found)
    assert edges.losses[start, end] == 0.75 and edges.heads[start] == {3, 5}
    scene = draw(trace, found)
    texts = [mark.text for mark in scene.texts]
    assert "self-att. 3, 5" in texts and "cross-att. 0, 4" in texts
    assert "numbers are those of heads" in scene.description
    assert "numbers are" not in make_scene(trace, "V119").description
    assert locate_node("decoder.1.ssru", "target", 0).kind == "ssru"


def test_a_method_is_framed_by_whether_it_was_right(trace: Trace, stored: dict[str, Any]) -> None:
    table = stored["methods"]
    right = [table["words"][each["named_at"]]["decoder_changed"] for each in table["methods"]]
    scene = make_scene(trace, "V120")
    assert scene.title.startswith(f"{sum(right)} of {len(right)} methods")
    texts = [mark.text for mark in scene.texts]
    for each, good in zip(table["methods"], right, strict=True):
        verdict = "needs" if good else "does not need"
        assert f"{verdict} “{each['named']}”" in texts
    frames = [m.edge for m in scene.marks if isinstance(m, BoxMark) and m.layer == 5]
    assert frames.count(style.LIT) == sum(right)
    assert frames.count(style.SOFT) == len(right) - sum(right)


def test_circuits_of_each_size_are_points(trace: Trace, stored: dict[str, Any]) -> None:
    """Each dot stands as high as its circuit keeps, between the lines of 0 and 100 %."""
    scene = make_scene(trace, "V121")
    paths = [mark for mark in scene.marks if isinstance(mark, PathMark)]
    lines = sorted(mark.points[0][1] for mark in paths if mark.ink == style.HAIR)
    whole, nothing = lines[0], lines[-1]
    inks = {"found": style.LIT, "attributed": style.role("model").ink, "random": style.SOFT}
    for name, ink in inks.items():
        dots = [
            mark.area.middle[1]
            for mark in scene.marks
            if isinstance(mark, BoxMark) and mark.fill == ink and mark.layer == 4
        ]
        shares = [(nothing - dot) / (nothing - whole) for dot in dots]
        wanted = [share for _, share in stored["sizes"][name]]
        assert shares == pytest.approx(wanted, abs=1e-6), name
    (size, kept), (most, luck) = stored["sizes"]["found"][-1], stored["sizes"]["random"][-1]
    shown = f"{most:,}".replace(",", "\u202f")
    assert f"The right {size} edges keep {100 * kept:.0f} %" in scene.title
    assert f"{shown} drawn at random keep {100 * luck:.0f} %" in scene.title
