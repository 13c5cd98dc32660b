"""Choose below which confidence a model's translation is doubted, by text that it never saw.

The right translations of a held-out text are in it, so that most translations of a model can be
told: good is one with chrF2 of GOOD and more against a reference, bad one below BAD; what is
between is not counted. DOUBTED of the good ones may have less confidence than the limit: by eye,
half of those are wrong all the same (docs/corpus.md), in one word of many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from glassformer.evaluate.sentences import score_each
from glassformer.translate.familiarity import measure_confidence
from glassformer.translate.options import choose_options
from glassformer.translate.sentence import CheckedTranslation
from glassformer.translator import Translator

from .unsaid import UnsaidWords, find_unsaid

GOOD, BAD = 60, 40  # chrF2
DOUBTED = 0.05
LEAST = 100  # good translations


@dataclass(frozen=True)
class Calibration:
    """A limit of confidence, and the shares of good and bad translations that are flagged."""

    confidence: float
    lines: int
    good: int
    bad: int
    flagged_good: float
    flagged_bad: float
    unsaid: UnsaidWords | None = None

    def to_json(self) -> dict[str, Any]:
        dropped = {"dropped": self.unsaid.to_json()} if self.unsaid else {}
        return {name: each for name, each in vars(self).items() if name != "unsaid"} | dropped

    def __str__(self) -> str:
        dropped = (
            f"; words that a translation drops are seen, with false alarms in "
            f"{self.unsaid.alarms:.2%} of the right ones"
            if self.unsaid
            else ""
        )
        return (
            f"doubted below a confidence of {self.confidence:.3f}, by {self.lines:,} lines: with "
            f"all other signs, {self.flagged_bad:.1%} of {self.bad:,} bad translations are "
            f"flagged, and {self.flagged_good:.1%} of {self.good:,} good ones{dropped}"
        )


def calibrate_doubt(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    progress: Callable[[int], object] | None = None,
    more: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> Calibration:
    """Return the limit for a model, and what is flagged with it.

    references: one list for each set of translations of all sources. more: see `find_unsaid`.
    ValueError if fewer than LEAST translations of the model are good.
    """
    unsaid = find_unsaid(translator, sources, references, more)
    translator.checker.dropped.rule = unsaid.rule if unsaid else None
    options = choose_options(translator.config.decode, progress=progress)
    texts = translator.checker.translate_texts(sources, options)
    scores = [
        max(each["chrF2"] for each in scored)
        for scored in zip(*(_score(translator, texts, lines) for lines in references), strict=True)
    ]
    judged = [*zip(scores, texts, map(_measure, texts), strict=True)]
    good = sorted(confidence for score, _, confidence in judged if score >= GOOD)
    if len(good) < LEAST:
        raise ValueError(
            f"{len(good)} of {len(texts)} translations are close to their references, and {LEAST} "
            "are needed: give more text of the kind that the model was trained on"
        )
    limit = round(good[int(DOUBTED * len(good))], 4)
    flagged = [_is_flagged(each, confidence, limit) for _, each, confidence in judged]
    are_good = [flag for flag, score in zip(flagged, scores, strict=True) if score >= GOOD]
    are_bad = [flag for flag, score in zip(flagged, scores, strict=True) if score < BAD]
    return Calibration(
        confidence=limit,
        lines=len(texts),
        good=len(are_good),
        bad=len(are_bad),
        flagged_good=sum(are_good) / len(are_good),
        flagged_bad=sum(are_bad) / max(1, len(are_bad)),
        unsaid=unsaid,
    )


def _score(
    translator: Translator, translations: Sequence[CheckedTranslation], references: Sequence[str]
) -> list[dict[str, float]]:
    message = [each.best[0].text for each in translations]
    language = translator.config.data.target_lang
    return score_each(message, [references], target_lang=language, metrics=("chrF2",))


def _measure(translation: CheckedTranslation) -> float:
    """Return the confidence in a text's sentence that the model is least sure of."""
    return min(
        (measure_confidence(each.translations[0]) for each in translation.sentences), default=1.0
    )


def _is_flagged(translation: CheckedTranslation, confidence: float, limit: float) -> bool:
    return confidence < limit or any(each.kind != "unsure" for each in translation.problems)
