"""Lines and their partners: words, lexicon, misalignments."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.files import cut_chunks
from glassformer.extensions.check_data import partners
from glassformer.extensions.check_data.lexicon import LexiconSide
from glassformer.extensions.check_data.offsets import find_offset_path, weigh_surface
from glassformer.extensions.check_data.order import Misalignment, guess_offsets
from glassformer.extensions.check_data.partners import (
    SideWords,
    compare_partners,
    explain_inequality,
    tell_misalignment,
)
from glassformer.extensions.check_data.ragged import Block, Cross, RaggedArray
from glassformer.extensions.check_data.words import Vocabulary, split_words
from tools.demo_corpus import pairs

COUNT = 3000


@pytest.fixture(scope="module")
def sides() -> tuple[list[str], list[str]]:
    source, target = zip(*pairs("en", "fr", COUNT, 3), strict=True)
    return list(source), list(target)


def _compare(source: list[str], target: list[str]) -> tuple[np.ndarray, list[Misalignment]]:
    gathered = []
    for texts in (source, target):
        words = split_words(Block(texts))
        side = SideWords(words)
        for start in range(0, len(texts), 700):
            side.add(texts[start : start + 700], words[start : start + 700])
        gathered.append(side)
    found = compare_partners(*gathered)
    return found.measures.evidence, found.misalignments


ADJECTIVES = (
    "red rouge small petit big grand old vieux new neuf blue bleu green vert white blanc "
    "black noir good bon bad mauvais cold froid hot chaud long long short court heavy lourd "
    "light leger quick rapide slow lent dry sec"
)
NOUNS = (
    "cat chat dog chien house maison car voiture tree arbre book livre table table door porte "
    "bread pain fish poisson bird oiseau horse cheval boat bateau road route shoe chaussure "
    "hat chapeau milk lait water eau knife couteau wheel roue"
)


def test_a_drill_is_beside_its_translations() -> None:
    """Twenty lines on is the same noun: other offsets fit well by lengths and shared words."""
    adjectives, nouns = (
        [*zip(*[iter(each.split())] * 2, strict=True)] for each in (ADJECTIVES, NOUNS)
    )
    both = [(ours, theirs) for ours in adjectives for theirs in nouns]
    source = [f"{a} {n}" for (a, _), (n, _) in both]
    target = [f"{n} {a}" for (_, a), (_, n) in both]
    source += [f"I see the {text} and the cat every day here" for text in source]
    target += [f"je vois ici chaque jour le {text} et le chat" for text in target]
    assert _compare(source, target)[1] == []
    lost = _compare(source, target[:700] + target[701:])[1]
    assert [(each.line, each.offset) for each in lost] == [(700, -1)]


def test_words() -> None:
    texts = ["Don't  stop, Müller!", "", "...", "我喜欢Tom。", "a\nb\u2028c", "X-ray 3.5"]
    assert split_words(Block(texts)) == [
        ["don", "t", "stop", "müller"],
        [],
        [],
        ["我", "喜", "欢", "tom"],
        ["a", "b", "c"],
        ["x", "ray", "3", "5"],
    ]
    assert split_words(Block([])) == []
    assert split_words(Block([""])) == [[]]


@given(st.lists(st.text(max_size=8), max_size=8))
def test_every_line_has_its_words(texts: list[str]) -> None:
    together = split_words(Block(texts))
    assert together == [split_words(Block([text]))[0] for text in texts]


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=6))
def test_cross_is_two_loops(rows: list[list[int]]) -> None:
    left, right = (
        RaggedArray.join(rows),
        RaggedArray.stack([RaggedArray.join(rows[:1]), RaggedArray.join(rows[1:])]),
    )
    i, j = np.arange(len(rows)), np.arange(len(rows))[::-1]
    cross = Cross.of(left, right, i, j)
    expected = [
        (k, a, b)
        for k, (x, y) in enumerate(zip(i, j, strict=True))
        for a in rows[x]
        for b in rows[y]
    ]
    found = zip(cross.pair.tolist(), cross.left.tolist(), cross.right.tolist(), strict=True)
    assert list(found) == expected
    assert (cross.left_owner[cross.left_slot] == cross.pair).all()
    assert (cross.right_owner[cross.right_slot] == cross.pair).all()


def test_partners_are_told_from_strangers(sides: tuple[list[str], list[str]]) -> None:
    source, target = sides
    straight, misalignments = _compare(source, target)
    assert not misalignments and (straight > 0).mean() > 0.97
    moved = Random(1).sample(range(COUNT), 60)
    wrong = list(target)
    for here, there in zip(moved, moved[1:] + moved[:1], strict=True):
        wrong[here] = target[there]
    straight, misalignments = _compare(source, wrong)
    assert not misalignments and (straight[moved] < 0).mean() > 0.9


def _drop(lines: list[str], *numbers: int) -> list[str]:
    return [line for number, line in enumerate(lines) if number not in numbers]


@pytest.fixture(params=[20_000, 0], ids=["as small", "as large"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare as a small corpus is compared, and as one of which the evidence has no room."""
    monkeypatch.setattr(partners, "SMALL", request.param)


