"""The tree of the search (V82): who continues whom can be read from the lines alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from random import Random

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch

from glassformer.config import Decode
from glassformer.see import Trace
from glassformer.see.draw import draw
from glassformer.see.draw.beams import order_lanes

# A model that has learnt nothing writes anything.
pytestmark = pytest.mark.filterwarnings("ignore::glassformer.see.draw.fonts.MissingFont")

Point = tuple[float, float]
Line = list[Point]
Node = tuple[int, int]  # a step, and a candidate of it


def draw_tree(trace: Trace, **options: int) -> Figure:
    return draw(trace, "V82", **options).figure


def find_boxes(figure: Figure) -> dict[Node, tuple[float, float, float]]:
    """Left end, right end and height of the box of each candidate, by the number in it."""
    frames = [
        patch.get_bbox().extents
        for patch in figure.axes[0].patches
        if isinstance(patch, FancyBboxPatch)
    ]
    found = {}
    for text in figure.axes[0].texts:
        tag = re.fullmatch(
            r"derived:trace\.\w+\.steps\[(\d+)\]\[(\d+)\]\.log_prob", text.get_gid() or ""
        )
        if tag:
            x, y = text.get_position()
            left, top, right, bottom = next(
                each for each in frames if each[0] < x < each[2] and each[1] < y < each[3]
            )
            found[int(tag[1]), int(tag[2])] = left, right, (top + bottom) / 2
    return found


def find_lines(figure: Figure) -> list[Line]:
    patches = [patch for patch in figure.axes[0].patches if type(patch) is PathPatch]
    return [[(x, y) for x, y in patch.get_path().vertices.tolist()] for patch in patches]


def is_on(point: Point, start: Point, end: Point) -> bool:
    """Whether a point lies on a segment, which is level or upright."""
    (x, y), (a, b), (c, d) = point, start, end
    close = 1e-6
    return (
        min(a, c) - close <= x <= max(a, c) + close and min(b, d) - close <= y <= max(b, d) + close
    )


def are_joined(one: Line, two: Line) -> bool:
    """Whether the eye would follow one into the other: a corner or an end of one lies on the other.
    Lines that only cross are apart."""
    return any(
        is_on(point, *segment)
        for line, other in ((one, two), (two, one))
        for point in line
        for segment in pairwise(other)
    )


def follow(lines: list[Line]) -> Iterator[list[Line]]:
    """Each bundle of lines that hang together."""
    bundles = [[line] for line in lines]
    while True:
        pair = next(
            (
                (a, b)
                for a, b in combinations(bundles, 2)
                if any(are_joined(one, two) for one in a for two in b)
            ),
            None,
        )
        if pair is None:
            return (yield from bundles)
        pair[0].extend(pair[1])
        bundles.remove(pair[1])


def check_tree(trace: Trace, search: object, figure: Figure) -> int:
    """Walk from each candidate back along its line; return how many lines were walked."""
    boxes, walked = find_boxes(figure), 0
    for bundle in follow(find_lines(figure)):
        ends = [end for line in bundle for end in (line[0], line[-1])]
        parents = {
            n
            for n, (_, right, y) in boxes.items()
            if any(is_on(e, (right, y), (right, y)) for e in ends)
        }
        children = {
            n
            for n, (left, _, y) in boxes.items()
            if any(is_on(e, (left, y), (left, y)) for e in ends)
        }
        for step, place in children:
            child = search.steps[step][place]
            walked += 1
            if step == 0:
                assert not parents
                continue
            assert len(parents) == 1, f"{child.text} hangs on {len(parents)} parents"
            ((before, own),) = parents
            parent = search.steps[before][own]
            assert (before, parent.row) == (step - 1, child.parent)
            assert child.log_prob <= parent.log_prob
    return walked


@pytest.mark.parametrize("text", ["so it is on the old mat", "two birds", "a dog runs on the mat"])
@pytest.mark.parametrize("beam", [2, 5])
def test_every_line_leads_to_the_true_parent(
    see: Callable[..., Trace], text: str, beam: int
) -> None:
    decode = Decode(search="beam", beam=beam, max_ratio=0, max_extra=6)
    trace = see("post", text, decode=decode)
    figure = draw_tree(trace, losers=3)
    parents = {each.parent for step in trace.search.steps for each in step}
    assert len(parents) > 1, "a tree with forks"
    assert check_tree(trace, trace.search, figure) == len(find_boxes(figure))


def test_after_steps_that_are_left_out_too(see: Callable[..., Trace]) -> None:
    decode = Decode(search="beam", beam=4, max_ratio=0, max_extra=24)
    trace = see("post", "so it is on the old mat", decode=decode)
    figure = draw_tree(trace)
    boxes = find_boxes(figure)
    shown = sorted({step for step, _ in boxes})
    gap = next(step for before, step in pairwise(shown) if step > before + 1)
    alone = sum(step == gap for step, _ in boxes)
    assert check_tree(trace, trace.search, figure) == len(boxes) - alone


def test_lanes_can_always_be_ordered() -> None:
    """Of parents and children in the same order from top to bottom, at any heights."""
    random = Random(5)
    for _ in range(300):
        rows = sorted(random.sample(range(20), random.randint(1, 6)))
        places = sorted(random.sample(range(20), 12))
        owners = sorted(random.choices(rows, k=12))
        families = {
            row: (float(row), [y for y, owner in zip(places, owners, strict=True) if owner == row])
            for row in rows
            if row in owners
        }
        order = order_lanes(families)
        assert sorted(order) == sorted(families)
        for a, (y, children) in families.items():
            for b in families:
                if a != b and min(y, *children) <= families[b][0] <= max(y, *children):
                    assert order.index(b) < order.index(a)


def read_words(figure: Figure) -> str:
    return " ".join(text.get_text().replace("\n", " ") for text in figure.axes[0].texts)


@pytest.mark.parametrize("how", [{"search": "greedy"}, {"search": "beam", "beam": 1}])
def test_of_one_hypothesis_a_beam_of_four_is_drawn_and_said(
    see: Callable[..., Trace], how: dict[str, object]
) -> None:
    text, more = "two birds sing", {"max_ratio": 0, "max_extra": 5}
    found = see("post", text, decode=Decode(**how, **more))
    wanted = see("post", text, decode=Decode(search="beam", beam=4, **more)).search
    figure = draw_tree(found)
    assert found.beam_search.steps == wanted.steps
    assert found.beam_search.hypotheses == wanted.hypotheses
    assert check_tree(found, wanted, figure) == len(find_boxes(figure)) > 2 * len(wanted.steps)
    said = read_words(figure)
    assert "(beam 4)" in said and "was made for this picture" in said
    alone = Trace(found.document, found.tensors)  # as it is read from disk
    assert "keeps one hypothesis" in read_words(draw_tree(alone))


def test_an_edited_sentence_is_searched_under_its_edits(see: Callable[..., Trace]) -> None:
    edits = [{"do": "silence", "name": "encoder.0.self_attention", "head": 1}]
    how = {"max_ratio": 0, "max_extra": 4}
    found = see("post", "two birds sing", decode=Decode(search="greedy", **how), edits=edits)
    beam = Decode(search="beam", beam=4, **how)
    assert found.beam_search.steps == see("post", found.text, decode=beam, edits=edits).search.steps
    assert found.beam_search.steps != see("post", found.text, decode=beam).search.steps
