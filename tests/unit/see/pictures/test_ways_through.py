"""Where arrows begin and end (V30, V31, V48, V74, V78), and which name belongs to which line."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from glassformer.extensions.pictures import PICTURES
from glassformer.extensions.pictures.parts import style
from glassformer.extensions.pictures.parts.plot import spread
from glassformer.extensions.pictures.parts.scene import Area, BoxMark, GridMark, PathMark, Scene
from glassformer.see import Trace

MEMORY = style.role("memory").ink


def find_boxes(scene: Scene, text: str) -> list[Area]:
    """Return the box around each text that is this one."""
    boxes = [m.area for m in scene.marks if isinstance(m, BoxMark) and m.edge]
    names = (mark.area for mark in scene.texts if mark.text == text)
    return [min((b for b in boxes if b.grow(2).holds(n)), key=lambda b: b.width) for n in names]


def find_lines(scene: Scene, ink: str, dashed: bool = False) -> list[PathMark]:
    paths = (mark for mark in scene.marks if isinstance(mark, PathMark) and not mark.fill)
    return [p for p in paths if p.ink == ink and p.dashed == dashed and p.layer < 7]


def test_memory_leaves_the_top_of_the_encoder_and_reaches_each_cross_attention(
    trace: Trace, other: Trace
) -> None:
    for each in (trace, other):
        scene = PICTURES["V74"].scene(each)
        lines = find_lines(scene, MEMORY)
        (name,) = (m.area for m in scene.texts if m.text == "Encoder")
        (up,) = (line for line in lines if line.points[0][0] == pytest.approx(line.points[-1][0]))
        assert up.points[-1][1] < up.points[0][1] < name.y, "upwards, from above the whole stack"
        crosses = find_boxes(scene, "Cross-attention")
        assert len(crosses) == each.settings.decoder_layers
        for box in crosses:
            ends = (line.points[-1] for line in lines)
            assert any(box.y < y < box.bottom and abs(x - box.x) < 12 for x, y in ends)


@pytest.mark.parametrize(("id", "most"), [("V30", 3), ("V31", 2)])
def test_each_token_has_two_ways_past_a_sublayer(
    id: str, most: int, trace: Trace, other: Trace
) -> None:
    """They end at the sums, and the first vector is what they add: the residual stream."""
    for each in (trace, other):
        scene = PICTURES[id].scene(each)
        count = min(most, len(each.source))
        dashed = find_lines(scene, style.SOFT, dashed=True)
        sums = find_boxes(scene, "Add & norm" if each.settings.norm == "post" else "Add")
        assert len(dashed) == len(sums) == 2 * count
        ends = [line.points[-1] for line in dashed]
        for box in sums:
            assert sum(box.y < y < box.bottom and 0 < x - box.right < 12 for x, y in ends) == 1
        stream = each["source_embedding.sum"][0, 0]
        assert any(m.value == pytest.approx(float(stream), abs=1e-5) for m in scene.texts if m.of)


def test_one_memory_becomes_the_keys_of_each_layer(trace: Trace) -> None:
    scene = PICTURES["V78"].scene(trace)
    count = trace.settings.decoder_layers
    assert scene.title == f"One memory, read through {count} different key matrices"
    grids = [mark for mark in scene.marks if isinstance(mark, GridMark)]
    assert len(grids) == 1 + count
    for layer, grid in enumerate(reversed(grids[1:])):
        key = trace[f"decoder.{layer}.cross_attention.key"][0]
        np.testing.assert_allclose(grid.values, key, atol=1e-5)


@pytest.mark.parametrize("head", [0, 1])
def test_the_arrow_of_a_head_ends_at_its_block(head: int, trace: Trace) -> None:
    scene = PICTURES["V48"].scene(trace, head=head)
    (block,) = (m for m in scene.marks if isinstance(m, BoxMark) and m.edge == style.LIT)
    (arrow,) = find_lines(scene, style.LIT)
    x, y = arrow.points[-1]
    assert block.x < x < block.area.right and 0 < block.y - y < 12
    blocks = [m.x for m in scene.marks if isinstance(m, BoxMark) and m.y == block.y and m.edge]
    assert sorted(set(blocks)).index(block.x) == head


def test_values_stand_below_their_weight_times_them(trace: Trace) -> None:
    for id in ("V36", "V37"):
        heads = " ".join(m.text for m in PICTURES[id].scene(trace).texts if not m.of)
        assert "α · v" in heads.replace("  ", " ") and "× v" not in heads


@pytest.mark.parametrize("wanted", [[], [5], [5, 5, 5], [0, 4, 30, 31, 33, 80], [1, 2, 11.5, 12]])
def test_names_are_spread_around_where_they_want_to_be(wanted: list[float]) -> None:
    found = spread(wanted, 10)
    assert len(found) == len(wanted) and sum(found) == pytest.approx(sum(wanted))
    assert all(b - a >= 10 - 1e-9 for a, b in pairwise(found))
    if all(b - a >= 10 for a, b in pairwise(wanted)):
        assert found == pytest.approx(wanted)


def test_a_name_that_moved_is_joined_with_its_line(trace: Trace) -> None:
    """By a line of its colour, from its curve's end, and these do not cross."""
    for id in ("V69", "V91"):
        scene = PICTURES[id].scene(trace)
        names = [m for m in scene.texts if m.bold and m.ink in style.HEADS]
        leaders = [p for p in scene.marks if isinstance(p, PathMark) and p.line == 0.8]
        leaders = [p for p in leaders if p.ink in style.HEADS and len(p.points) == 2]
        curves = [p for p in scene.marks if isinstance(p, PathMark) and len(p.points) > 2]
        ends = [(curve.ink, curve.points[-1]) for curve in curves]
        assert leaders and names
        for leader in leaders:
            (x, y), (a, b) = leader.points
            assert any(i == leader.ink and abs(y - v) < 1 and 0 < x - u < 8 for i, (u, v) in ends)
            near = min(names, key=lambda m: abs(m.area.x - a) + abs(m.area.middle[1] - b))
            assert near.ink == leader.ink
