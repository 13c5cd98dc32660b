"""How much of the built-in corpus a model has understood, on sentences that it never saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glassformer.data.demo import NOTES, Note, Split, accepted, pairs, pronoun_items

Translate = Callable[[list[str]], Sequence[str]]
SEED = 2026  # of what is asked
GOAL = (0.98, 0.99)  # shares of a model that has understood it: sentences, riddles
REHEARSAL = (200, 800)  # questions of a kind: to see how far it is, and to be sure


@dataclass(frozen=True)
class ExamMark:
    """Of how many questions how many were answered right, and the wrong answers."""

    asked: int
    wrong: list[tuple[str, str]]  # a source, and what was said

    @property
    def share(self) -> float:
        return 1 - len(self.wrong) / self.asked

    def __str__(self) -> str:
        return f"{100 * self.share:.1f} % of {self.asked:,}"


def mark_exact(
    translate: Translate, source: str, target: str, count: int, split: Split = "test"
) -> ExamMark:
    """Held-out sentences whose translation is, letter by letter, one that the grammar allows."""
    return _mark(
        translate,
        [pair[0] for pair in pairs(source, target, count, SEED, split)],
        lambda text, said: said in accepted(text, source, target),
    )


def mark_notes(translate: Translate, source: str, target: str) -> ExamMark:
    """The sentences of the notes, likewise."""
    return _mark(
        translate,
        [speak(note, source) for note in NOTES],
        lambda text, said: said in accepted(text, source, target),
    )


def mark_pronouns(translate: Translate, source: str, count: int, split: Split = "test") -> ExamMark:
    """Held-out riddles in whose French translation `it` is the right one of il and elle."""
    items = {item.source: item for item in pronoun_items(count, SEED, split, source)}
    return _mark(translate, list(items), lambda text, said: items[text].is_resolved_by(said))


def speak(note: Note, language: str) -> str:
    return str(getattr(note, language))


def has_passed(exact: ExamMark, resolved: ExamMark) -> bool:
    """Return whether a model has reached GOAL."""
    return all(mark.share >= share for mark, share in zip((exact, resolved), GOAL, strict=True))


def rehearse(translate: Translate, source: str, target: str) -> tuple[bool, str]:
    """Ask what a model is asked in the end, but of the validation split.

    Return whether it makes half the mistakes that GOAL allows, or fewer, and the shares in words.
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
