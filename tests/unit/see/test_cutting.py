"""Each source word is cut on its own, all in one pass: what that measures is what one cut gives."""

from __future__ import annotations

import pytest

from glassformer.extensions.lab.contributions import cut_each
from glassformer.see import record
from glassformer.see.tokens import find_word_tokens
from glassformer.translator import Translator

TEXT = "the cat is on a tree"
WORDS = ("the", "cat", "tree")


@pytest.mark.parametrize("edits", [[], [{"do": "cut", "word": "on"}]])
def test_one_pass_gives_what_single_cuts_give(translator: Translator, edits: list[dict]) -> None:  # type: ignore[type-arg]
    plain = record(translator, TEXT, edits=edits)
    groups = [find_word_tokens(plain.source, TEXT, word) for word in WORDS]
    found = cut_each(translator, plain, [1, 2], groups)
    for word, log_prob in zip(WORDS, found, strict=True):
        cut = [*edits, {"do": "cut", "word": word}]
        forced = record(translator, TEXT, target=plain, edits=cut)
        expected = sum(forced.predictions[row].log_prob for row in (1, 2))
        assert log_prob == pytest.approx(expected, abs=1e-4)
    assert len(set(found)) == len(found)
    (uncut,) = cut_each(translator, plain, [1, 2], [[]])
    assert uncut == pytest.approx(sum(plain.predictions[row].log_prob for row in (1, 2)), abs=1e-4)


def test_what_cannot_be_cut(translator: Translator) -> None:
    plain = record(translator, TEXT)
    last = len(plain.source) - 1
    for rows, groups in (([0], [[last]]), ([0], []), ([99], [[0]])):
        with pytest.raises(ValueError, match=r"from 0"):
            cut_each(translator, plain, rows, groups)
