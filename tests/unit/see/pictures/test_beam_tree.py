"""The tree of the search (V82): who continues whom can be read from the picture alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from glassformer.config import Decode
from glassformer.extensions.pictures import PICTURES
from glassformer.extensions.pictures.beams import (
    COLUMNS,
    Tree,
    find_branch,
    find_search,
    find_whole_word,
)
from glassformer.extensions.pictures.parts.scene import PathMark, Scene
from glassformer.extensions.pictures.parts.style import SOFT
from glassformer.see import Trace
from glassformer.translator import Translator

# A model that has learnt nothing writes anything.
pytestmark = pytest.mark.filterwarnings(
    "ignore::glassformer.extensions.pictures.parts.fonts.MissingFont"
)


def draw_tree(trace: Trace, **options: Any) -> Scene:
    return PICTURES["V82"].scene(trace, **options)  # type: ignore[misc]


def check_tree(search: Any, tree: Tree) -> None:
    """Walk from each candidate to the one that it hangs on, by what the search recorded."""
    assert 0 < len(tree.steps) <= COLUMNS
    for place, above in tree.parents.items():
        assert place[0] in tree.steps and (above is None or above in tree.parents)
        at = place
        while at[0] > (above[0] if above else 0):
            row = search.steps[at[0]][at[1]].parent
            before = search.steps[at[0] - 1]
            at = (at[0] - 1, next(i for i, each in enumerate(before) if each.row == row))
        assert above is None or at == above
        assert above is None or tree.find(place).log_prob <= tree.find(above).log_prob + 1e-9
        skipped = [n for n in tree.steps if (above[0] if above else -1) < n < place[0]]
        assert not skipped, "no column is jumped over"


@pytest.mark.parametrize("text", ["so it is on the old mat", "two birds", "a dog runs on the mat"])
@pytest.mark.parametrize("beam", [2, 3, 5])
def test_every_node_hangs_on_its_true_parent(
    see: Callable[..., Trace], text: str, beam: int
) -> None:
    decode = Decode(search="beam", beam=beam, max_ratio=0, max_extra=9)
    search = see("post", text, decode=decode).search
    tree = Tree(search, 1)
    check_tree(search, tree)
    chosen = [(n, tree.path[n]) for n in tree.steps if n <= tree.ends]
    assert tree.path == find_branch(search) and {*chosen} <= {*tree.parents}
    cut = [place for place in tree.parents if tree.find(place).fate == "OUTRANKED"]
    assert cut and all(tree.is_given_up(place) for place in cut)


def test_each_node_has_its_number_and_what_was_cut_a_line(see: Callable[..., Trace]) -> None:
    decode = Decode(search="beam", beam=3, max_ratio=0, max_extra=6)
    trace = see("post", "two birds", decode=decode)
    tree, scene = Tree(trace.search, 1), draw_tree(trace)
    printed = {mark.of: mark.value for mark in scene.texts if mark.of}
    for (n, i), above in tree.parents.items():
        each = tree.find((n, i))
        assert printed[f"log_prob_{n}_{i}[0]"] == each.log_prob, above
        assert (f"score_{n}_{i}[0]" in printed) == (each.fate in ("FINISHED", "CUT"))
    lines = [m for m in scene.marks if isinstance(m, PathMark) and (m.layer, m.ink) == (7, SOFT)]
    assert len(lines) == sum(map(tree.is_given_up, tree.parents)) > 0


def test_the_greedy_way_is_the_one_that_greedy_search_takes(see: Callable[..., Trace]) -> None:
    """As far as it stays among the candidates of the beam."""
    more = {"max_ratio": 0, "max_extra": 6}
    for text in ("two birds sing", "a dog runs on the mat", "so it is"):
        wanted = see("post", text, decode=Decode(search="greedy", **more)).search
        tree = Tree(see("post", text, decode=Decode(search="beam", beam=2, **more)).search, 1)
        ids = [tree.find(place).id for place in enumerate(tree.greedy)]
        assert ids and ids == [step[0].id for step in wanted.steps][: len(ids)]


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


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("You are very kind.", "follows “Vous” alone; the beam keeps “Tu”"),
        (
            "The kids are sleeping, so be quiet.",
            "“silencieux” ends likelier; “tranquilles” wins by its score",
        ),
        ("Could you help me with this?", "stays ahead to the end"),
    ],
)
def test_the_title_tells_what_the_search_found(text: str, title: str) -> None:
    trace = Translator.load("everyday-en-fr", device="cpu").see(text, level="attention")
    scene, tree = draw_tree(trace), Tree(trace.beam_search, 1)
    one, two = (tree.find((len(line) - 1, line[-1])) for line in (tree.path, tree.greedy))
    assert title in scene.title
    assert ("ends likelier" in title) == (two.log_prob > one.log_prob)
    assert ("stays ahead" in title) == (tree.fork is None)
    assert ("From here on “Tu” leads" in scene.description) == ("follows" in title)
    if "follows" in title:
        for n in range(tree.ahead, len(tree.path)):
            own = tree.find((n, tree.path[n])).log_prob
            assert own == max(each.log_prob for each in trace.beam_search.steps[n])
        first = [tree.find((0, line[0])) for line in (tree.path, tree.greedy)]
        assert first[0].log_prob < first[1].log_prob and one.log_prob > two.log_prob
        at = tree.steps.index(tree.ahead)
        assert [n for n, told in enumerate(scene.captions) if "overtakes" in told] == [at]
        assert scene.captions[at] == f"token {tree.ahead + 1}: “Tu … gentil” overtakes."


@pytest.mark.parametrize("how", [{"search": "greedy"}, {"search": "beam", "beam": 5}])
def test_of_another_search_a_beam_of_two_is_drawn_and_said(
    see: Callable[..., Trace], how: dict[str, Any]
) -> None:
    text, more = "two birds sing", {"max_ratio": 0, "max_extra": 5}
    found = see("post", text, decode=Decode(**how, **more))
    wanted = see("post", text, decode=Decode(search="beam", beam=2, **more)).search
    scene = draw_tree(found)
    assert found.beam_search.steps == wanted.steps
    assert found.beam_search.hypotheses == wanted.hypotheses
    assert find_search(found) is found.beam_search
    assert "Made for the picture" in scene.description and "Beam 2" in scene.description
    alone = Trace(found.document, found.tensors)  # as it is read from disk
    assert find_search(alone) is alone.search
    assert ("keeps one hypothesis" in draw_tree(alone).title) == (how["search"] == "greedy")


def test_an_edited_sentence_is_searched_under_its_edits(see: Callable[..., Trace]) -> None:
    edits = [{"do": "silence", "name": "encoder.0.self_attention", "head": 1}]
    how = {"max_ratio": 0, "max_extra": 4}
    found = see("post", "two birds sing", decode=Decode(search="greedy", **how), edits=edits)
    beam = Decode(search="beam", beam=2, **how)
    assert found.beam_search.steps == see("post", found.text, decode=beam, edits=edits).search.steps
    assert found.beam_search.steps != see("post", found.text, decode=beam).search.steps