@pytest.mark.thorough
@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("line", [0, 1, 999, 1500, 2800])
def test_a_lost_line_is_found_where_it_was(sides: tuple[list[str], list[str]], line: int) -> None:
    source, target = sides
    for lost, misalignment in (
        (-1, _compare(source, _drop(target, line))[1]),
        (1, _compare(_drop(source, line), target)[1]),
    ):
        assert len(misalignment) == 1 and misalignment[0].lost == lost
        # Where neighbours could change places, either may be the one that is named.
        assert abs(misalignment[0].line - line) <= 1 and misalignment[0].line >= 0


@pytest.mark.usefixtures("either_way")
def test_misalignments_that_make_good_again(sides: tuple[list[str], list[str]]) -> None:
    source, target = sides
    _, misalignments = _compare(_drop(source, 700, 701), _drop(target, 2000, 2001))
    assert [misalignment.lost for misalignment in misalignments] == [2, -2]
    assert abs(misalignments[0].line - 700) <= 1 and abs(misalignments[1].line - 1998) <= 1


def test_lengths_alone_show_an_offset() -> None:
    lengths = np.array(Random(2).choices(range(10, 100), k=5000), float)
    assert set(guess_offsets(lengths[7:], lengths).tolist()) == {7}
    assert set(guess_offsets(lengths, lengths[150:]).tolist()[200:]) == {-150}
    same = np.full(300, 20.0)
    assert set(guess_offsets(same, same).tolist()) == {0}
    assert guess_offsets(lengths, np.zeros(0)).tolist() == [0] * 5000


@pytest.mark.parametrize("offset", [-4, 0, 3])
def test_lengths_show_the_offset_of_lines_that_are_three_times_as_long(offset: int) -> None:
    random = Random(4)
    source = [round(math.exp(random.gauss(4, 0.8))) for _ in range(400)]
    target = [round(3 * each * math.exp(random.gauss(0, 0.1))) for each in source]
    target = target[-offset:] if offset < 0 else [50] * offset + target
    none = RaggedArray.join([[]] * 500, np.uint16)
    sides = []
    for lengths in (source, target):
        lines = RaggedArray(none.values, none.starts[: len(lengths) + 1])
        sides.append(LexiconSide(lines, lines, np.array(lengths)))
    surface = weigh_surface(sides[0], sides[1], (Vocabulary([]), Vocabulary([])), 20)
    path = find_offset_path(surface)
    assert (path[20:-20] == offset).all()


def test_the_error_names_counts_and_line(sides: tuple[list[str], list[str]]) -> None:
    source, target = sides
    said = str(explain_inequality(source, _drop(target, 1234), ("a.en", "a.fr")))
    assert "a.en has 3,000 lines but a.fr has 2,999" in said
    assert "line 1,235 of a.en without partner in a.fr" in said
    said = str(explain_inequality(_drop(source, 499, 500, 501), target, ("a.en", "a.fr")))
    assert "lines 500 to 502 of a.fr without partner in a.en" in said
    said = str(explain_inequality([*source, "One more."], target, ("a.en", "a.fr")))
    assert "they fit up to line 3,000, so the lines after it are too many" in said
    said = str(explain_inequality(["a", "b"], ["c"]))
    assert said.endswith("must translate the same line of the other")
    assert str(explain_inequality([], ["c"], ("a.en", "a.fr"))) == "a.en: the file is empty"


def test_a_later_misalignment_counts_lines_of_its_own_file() -> None:
    assert (
        tell_misalignment(Misalignment(10, 2, 5), ("s", "t"))
        == "lines 13 to 15 of t without partner in s"
    )
    assert (
        tell_misalignment(Misalignment(10, 2, 1), ("s", "t")) == "line 11 of s without partner in t"
    )


def test_blocks() -> None:
    assert list(cut_chunks(iter("abcde"), 2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(cut_chunks([], 2)) == []
