"""The scores of a model on its validation text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

NAMED = {"bleu": "BLEU", "chrf": "chrF2"}  # the scores of translations, by train.best_by


@dataclass(frozen=True)
class GroupScores:
    """The scores on the sentences of one of several corpora."""

    name: str
    scores: Mapping[str, float]
    loss: float
    signature: str
    sentences: int

    def values(self) -> dict[str, float]:
        return {**self.scores, "loss": self.loss}

    def describe(self) -> str:
        scores = "".join(f"{name} {value:.2f}, " for name, value in self.scores.items())
        return f"{self.name}: {scores}loss {self.loss:.3f} ({self.sentences:,} pairs)"


@dataclass(frozen=True)
class Validation:
    """The scores of a model on the validation text."""

    scores: Mapping[str, float]  # BLEU and chrF2, perplexity, or accuracy
    loss: float  # nats a predicted token, end mark included, without smoothing
    sample: Mapping[str, str]  # a line of the text and what the model makes of it, by their names
    signature: str
    sentences: int
    failure: str = field(default="")  # why there is no translation
    groups: tuple[GroupScores, ...] = ()  # of several corpora

    @property
    def is_finite(self) -> bool:
        """Return whether loss and translations exist: those of a diverged network may not."""
        return math.isfinite(self.loss) and not self.failure

    def by(self, name: str) -> float:
        """Return the score of that name, larger is better.

        The loss is negated; what does not translate is judged by it in any case.
        """
        return self.scores.get(NAMED.get(name, ""), -self.loss)

    def values(self) -> dict[str, float]:
        return {**self.scores, "loss": self.loss}

    def values_by_corpus(self) -> dict[str, float]:
        """Return the scores of each of several corpora, for the metrics."""
        return {
            f"{each.name} {name}": value
            for each in self.groups
            for name, value in each.values().items()
        }

    def describe(self, step: int, note: str) -> str:
        if not self.is_finite:
            why = self.failure or f"its loss is {self.loss}"
            return f"update {step:,}: the validation failed: {why}"
        scores = "".join(f"{name} {value:.2f}, " for name, value in self.scores.items())
        by_corpus = "".join(f"\n  {each.describe()}" for each in self.groups)
        width = max([12, *(2 + len(name) for name in self.sample)])
        shown = "".join(f"\n  {name:<{width}} {text}" for name, text in self.sample.items())
        return f"update {step:,}: valid {scores}loss {self.loss:.3f}{note}{by_corpus}{shown}"


def merge_shares(dealt: list[list[T]]) -> list[T]:
    """Return the items that were distributed in turn, in their original order."""
    merged: list[T | None] = [None] * sum(map(len, dealt))
    for rank, each in enumerate(dealt):
        merged[rank :: len(dealt)] = each
    return merged  # type: ignore[return-value]
