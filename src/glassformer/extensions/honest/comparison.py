"""A test text is compared with the training text: near twins, translation memory, distance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import compress
from operator import or_
from typing import Any

from glassformer.evaluate.quality import score_quality
from glassformer.evaluate.references import References
from glassformer.foundation.plurals import tell_count

from ..check_data.near_twins import TwinIndex
from ..check_data.words import gather_words
from ..publish.languages import counts_characters, name_score
from .translation_memory import Match, TranslationMemory

METRICS = ("BLEU", "chrF++")
BANDS = ((0.75, 1.01), (0.5, 0.75), (0.0, 0.5))  # similarity to the nearest training source
FEW = 10  # lines: a score of fewer is left out


@dataclass(frozen=True)
class PartScore:
    """The scores of some lines of a test text; without scores if they are very few."""

    name: str
    lines: int
    scores: dict[str, float]
    by_characters: bool = False  # BLEU

    def __str__(self) -> str:
        text = ", ".join(
            f"{name_score(name, self.by_characters)} {value:.2f}"
            for name, value in self.scores.items()
        )
        return f"{tell_count(self.lines, 'line')}{f': {text}' if text else ''}"


@dataclass(frozen=True)
class TrainingComparison:
    """A test text beside the training text; each part as it was scored.

    twins: lines of which a side stands in the training text, or differs little from a line of it.
    memory: the scores of the targets of the nearest training sources.
    """

    training_pairs: int
    twins: int
    without_twins: PartScore
    memory: PartScore
    by_similarity: tuple[PartScore, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def list_rows(self) -> list[tuple[str, str]]:
        """Return what is compared, and how it scores, in words."""
        return [
            ("near twins", f"{tell_count(self.twins, 'test line')} (nearly) in the training text"),
            ("without them", str(self.without_twins)),
            ("memory", f"the target of the nearest training source: {self.memory}"),
            *((each.name, str(each)) for each in self.by_similarity),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:<12} {message}" for name, message in self.list_rows())


def compare_with_training(
    training: Sequence[tuple[str, str]],
    sources: Sequence[str],
    references: References,
    translations: Sequence[str],
    target_lang: str | None,
) -> TrainingComparison:
    """Return how a model's translations score by how near the training text the sources are."""
    lines = gather_words(sources)
    memory = TranslationMemory([source for source, _ in training])
    matches = [memory.find(words) for words in lines]
    nearest = [training[match.line][1] if match else "" for match in matches]

    def score(name: str, mask: Sequence[bool], result: Sequence[str]) -> PartScore:
        return score_part(name, mask, result, references, target_lang)

    twins = find_twins(training, sources, references)
    every = [True] * len(lines)
    return TrainingComparison(
        len(training),
        sum(twins),
        score("without", [not each for each in twins], translations),
        score("memory", every, nearest),
        tuple(
            score(_name(band), [_is_in(match, band) for match in matches], translations)
            for band in BANDS
        ),
    )


def score_part(
    name: str,
    mask: Sequence[bool],
    result: Sequence[str],
    references: References,
    target_lang: str | None,
) -> PartScore:
    """Return the scores of the lines of a mask."""
    if sum(mask) < FEW:
        return PartScore(name, sum(mask), {})
    sets = [list(compress(lines, mask)) for lines in references]
    sets = [lines for lines in sets if any(line is not None for line in lines)]
    quality = score_quality(
        list(compress(result, mask)), sets, target_lang=target_lang, metrics=METRICS
    )
    scores = {metric: quality[metric].value for metric in METRICS}
    return PartScore(name, sum(mask), scores, counts_characters(target_lang))


def find_twins(
    training: Sequence[tuple[str, str]], sources: Sequence[str], references: References
) -> list[bool]:
    """Return which test lines are in the training text, or are near twins of a line of it."""
    first = [next((line for line in lines if line), "") for lines in zip(*references, strict=True)]
    sides = [
        find_known((pair[side] for pair in training), texts)
        for side, texts in enumerate((sources, first))
    ]
    return [*map(or_, *sides)]


def find_known(training: Iterable[str], texts: Iterable[str]) -> list[bool]:
    """Return which lines are in a training text, or are near twins of a line of it."""
    known = gather_words(training)
    same, index = {" ".join(words) for words in known}, TwinIndex(known)
    return [
        bool(words) and (" ".join(words) in same or index.find(words) is not None)
        for words in gather_words(texts)
    ]


def _name(band: tuple[float, float]) -> str:
    low, high = band
    return f"{low:.0%} alike" if high > 1 else f"{low:.0%} to {high:.0%}"


def _is_in(match: Match | None, band: tuple[float, float]) -> bool:
    return band[0] <= (match.similarity if match else 0.0) < band[1]
