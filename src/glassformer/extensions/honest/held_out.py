"""The card of a published copy says what the model does with a test text.

The scores have 95 % intervals; the lines that stand in the training text, and what the nearest
training pair would score, say how much of a score is memory; and a table says what is lost on text
as people write it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from glassformer.data.files import read_lines
from glassformer.evaluate.quality import read_references, score_quality
from glassformer.evaluate.references import References
from glassformer.evaluate.resampling import SAMPLES
from glassformer.foundation.plurals import tell_count
from glassformer.model.files.directory import open_model
from glassformer.translator import Translator

from ..lab.robustness import Robustness, measure_robustness
from ..publish.looks import count_look, name_text
from .comparison import METRICS, PartScore, TrainingComparison, compare_with_training
from .training_text import read_training

LEAST = 10  # lines of a test text


@dataclass(frozen=True)
class HeldOutReport:
    """The results on a test text. scores: by metric, each with half the width of its interval.

    looks: how often this text was looked at with this model.
    """

    lines: int
    scores: dict[str, tuple[float, float]]
    comparison: TrainingComparison | None  # None: the training text is not known
    robustness: Robustness
    looks: int

    @property
    def values(self) -> dict[str, float]:
        """Return the scores without their intervals."""
        return {name: value for name, (value, _) in self.scores.items()}

    def to_json(self) -> dict[str, Any]:
        return {
            "lines": self.lines,
            "scores": self.scores,
            "training": self.comparison.to_json() if self.comparison else None,
            "robustness": self.robustness.to_json(),
            "looks": self.looks,
        }

    def __str__(self) -> str:
        """Return the report in Markdown."""
        rows = [
            f"| {name} | {value:.2f} | ± {half:.2f} |"
            for name, (value, half) in self.scores.items()
        ]
        parts = ["\n".join(["| score | value | 95 % within |", "|---|--:|--:|", *rows])]
        if self.comparison:
            parts.append(_tell_comparison(self.comparison, self.lines))
        count = tell_count(self.robustness.lines, "line")
        parts.append(f"### Text as people write it\n\n{count} of it, changed:\n\n{self.robustness}")
        return "\n\n".join(parts)


class HeldOutText(NamedTuple):
    """A test text with sets of references, by which copies of the model of `folder` are measured.

    training: the pairs that the model learned from; none if they are not known.
    """

    folder: Path
    sources: Sequence[str]
    references: References
    training: Sequence[tuple[str, str]]

    def examine(self, copy: Path) -> HeldOutReport:
        """Return what a copy does with the text; this look at it is counted in `folder`.

        ValueError if it does not translate one language into another, for a text of less than ten
        lines, or if the lines do not go with those of the references.
        """
        if len(self.sources) < LEAST:
            raise ValueError(f"a test text has at least {LEAST} lines, not {len(self.sources)}")
        translator = Translator.load(copy)
        data = translator.config.data
        if len(data.pairs) > 1:
            raise ValueError("a test text goes with a model of one pair of languages")
        result, lang = translator.translate([*self.sources]), data.target_lang
        quality = score_quality(
            result, self.references, target_lang=lang, metrics=METRICS, samples=SAMPLES
        )
        scores = {name: quality[name] for name in METRICS}
        compared = None
        if self.training:
            inputs = self.training, self.sources, self.references
            compared = compare_with_training(*inputs, result, lang)
        first = [line or "" for line in self.references[0]]
        languages = data.source_lang, lang
        return HeldOutReport(
            len(self.sources),
            {
                name: (each.value, each.interval.half_width if each.interval else 0.0)
                for name, each in scores.items()
            },
            compared,
            measure_robustness(translator.translate, self.sources, first, languages),
            count_look(self.folder, name_text(self.sources, self.references)),
        )


def open_test_text(
    folder: Path, source: Path, references: Sequence[Path], training: Sequence[str]
) -> HeldOutText:
    """Return the text of some files, to measure a model with; ValueError without references.

    training: as `train` takes data; none: what the run of the model names, if it is still there.
    """
    if not references:
        raise ValueError(f"{source} needs its translations, too: --reference FILE")
    pairs = read_training(folder, training, open_model(folder)[0].data.pairs[0])
    sets = [lines for path in references for lines in read_references(path)]
    return HeldOutText(folder, [*read_lines(source)], sets, pairs)


def _tell_comparison(comparison: TrainingComparison, lines: int) -> str:
    """Return how near the training text the test text is, and what that makes of the scores."""
    rows = [
        ("without these", comparison.without_twins),
        ("the target of the nearest training source", comparison.memory),
        *((f"lines {each.name}", each) for each in comparison.by_similarity),
    ]
    table = [f"| {name} | {each.lines:,} | {_tell_scores(each)} |" for name, each in rows]
    return "\n".join(
        [
            f"{comparison.twins:,} of {tell_count(lines, 'line')} stand, or nearly stand, in the "
            f"{tell_count(comparison.training_pairs, 'training pair')}.",
            "",
            f"| test lines | number | {' | '.join(METRICS)} |",
            f"|---|--:|{'--:|' * len(METRICS)}",
            *table,
        ]
    )


def _tell_scores(part: PartScore) -> str:
    values = (part.scores.get(name) for name in METRICS)
    return " | ".join("" if value is None else f"{value:.2f}" for value in values)
