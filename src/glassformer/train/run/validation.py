"""Validation: loss, BLEU and chrF of a model on the validation text, by a greedy search.

A language model has its loss, and its perplexity or its accuracy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import mean
from typing import Any, TypeVar

from ...config import Config
from ...decode import Network, NotFiniteError
from ...engine import Weights
from ...evaluate.language import LineScore, score_lines, sum_scores
from ...evaluate.quality import score_quality
from ...foundation.plurals import tell_count
from ...model.encoder_decoder import EncoderDecoder
from ...model.files.directory import Tokenizers
from ...text.context import cut_source
from ...translate.language_model import LanguageModel
from ...translate.language_reader import COMPLETES, FILLS, MASK_TEXT
from ...translate.quality_check import count_repeats
from ...translate.sentence import Progress
from ...translator import Translator
from ..plan.run_folder import ValidGroup
from ..publish.golden import search_greedily
from .distributed import ALONE, ProcessGroup

METRICS = ("BLEU", "chrF2")
MOSTLY = 0.5  # of the translations: if more are repetition, a validation says so
FEW_WORDS = 6  # in fewer, a word may well be there twice
REPEATING = "are the same words again and again: "
USUAL = "usual at first; if it is still so at update {:,}, half of those planned, train longer"
LATE = "no longer usual after half of the planned updates, so train longer"
PROMPT = 3  # a sample is completed from this share of its characters: a third
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

    def tell(self) -> str:
        scores = "".join(f"{name} {value:.2f}, " for name, value in self.scores.items())
        return f"{self.name}: {scores}loss {self.loss:.3f} ({tell_count(self.sentences, 'pair')})"


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
    repeating: float = 0.0  # the share of translations that are the same words again and again

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

    def tell(self, step: int, note: str, steps: int) -> str:
        """Return the lines that a training shows after `step` of `steps` planned updates."""
        if not self.is_finite:
            why = self.failure or f"its loss is {self.loss}"
            return f"update {step:,}: the validation failed: {why}"
        scores = "".join(f"{name} {value:.2f}, " for name, value in self.scores.items())
        by_corpus = "".join(f"\n  {each.tell()}" for each in self.groups)
        width = max([12, *(2 + len(name) for name in self.sample)])
        shown = "".join(f"\n  {name:<{width}} {text}" for name, text in self.sample.items())
        if self.repeating >= MOSTLY:
            until = USUAL.format((steps + 1) // 2) if 2 * step < steps else LATE
            shown += f"\n  {100 * self.repeating:.0f} % of the translations {REPEATING}{until}"
        return f"update {step:,}: valid {scores}loss {self.loss:.3f}{note}{by_corpus}{shown}"


@dataclass(frozen=True)
class ValidText:
    """Sentences to validate on, with the group of each: the corpus that it comes from.

    If the model reads a context, the sources are extended.
    """

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
        reader = LanguageModel(config, tokenizers, model, device=device, precision="fp32")
        return validate_language(reader, valid, turn, progress, group)
    is_spread = config.train.shard and group.size > 1
    workers = 1 if is_spread else None  # only one thread can gather shards
    if device == "cpu" and not is_spread:
        precision = "fp32"  # for the engine in C, which has no bf16
    first = Translator(
        config.narrow(valid.groups[0].pair),
        tokenizers,
        model,
        holding=Spread if is_spread else Weights,
        device=device,
        precision=precision,
        workers=workers,
    )
    ours = valid if is_spread else valid.deal(group.rank, group.size)
    shares, scored, failure = _translate_and_score(first, config, ours, progress, most_extra)
    if not is_spread:
        shares, scored = merge_shares(group.gather(shares)), merge_shares(group.gather(scored))
        failure = next(filter(None, group.gather(failure)), "")
    whole, by_group = _score_groups(config, valid, shares, scored)
    shown = turn * 7919 % len(valid.sources)
    return Validation(
        scores=whole.scores,
        loss=whole.loss,
        sample={
            "source": cut_source(valid.sources[shown])[1],
            "reference": valid.references[shown],
            "translation": shares[shown],
        },
        signature=whole.signature,
        sentences=len(valid.sources),
        failure=failure,
        groups=tuple(by_group) if len(by_group) > 1 else (),
        repeating=mean(is_repetition(text) for text in shares),
    )


def is_repetition(text: str) -> bool:
    """Return whether half of the words of a text, or more, are there twice or more often."""
    words = text.split()
    twice = sum(count for count in Counter(words).values() if count > 1)
    return count_repeats(text) > 1 or (len(words) >= FEW_WORDS and 2 * twice > len(words))


Scores = list[tuple[float, int]]  # of each reference its log-probability, and its tokens


def _score_groups(
    config: Config, valid: ValidText, results: list[str], scored: Scores
) -> tuple[GroupScores, list[GroupScores]]:
    """Return the scores of the whole text and of each corpus; of several pairs, the mean of all."""
    by_group = [
        _score_group(config, valid, number, results, scored)
        for number in range(len(valid.groups))
        if valid.places(number)
    ]
    if len(by_group) == 1:
        return by_group[0], by_group
    if len(config.data.pairs) == 1:
        alike = replace(valid, numbers=[0] * len(valid.numbers))
        return _score_group(config, alike, 0, results, scored), by_group
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
    result = [""] * len(ours.sources)
    scored: Scores = [(math.nan, 1)] * len(result)
    failure = ""
    for pair in dict.fromkeys(each.pair for each in ours.groups):
        numbers = {n for n, each in enumerate(ours.groups) if each.pair == pair}
        places = [place for place, n in enumerate(ours.numbers) if n in numbers]
        translator = first.with_settings(config.narrow(pair))
        sources = [ours.sources[place] for place in places]
        references = [ours.references[place] for place in places]
        has_context = translator.reader.context > 0
        cut = [cut_source(source) if has_context else ("", source) for source in sources]
        try:
            best = translator.search(
                [own for _, own in cut],
                contexts=[before for before, _ in cut],
                decode=decode,
                split=False,
                progress=progress,
            )
            for place, (each,) in zip(places, best, strict=True):
                result[place] = each.text
        except NotFiniteError as error:  # a diverged training must not end here
            failure = failure or str(error)
        try:
            for place, score in zip(places, translator.score(sources, references), strict=True):
                scored[place] = score.log_prob, len(score.token_log_probs)
        except NotFiniteError as error:
            failure = failure or str(error)
    return result, scored, failure


def _score_group(
    config: Config, valid: ValidText, number: int, results: Sequence[str], scored: Scores
) -> GroupScores:
    """Return the scores on the sentences of one group."""
    places, group = valid.places(number), valid.groups[number]
    references = [[valid.references[place] for place in places]]
    target_lang = config.data.narrow(group.pair).target_lang
    quality = score_quality(
        [results[place] for place in places], references, target_lang=target_lang, metrics=METRICS
    )
    log_probs, tokens = zip(*(scored[place] for place in places), strict=True)
    scores = {name: quality[name].value for name in METRICS}
    loss = -sum(log_probs) / sum(tokens)
    return GroupScores(group.name, scores, loss, quality["BLEU"].signature, len(places))


def take_whole(sources: list[str], references: list[str]) -> ValidText:
    """Return a validation text that is of one corpus."""
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


def validate_language(
    reader: LanguageModel,
    valid: ValidText,
    turn: int,
    progress: Progress | None,
    group: ProcessGroup,
) -> Validation:
    """Score a language model on its validation text; `turn` chooses the sample that is shown.

    An encoder has to fill the same masks each time. The processes of a group share the lines.
    """
    numbers = range(group.rank, len(valid.sources), group.size)
    ours, failure = valid.deal(group.rank, group.size), ""
    texts, labels = ours.sources, ours.references
    try:
        shares = score_lines(reader, texts, labels, reader.config.train.seed, numbers)
    except NotFiniteError as error:  # a diverged training must not end here
        shares, failure = [LineScore(math.nan, 1, 0)] * len(texts), str(error)
    if progress:
        progress(len(texts))
    shares = [LineScore(*each) for each in merge_shares(group.gather(shares))]
    failure = next(filter(None, group.gather(failure)), "")
    scores = sum_scores(reader, shares)
    lines = len(valid.sources)
    text, label = (side[turn * 7919 % lines] for side in (valid.sources, valid.references))
    sample = {} if failure else describe_sample(reader, text, label, turn)
    return Validation(scores.scores, scores.loss, sample, scores.signature, lines, failure)


def describe_sample(reader: LanguageModel, text: str, label: str, turn: int) -> dict[str, str]:
    """Return what a model makes of one line."""
    if reader.ability == COMPLETES:
        prompt = " ".join(text.split()[: 1 + len(text.split()) // PROMPT])
        return {"text": text, "from": prompt, "completed": complete_greedily(reader, prompt)}
    if reader.ability == FILLS:
        words = text.split()
        place = turn % max(1, len(words))
        masked = " ".join([*words[:place], MASK_TEXT, *words[place + 1 :]])
        best = reader.fill(masked, 3)[0]
        guesses = ", ".join(f"{each.token.strip()} {each.probability:.2f}" for each in best)
        return {"text": masked, "hidden": " ".join(words[place : place + 1]), "guessed": guesses}
    result = reader.classify(text)
    named = f"{result.label} {result.probabilities[result.label]:.2f}"
    return {"text": text, "label": label, "predicted": named}


def complete_greedily(reader: LanguageModel, prompt: str) -> str:
    """Return a prompt with its greedy completion, or alone where it has no room for one."""
    try:
        return reader.complete(prompt, decode={"search": "greedy", "max_extra": 20})
    except ValueError:
        return prompt


def merge_shares(dealt: list[list[T]]) -> list[T]:
    """Return the items that were distributed in turn, in their original order."""
    merged: list[T | None] = [None] * sum(map(len, dealt))
    for rank, each in enumerate(dealt):
        merged[rank :: len(dealt)] = each
    return merged  # type: ignore[return-value]
