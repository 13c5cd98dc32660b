"""An exam of a model on sentences of the built-in corpus that were not in its training text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glassformer.data.demo import NOTES, Note, Split, accepted, pairs, pronoun_items

Translate = Callable[[list[str]], Sequence[str]]
SEED = 2026  # of the questions
GOAL = (0.98, 0.99)  # the shares of right answers to pass: sentences, riddles
REHEARSAL = (200, 800)  # questions of each kind: first a few, then enough to be sure


@dataclass(frozen=True)
class ExamMark:
    """The result of one kind of questions: how many were asked, and the wrong answers."""

    asked: int
    wrong: list[tuple[str, str]]  # a source, and its wrong translation

    @property
    def share(self) -> float:
        return 1 - len(self.wrong) / self.asked

    def __str__(self) -> str:
        return f"{100 * self.share:.1f} % of {self.asked:,}"


def mark_exact(
    translate: Translate, source: str, target: str, count: int, split: Split = "test"
) -> ExamMark:
    """Test on held-out sentences: a translation is right if it is one that the grammar allows."""
    return _mark(
        translate,
        [pair[0] for pair in pairs(source, target, count, SEED, split)],
        lambda text, said: said in accepted(text, source, target),
    )


def mark_notes(translate: Translate, source: str, target: str) -> ExamMark:
    """Test on the sentences of NOTES: a translation is right if the grammar allows it."""
    return _mark(
        translate,
        [speak(note, source) for note in NOTES],
        lambda text, said: said in accepted(text, source, target),
    )


def mark_pronouns(translate: Translate, source: str, count: int, split: Split = "test") -> ExamMark:
    """Test on held-out riddles: a French translation is right if it has the right pronoun."""
    items = {item.source: item for item in pronoun_items(count, SEED, split, source)}
    return _mark(translate, list(items), lambda text, said: items[text].is_resolved_by(said))


def speak(note: Note, language: str) -> str:
    return str(getattr(note, language))


def has_passed(exact: ExamMark, resolved: ExamMark) -> bool:
    """Return whether a model has reached GOAL."""
    return all(mark.share >= share for mark, share in zip((exact, resolved), GOAL, strict=True))


def rehearse(translate: Translate, source: str, target: str) -> tuple[bool, str]:
    """Give a model the questions of the exam, but from the validation split.

    Return whether it makes at most half the mistakes that GOAL allows, and the shares in words.
    """
    for count in REHEARSAL:
        exact = mark_exact(translate, source, target, count, "valid")
        resolved = mark_pronouns(translate, source, count, "valid")
        shares = zip((exact, resolved), GOAL, strict=True)
        is_ready = all(mark.share >= (1 + share) / 2 for mark, share in shares)
        if not is_ready:
            break
    return is_ready, f"{exact} new sentences and {resolved} new riddles are right"


def _mark(
    translate: Translate, sources: list[str], is_right: Callable[[str, str], bool]
) -> ExamMark:
    answers = zip(sources, translate(sources), strict=True)
    return ExamMark(len(sources), [each for each in answers if not is_right(*each)])
