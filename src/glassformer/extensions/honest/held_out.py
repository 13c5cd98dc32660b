"""The card of a published copy says what the model does with a test text.

The scores have 95 % intervals; the lines that stand in the training text, and what the nearest
training pair would score, say how much of a score is memory; and a table says what is lost on text
as people write it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from glassformer.data.files import read_lines
from glassformer.evaluate.quality import read_references, score_quality
from glassformer.evaluate.references import References
from glassformer.evaluate.resampling import SAMPLES
from glassformer.foundation.plurals import tell_count
from glassformer.model.files.directory import open_model
from glassformer.translator import Translator

from ..lab.robustness import LINES, Robustness, Translate, measure_robustness
from ..publish.languages import counts_characters, name_score
from ..publish.looks import count_look, name_text
from .comparison import METRICS, PartScore, TrainingComparison, compare_with_training
from .training_text import read_training

LEAST = 10  # lines of a test text

Item = TypeVar("Item")


@dataclass(frozen=True)
class HeldOutReport:
    """The results on a test text. scores: by metric, each with half the width of its interval.

    robustness: None if there was no time for it; is_cut: on fewer lines, since there was little.
    looks: how often this text was looked at with this model.
    """

    lines: int
    scores: dict[str, tuple[float, float]]
    comparison: TrainingComparison | None  # None: the training text is not known
    robustness: Robustness | None
    looks: int
    is_cut: bool = False
    by_characters: bool = False  # BLEU

    @property
    def values(self) -> dict[str, float]:
        """Return the scores without their intervals."""
        return {name: value for name, (value, _) in self.scores.items()}

    @property
    def memory(self) -> float | None:
        """Return the chrF++ of the targets of the nearest training sources, if it is known."""
        return self.comparison.memory.scores.get("chrF++") if self.comparison else None

    def list_scores(self) -> list[tuple[str, str]]:
        """Return the name of each score, and it with half the width of its interval."""
        return [
            (name_score(name, self.by_characters), f"{value:.2f} ± {half:.2f}")
            for name, (value, half) in self.scores.items()
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "lines": self.lines,
            "scores": self.scores,
            "training": self.comparison.to_json() if self.comparison else None,
            "robustness": self.robustness.to_json() if self.robustness else None,
            "looks": self.looks,
        }

    def __str__(self) -> str:
        """Return the report in Markdown."""
        rows = [
            f"| {name_score(name, self.by_characters)} | {value:.2f} | ± {half:.2f} |"
            for name, (value, half) in self.scores.items()
        ]
        parts = ["\n".join(["| score | value | 95 % within |", "|---|--:|--:|", *rows])]
        if self.comparison:
            parts.append(_tell_comparison(self.comparison, self.lines, self.by_characters))
        parts += ["### Text as people write it", *self._list_robustness()]
        return "\n\n".join(parts)

    def _list_robustness(self) -> list[str]:
        """Return what is said of text as people write it."""
        if not self.robustness:
            return ["Not measured: no time was left for it."]
        count = tell_count(self.robustness.lines, "line")
        few = ", as many as there was time for" if self.is_cut else ""
        unit = " (BLEU is of characters)" if self.by_characters else ""
        return [f"{count} of it{few}, changed{unit}:", str(self.robustness)]


class HeldOutText(NamedTuple):
    """A test text with sets of references, by which copies of the model of `folder` are measured.

    training: the pairs that the model learned from; none if they are not known. watch: what
    translates in the place of a copy's own function. count_lines: of how many lines, once the text
    is translated, it is measured what is lost on text as people write it.
    """

    folder: Path
    sources: Sequence[str]
    references: References
    training: Sequence[tuple[str, str]]
    watch: Callable[[Path, Translate], Translate] = lambda copy, translate: translate
    count_lines: Callable[[], int] = lambda: LINES

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
        translate = self.watch(copy, translator.translate)
        result, lang = translate([*self.sources]), data.target_lang
        quality = score_quality(
            result, self.references, target_lang=lang, metrics=METRICS, samples=SAMPLES
        )
        scores = {name: quality[name] for name in METRICS}
        compared = None
        if self.training:
            inputs = self.training, self.sources, self.references
            compared = compare_with_training(*inputs, result, lang)
        robustness, is_cut = self._measure_robustness(translate, (data.source_lang, lang))
        return HeldOutReport(
            len(self.sources),
            {
                name: (each.value, each.interval.half_width if each.interval else 0.0)
                for name, each in scores.items()
            },
            compared,
            robustness,
            count_look(self.folder, name_text(self.sources, self.references)),
            is_cut,
            counts_characters(lang),
        )

    def _measure_robustness(
        self, translate: Translate, languages: tuple[str | None, str | None]
    ) -> tuple[Robustness | None, bool]:
        """Return the table of text as people write it, and whether it is of fewer lines."""
        pairs = [(a, b or "") for a, b in zip(self.sources, self.references[0], strict=True)]
        most = min(LINES, len(pairs))
        lines = min(most, self.count_lines())
        if not lines:
            return None, True
        if lines < most:
            pairs = spread_evenly(pairs, lines)
        sources, references = zip(*pairs, strict=True)
        return measure_robustness(translate, sources, references, languages), lines < most


def spread_evenly(items: Sequence[Item], count: int) -> list[Item]:
    """Return so many items, evenly spread; all if there are no more."""
    count = min(count, len(items))
    return [items[place * len(items) // count] for place in range(count)]


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


def _tell_comparison(comparison: TrainingComparison, lines: int, by_characters: bool) -> str:
    """Return how near the training text the test text is, and what that makes of the scores."""
    rows = [
        ("without these", comparison.without_twins),
        ("the target of the nearest training source", comparison.memory),
        *((f"lines {each.name}", each) for each in comparison.by_similarity),
    ]
    names = [name_score(name, by_characters) for name in METRICS]
    table = [f"| {name} | {each.lines:,} | {_tell_scores(each)} |" for name, each in rows]
    return "\n".join(
        [
            f"{comparison.twins:,} of {tell_count(lines, 'line')} stand, or nearly stand, in the "
            f"{tell_count(comparison.training_pairs, 'training pair')}.",
            "",
            f"| test lines | number | {' | '.join(names)} |",
            f"|---|--:|{'--:|' * len(METRICS)}",
            *table,
        ]
    )


def _tell_scores(part: PartScore) -> str:
    values = (part.scores.get(name) for name in METRICS)
    return " | ".join("" if value is None else f"{value:.2f}" for value in values)
