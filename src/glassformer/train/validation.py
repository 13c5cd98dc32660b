"""Validation: loss, BLEU and chrF of a model on the validation text, by a greedy search."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from ..config import Config
from ..decode import Network, NotFiniteError
from ..directory import Tokenizers
from ..engine import Weights
from ..evaluate.quality import score_quality
from ..model import EncoderDecoder
from ..publish.golden import search_greedily
from ..translator import Progress, Translator
from .distributed import ALONE, ProcessGroup

T = TypeVar("T")

METRICS = ("BLEU", "chrF2")


@dataclass(frozen=True)
class Validation:
    """The scores of a model on the validation text, by a greedy search."""

    bleu: float
    chrf: float
    loss: float  # nats a target token, end mark included, without smoothing
    sample: tuple[str, str, str]  # a source, its reference, its translation
    signature: str
    sentences: int
    failure: str = ""  # why there is no translation

    @property
    def is_finite(self) -> bool:
        """Return whether loss and translations exist: those of a diverged network may not."""
        return math.isfinite(self.loss) and not self.failure

    def by(self, name: str) -> float:
        """Return the score of that name; the loss is negated, so that larger is better."""
        return {"bleu": self.bleu, "chrf": self.chrf, "loss": -self.loss}[name]

    def values(self) -> dict[str, float]:
        return {"BLEU": self.bleu, "chrF2": self.chrf, "loss": self.loss}

    def describe(self, step: int, note: str) -> str:
        if not self.is_finite:
            why = self.failure or f"its loss is {self.loss}"
            return f"update {step:,}: the validation failed: {why}"
        source, reference, translation = self.sample
        return (
            f"update {step:,}: valid BLEU {self.bleu:.2f}, chrF2 {self.chrf:.2f}, "
            f"loss {self.loss:.3f}{note}\n"
            f"  source       {source}\n  reference    {reference}\n  translation  {translation}"
        )


class Spread(Weights):
    """The weights of a network sharded over a group: they are neither moved nor packed."""

    is_native = False

    @cached_property
    def network(self) -> EncoderDecoder:
        assert isinstance(self.origin, EncoderDecoder)
        return self.origin.eval()

    @property
    def view(self) -> Network[Any]:
        return self.network


def validate(
    model: EncoderDecoder,
    config: Config,
    tokenizers: Tokenizers,
    valid: tuple[list[str], list[str]],
    *,
    device: str,
    precision: str,
    turn: int,
    progress: Progress | None = None,
    group: ProcessGroup = ALONE,
    most_extra: int | None = None,
) -> Validation:
    """Translate and score the validation text; `turn` chooses the sample that is shown.

    `most_extra` replaces a larger `decode.max_extra`. The processes of a group share the sentences,
    unless the model is sharded: then each step needs all processes, and all compute the same.
    """
    sources, references = valid
    is_spread = config.train.shard and group.size > 1
    workers = 1 if is_spread else None  # only one thread can gather shards
    if device == "cpu" and not is_spread:
        precision = "fp32"  # for the engine in C, which has no bf16
    how: dict[str, Any] = {"device": device, "precision": precision, "workers": workers}
    holding = Spread if is_spread else Weights
    translator = Translator(config, tokenizers, model, holding=holding, **how)
    ours = slice(None) if is_spread else slice(group.rank, None, group.size)
    decode = search_greedily(config.decode, most_extra)
    failure = ""
    try:
        best = translator.search(sources[ours], decode=decode, split=False, progress=progress)
        found = [each.text for (each,) in best]
    except NotFiniteError as error:  # a diverged training must not end here
        found, failure = [""] * len(sources[ours]), str(error)
    try:
        scores = translator.score(sources[ours], references[ours])
        scored = [(each.log_prob, len(each.token_log_probs)) for each in scores]
    except NotFiniteError as error:
        scored, failure = [(math.nan, 1)] * len(sources[ours]), failure or str(error)
    if not is_spread:
        found, scored = _merge(group.gather(found)), _merge(group.gather(scored))
        failure = next(filter(None, group.gather(failure)), "")
    quality = score_quality(
        found, [references], target_lang=config.data.target_lang, metrics=METRICS
    )
    shown = turn * 7919 % len(sources)
    return Validation(
        bleu=quality["BLEU"].value,
        chrf=quality["chrF2"].value,
        loss=-sum(log_prob for log_prob, _ in scored) / sum(tokens for _, tokens in scored),
        sample=(sources[shown], references[shown], found[shown]),
        signature=quality["BLEU"].signature,
        sentences=len(sources),
        failure=failure,
    )


def spread_sample(valid: tuple[list[str], list[str]], count: int) -> tuple[list[str], list[str]]:
    """Return `count` evenly spread pairs of a validation text."""
    total = len(valid[0])
    places = [number * total // count for number in range(count)]
    source, target = ([side[place] for place in places] for side in valid)
    return source, target


def _merge(dealt: list[list[T]]) -> list[T]:
    """Return the items that were distributed in turn, in their original order."""
    merged: list[T | None] = [None] * sum(map(len, dealt))
    for rank, each in enumerate(dealt):
        merged[rank :: len(dealt)] = each
    return merged  # type: ignore[return-value]
