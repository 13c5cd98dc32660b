"""The tree of the search (V82): who continues whom can be read from the picture alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from glassformer.config import Decode
from glassformer.see import Trace
from glassformer.see.figure import PICTURES
from glassformer.see.figure.beams import (
    Branch,
    choose_ends,
    find_branch,
    find_search,
    find_weakest,
    find_whole_word,
    grow_tree,
)
from glassformer.see.figure.scene import PathMark, Scene

# A model that has learnt nothing writes anything.
pytestmark = pytest.mark.filterwarnings("ignore::glassformer.see.figure.fonts.MissingFont")


def draw_tree(trace: Trace, **options: int) -> Scene:
    return PICTURES["V82"].scene(trace, **options)  # type: ignore[misc]


def grow(search: Any, losers: int = 3) -> list[Branch]:
    path = find_branch(search)
    return [*grow_tree(search, choose_ends(search, path, losers)).walk()]


def check_tree(search: Any, rows: list[Branch]) -> None:
    """Walk from each candidate of each row to the one before, by what the search recorded."""
    for row in rows:
        before = row.parent.places if row.parent else []
        earlier = [place for place in before if place[0] < row.first]
        chain = [*earlier[-1:], *row.places]
        assert row.first == 0 or earlier, "a branch leaves a row that has begun"
        for (step, own), (after, next_) in pairwise(chain):
            one, two = search.steps[step][own], search.steps[after][next_]
            assert after == step + 1 and two.parent == one.row
            assert two.log_prob <= one.log_prob + 1e-9
    places = [place for row in rows for place in row.places]
    assert len(places) == len(set(places)), "what several share stands once"


@pytest.mark.parametrize("text", ["so it is on the old mat", "two birds", "a dog runs on the mat"])
@pytest.mark.parametrize("beam", [2, 5])
def test_every_branch_leaves_its_true_parent(
    see: Callable[..., Trace], text: str, beam: int
) -> None:
    decode = Decode(search="beam", beam=beam, max_ratio=0, max_extra=6)
    trace = see("post", text, decode=decode)
    rows = grow(trace.search)
    assert len(rows) > 2, "a tree with forks"
    check_tree(trace.search, rows)
    path = find_branch(trace.search)
    assert rows[0].places == [*enumerate(path)], "the chosen one is the top row"


@pytest.mark.parametrize("extra", [6, 24])
def test_no_line_runs_through_a_text(see: Callable[..., Trace], extra: int) -> None:
    decode = Decode(search="beam", beam=4, max_ratio=0, max_extra=extra)
    scene = draw_tree(see("post", "so it is on the old mat", decode=decode))
    upright = [
        mark.area
        for mark in scene.marks
        if isinstance(mark, PathMark) and mark.layer == 1 and mark.area.width < 0.1
    ]
    assert upright
    for line in upright:
        for text in scene.texts:
            assert not line.grow(-0.5).meets(text.area) or line.width > 0.1, text.text
        inside = [t for t in scene.texts if t.area.x < line.x < t.area.right]
        assert not any(line.y < t.area.middle[1] < line.bottom for t in inside)


def test_what_ended_has_a_score_and_what_was_cut_a_cross(see: Callable[..., Trace]) -> None:
    decode = Decode(search="beam", beam=3, max_ratio=0, max_extra=6)
    trace = see("post", "two birds", decode=decode)
    rows, scene = grow(trace.search), draw_tree(trace)
    ends = [trace.search.steps[row.places[-1][0]][row.places[-1][1]] for row in rows]
    scores = [mark for mark in scene.texts if mark.of.startswith("score[")]
    ended = [each for each in ends if each.fate in ("FINISHED", "CUT")]
    assert len(scores) == len(ended) and 0 < len(ended) < len(ends)
    crosses = [m for m in scene.marks if isinstance(m, PathMark) and m.area.height == 6]
    assert len(crosses) >= 2 * (len(ends) - len(ended)) > 0


def test_the_winner_s_weakest_word_is_found(see: Callable[..., Trace]) -> None:
    trace = see("post", "two birds", decode=Decode(beam=4, max_ratio=0, max_extra=6))
    path = find_branch(trace.search)
    step, rank = find_weakest(trace.search, path)
    own = trace.search.steps[step][path[step]]
    kept = [e.log_prob for e in trace.search.steps[step] if e.fate != "OUTRANKED"]
    assert rank == 0 or sorted(kept, reverse=True)[rank] == pytest.approx(own.log_prob)


def test_a_token_is_told_as_its_word() -> None:
    texts = ["Le", " chat", " n'a", " fro", "mage", "."]
    assert [find_whole_word(texts, n) for n in range(6)] == [
        "Le",
        "chat",
        "n'a",
        "fromage",
        "fromage",
        "fromage.",
    ]


@pytest.mark.parametrize("how", [{"search": "greedy"}, {"search": "beam", "beam": 1}])
def test_of_one_hypothesis_a_beam_of_four_is_drawn_and_said(
    see: Callable[..., Trace], how: dict[str, object]
) -> None:
    text, more = "two birds sing", {"max_ratio": 0, "max_extra": 5}
    found = see("post", text, decode=Decode(**how, **more))
    wanted = see("post", text, decode=Decode(search="beam", beam=4, **more)).search
    scene = draw_tree(found)
    assert found.beam_search.steps == wanted.steps
    assert found.beam_search.hypotheses == wanted.hypotheses
    rows = grow(find_search(found))
    check_tree(wanted, rows)
    assert len(rows) > 2 and "beam 4" in scene.description
    assert "was made for this picture" in scene.description
    alone = Trace(found.document, found.tensors)  # as it is read from disk
    assert "keeps one hypothesis" in draw_tree(alone).title


def test_an_edited_sentence_is_searched_under_its_edits(see: Callable[..., Trace]) -> None:
    edits = [{"do": "silence", "name": "encoder.0.self_attention", "head": 1}]
    how = {"max_ratio": 0, "max_extra": 4}
    found = see("post", "two birds sing", decode=Decode(search="greedy", **how), edits=edits)
    beam = Decode(search="beam", beam=4, **how)
    assert found.beam_search.steps == see("post", found.text, decode=beam, edits=edits).search.steps
    assert found.beam_search.steps != see("post", found.text, decode=beam).search.steps
