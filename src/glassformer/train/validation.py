"""Validation: loss, BLEU and chrF of a model on the validation text, by a greedy search."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

from ..config import Config
from ..decode import Network, NotFiniteError
from ..directory import Tokenizers
from ..engine import Weights
from ..evaluate.quality import score_quality
from ..model import EncoderDecoder
from ..publish.golden import search_greedily
from ..translator import Progress, Translator
from .distributed import ALONE, ProcessGroup
from .language_validation import validate_language
from .scores import Validation as Validation
from .scores import merge_shares

METRICS = ("BLEU", "chrF2")


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
    if config.model.is_language_model:
        return validate_language(
            model,
            config,
            tokenizers,
            valid,
            device=device,
            turn=turn,
            progress=progress,
            group=group,
        )
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
        found, scored = merge_shares(group.gather(found)), merge_shares(group.gather(scored))
        failure = next(filter(None, group.gather(failure)), "")
    quality = score_quality(
        found, [references], target_lang=config.data.target_lang, metrics=METRICS
    )
    shown = turn * 7919 % len(sources)
    return Validation(
        scores={name: quality[name].value for name in METRICS},
        loss=-sum(log_prob for log_prob, _ in scored) / sum(tokens for _, tokens in scored),
        sample={
            "source": sources[shown],
            "reference": references[shown],
            "translation": found[shown],
        },
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
