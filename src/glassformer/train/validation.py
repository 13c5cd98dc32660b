"""Validation: loss, BLEU and chrF of a model on the validation text, by a greedy search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import mean
from typing import TYPE_CHECKING, Any

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
from .scores import GroupScores as GroupScores
from .scores import Validation as Validation
from .scores import merge_shares

if TYPE_CHECKING:
    from .preparation import ValidGroup

METRICS = ("BLEU", "chrF2")


@dataclass(frozen=True)
class ValidText:
    """Sentences to validate on, with the group of each: the corpus that it comes from."""

    sources: list[str]
    references: list[str]
    numbers: list[int]  # of the group of each sentence
    groups: Sequence[ValidGroup]

    def deal(self, rank: int, size: int) -> ValidText:
        """Return the share of one of `size` processes."""
        ours = slice(rank, None, size)
        dealt = self.sources[ours], self.references[ours], self.numbers[ours]
        return ValidText(*dealt, self.groups)

    def places(self, group: int) -> list[int]:
        return [place for place, number in enumerate(self.numbers) if number == group]


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
    valid: ValidText | tuple[list[str], list[str]],
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
    unless the model is sharded: then each step needs all processes, and all compute the same. Of
    several language pairs the scores are the mean over the corpora.
    """
    if isinstance(valid, tuple):
        valid = take_whole(*valid)
    if config.model.is_language_model:
        return validate_language(
            model,
            config,
            tokenizers,
            (valid.sources, valid.references),
            device=device,
            turn=turn,
            progress=progress,
            group=group,
        )
    is_spread = config.train.shard and group.size > 1
    workers = 1 if is_spread else None  # only one thread can gather shards
    if device == "cpu" and not is_spread:
        precision = "fp32"  # for the engine in C, which has no bf16
    how: dict[str, Any] = {"device": device, "precision": precision, "workers": workers}
    how["holding"] = Spread if is_spread else Weights
    first = Translator(config.narrow(valid.groups[0].pair), tokenizers, model, **how)
    ours = valid if is_spread else valid.deal(group.rank, group.size)
    found, scored, failure = _translate_and_score(first, config, ours, progress, most_extra)
    if not is_spread:
        found, scored = merge_shares(group.gather(found)), merge_shares(group.gather(scored))
        failure = next(filter(None, group.gather(failure)), "")
    whole, by_group = _score_groups(config, valid, found, scored)
    shown = turn * 7919 % len(valid.sources)
    return Validation(
        scores=whole.scores,
        loss=whole.loss,
        sample={
            "source": valid.sources[shown],
            "reference": valid.references[shown],
            "translation": found[shown],
        },
        signature=whole.signature,
        sentences=len(valid.sources),
        failure=failure,
        groups=tuple(by_group) if len(by_group) > 1 else (),
    )


Scores = list[tuple[float, int]]  # of each reference its log-probability, and its tokens


def _score_groups(
    config: Config, valid: ValidText, found: list[str], scored: Scores
) -> tuple[GroupScores, list[GroupScores]]:
    """Return the scores of the whole text and of each corpus; of several pairs, the mean of all."""
    by_group = [
        _score_group(config, valid, number, found, scored)
        for number in range(len(valid.groups))
        if valid.places(number)
    ]
    if len(by_group) == 1:
        return by_group[0], by_group
    if len(config.data.pairs) == 1:
        alike = replace(valid, numbers=[0] * len(valid.numbers))
        return _score_group(config, alike, 0, found, scored), by_group
    whole = GroupScores(
        name="",
        scores={name: mean(each.scores[name] for each in by_group) for name in METRICS},
        loss=mean(each.loss for each in by_group),
        signature=f"{by_group[0].signature} (mean over {len(by_group)} corpora)",
        sentences=len(valid.sources),
    )
    return whole, by_group


def _translate_and_score(
    first: Translator,
    config: Config,
    ours: ValidText,
    progress: Progress | None,
    most_extra: int | None,
) -> tuple[list[str], Scores, str]:
    """Return the translations, the scores of the references, and why there are none, or ""."""
    decode = search_greedily(config.decode, most_extra)
    found = [""] * len(ours.sources)
    scored: Scores = [(math.nan, 1)] * len(found)
    failure = ""
    for pair in dict.fromkeys(each.pair for each in ours.groups):
        numbers = {n for n, each in enumerate(ours.groups) if each.pair == pair}
        places = [place for place, n in enumerate(ours.numbers) if n in numbers]
        translator = first.with_settings(config.narrow(pair))
        sources = [ours.sources[place] for place in places]
        references = [ours.references[place] for place in places]
        try:
            best = translator.search(sources, decode=decode, split=False, progress=progress)
            for place, (each,) in zip(places, best, strict=True):
                found[place] = each.text
        except NotFiniteError as error:  # a diverged training must not end here
            failure = failure or str(error)
        try:
            for place, score in zip(places, translator.score(sources, references), strict=True):
                scored[place] = score.log_prob, len(score.token_log_probs)
        except NotFiniteError as error:
            failure = failure or str(error)
    return found, scored, failure


def _score_group(
    config: Config, valid: ValidText, number: int, found: Sequence[str], scored: Scores
) -> GroupScores:
    """Return the scores on the sentences of one group."""
    places, group = valid.places(number), valid.groups[number]
    references = [[valid.references[place] for place in places]]
    target_lang = config.data.narrow(group.pair).target_lang
    quality = score_quality(
        [found[place] for place in places], references, target_lang=target_lang, metrics=METRICS
    )
    log_probs, tokens = zip(*(scored[place] for place in places), strict=True)
    scores = {name: quality[name].value for name in METRICS}
    loss = -sum(log_probs) / sum(tokens)
    return GroupScores(group.name, scores, loss, quality["BLEU"].signature, len(places))


def take_whole(sources: list[str], references: list[str]) -> ValidText:
    """Return a validation text that is of one corpus."""
    from .preparation import ValidGroup

    only = ValidGroup(name="", pair=None, pairs=len(sources))
    return ValidText(sources, references, [0] * len(sources), [only])


def spread_sample(
    valid: tuple[list[str], list[str]], count: int, groups: Sequence[ValidGroup]
) -> ValidText:
    """Return `count` evenly spread pairs of a validation text."""
    total = len(valid[0])
    numbers = [number for number, group in enumerate(groups) for _ in range(group.pairs)]
    places = [number * total // count for number in range(count)]
    source, target = ([side[place] for place in places] for side in valid)
    return ValidText(source, target, [numbers[place] for place in places], groups)
