"""The exam of the built-in corpus: who knows the answers passes, who guesses does not."""

from __future__ import annotations

import gzip
import json
from itertools import islice

import pytest

from glassformer.extensions.demo.corpus import (
    FILE,
    ExamMark,
    mark_exact,
    mark_pronouns,
    read_corpus,
)
from tools.demo_corpus import NOTES, accepted, pairs, pronoun_items, split_of
from tools.demo_corpus.exam import ask_notes, ask_riddles, ask_sentences, make_corpus


def know(sources: list[str]) -> list[str]:
    """The grammar's own answers, any of those that it allows."""
    return [max(accepted(source, "en", "fr")) for source in sources]


def test_the_package_ships_what_the_grammar_writes(train: list[tuple[str, str]]) -> None:
    """The beginning of each table; the whole in the next test."""
    corpus = read_corpus()
    assert list(map(tuple, corpus.pairs["train"][: len(train)])) == train
    assert list(map(tuple, corpus.pairs["valid"])) == pairs("en", "fr", 100, 1, "valid")
    assert corpus.notes == ask_notes("en", "fr")
    for split in ("valid", "test"):
        for asked, ask in (
            (corpus.questions[split], ask_sentences("en", "fr", 150, split)),
            (corpus.riddles[split], ask_riddles("en", 150, split)),
        ):
            assert dict(islice(asked.items(), 150)) == ask


@pytest.mark.slow
def test_the_package_ships_all_that_the_grammar_writes() -> None:
    assert json.loads(gzip.decompress(FILE.read_bytes())) == make_corpus()


def test_the_shipped_corpus_is_whole() -> None:
    """As much as the demo says, and no question among the training pairs."""
    corpus = read_corpus()
    assert {split: len(rows) for split, rows in corpus.pairs.items()} == {
        "train": 40_000,
        "valid": 100,
    }
    seen = {source for source, _ in corpus.pairs["train"]}
    for split, count in (("valid", 800), ("test", 1000)):
        assert len(corpus.questions[split]) == len(corpus.riddles[split]) == count
        assert not seen & {*corpus.questions[split], *corpus.riddles[split]}
        assert {*corpus.riddles[split].values()} == {"il", "elle"}
    assert list(corpus.notes) == [note.en for note in NOTES]
    assert all(note.fr in corpus.notes[note.en] for note in NOTES)


def test_the_grammar_passes_its_own_exam() -> None:
    for mark in (
        mark_exact(know, ask_sentences("en", "fr", 60)),
        mark_exact(know, ask_notes("en", "fr")),
        mark_pronouns(know, ask_riddles("en", 60)),
    ):
        assert mark.wrong == [] and mark.share == 1


def test_what_is_wrong_is_counted_and_shown() -> None:
    def err(sources: list[str]) -> list[str]:
        return ["Merci." if i < 15 else said for i, said in enumerate(know(sources))]

    mark = mark_exact(err, ask_sentences("en", "fr", 60))
    assert len(mark.wrong) == 15 and mark.wrong[0][1] == "Merci."
    assert mark.share == 0.75 and str(mark) == "75.0 % of 60"


def test_only_what_is_held_out_is_asked() -> None:
    asked = [*ask_sentences("en", "fr", 60), *ask_riddles("en", 60)]
    assert len(asked) == 120
    assert {split_of(source, "en") for source in asked} == {"test"}
    assert not set(asked) & {source for source, _ in pairs("en", "fr", 4_000, 1)}


def test_always_il_is_half_right() -> None:
    items = {item.source: item for item in pronoun_items(400, 2026)}

    def say_il(sources: list[str]) -> list[str]:
        return ["parce qu'il" for _ in sources]

    mark = mark_pronouns(say_il, ask_riddles("en", 400))
    assert mark.asked == 400 and 0.4 < mark.share < 0.6
    assert all(items[source].right == "elle" for source, _ in mark.wrong)


def test_notes_are_asked_in_any_language() -> None:
    assert list(ask_notes("zh", "en")) == [note.zh for note in NOTES]


def test_a_mark_without_a_mistake() -> None:
    assert str(ExamMark(1_500, [])) == "100.0 % of 1,500"
