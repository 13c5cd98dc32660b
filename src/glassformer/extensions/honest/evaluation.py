"""Beside the scores of a model, `evaluate` prints intervals, twins, the memory, and looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from glassformer.evaluate.quality import score_quality
from glassformer.evaluate.references import References
from glassformer.evaluate.resampling import SAMPLES, Interval

from ..publish.looks import count_look, name_text, tell_looks
from .comparison import METRICS, TrainingComparison, compare_with_training
from .training_text import read_training

if TYPE_CHECKING:
    from glassformer.translator import Translator

LEAST = 10  # lines of a test text: of fewer, nothing is said


@dataclass(frozen=True)
class Honesty:
    """The facts beside a score: its intervals, the training text, and looks at the text."""

    intervals: Mapping[str, Interval]
    comparison: TrainingComparison | None  # None: the training text is not known
    looks: int

    def to_json(self) -> dict[str, Any]:
        return {
            "intervals": {name: vars(each) for name, each in self.intervals.items()},
            "training": self.comparison.to_json() if self.comparison else None,
            "looks": self.looks,
        }

    def __str__(self) -> str:
        sure = ", ".join(
            f"{name} {each.mean:.2f} ± {each.half_width:.2f}"
            for name, each in self.intervals.items()
        )
        rows = [f"{'95 % within':<12} {sure}"] if self.intervals else []
        if self.comparison:
            rows.append(str(self.comparison))
        if message := tell_looks(self.looks):
            rows.append(f"{'looks':<12} {message}")
        return "\n".join(rows)


def examine_honesty(
    translator: Translator,
    sources: Sequence[str],
    references: References,
    translations: Sequence[str],
    fields: Mapping[str, Any],
) -> Honesty | None:
    """Return what is to be known beside the scores of a model; None of a few lines.

    fields: the options `training`, `no_count`, `target_lang` and `intervals`, by name.
    """
    folder = translator.weights.folder
    looks = 0
    if folder and not fields["no_count"]:
        looks = count_look(folder, name_text(sources, references))
    if len(sources) < LEAST:
        return None
    data = translator.config.data
    lang = fields["target_lang"] or data.target_lang
    training = read_training(folder, fields["training"] or (), data.pairs[0])
    compared = None
    if training:
        compared = compare_with_training(training, sources, references, translations, lang)
    return Honesty(_measure_intervals(translations, references, lang, fields), compared, looks)


def _measure_intervals(
    translations: Sequence[str],
    references: References,
    lang: str | None,
    fields: Mapping[str, Any],
) -> dict[str, Interval]:
    """Return the intervals of BLEU and chrF++, unless --intervals puts all beside the scores."""
    if fields["intervals"]:
        return {}
    options: dict[str, Any] = {"target_lang": lang, "tokenize": fields["tokenize"]}
    quality = score_quality(translations, references, metrics=METRICS, samples=SAMPLES, **options)
    return {name: each for name in METRICS if (each := quality[name].interval)}
