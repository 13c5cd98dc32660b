"""The numbers of a lesson: what a model reads, how sure it is, and what each cut changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassformer.config import Data
from glassformer.extensions.serve.page import check_views
from glassformer.model.files.directory import SHIPPED, locate
from glassformer.see.derive import group_words, mean_cross_attention, merge_words
from glassformer.see.document import Token
from glassformer.see.trace import Trace
from glassformer.translate.options import choose_options
from glassformer.translator import Translator

MOST = 16  # words of a sentence: more do not fit on the page
EXERCISED, EXERCISED_WEIGHT = 3, 0.7  # scores of the softmax by hand, and its largest result


class WordReading(NamedTuple):
    """A word of the translation: what it reads most, and how likely it was."""

    word: str
    read: str
    share: float  # of its attention, the mean of all layers and heads
    probability: float  # the product of those of its tokens
    rival: str  # the likeliest other token where the word begins
    rival_probability: float


class WordCut(NamedTuple):
    """The translation of a model that may not read a word."""

    word: str
    translation: str
    changed: tuple[str, ...]  # words of the translation that are not in the other one
    share: float  # of the attention, the mean of all words of the translation


class LessonFacts(NamedTuple):
    """All numbers of a lesson."""

    model: str
    sentence: str
    translation: str
    words: tuple[str, ...]
    readings: tuple[WordReading, ...]
    shares: tuple[tuple[float, ...], ...]  # of each word of the translation: from each word
    cuts: tuple[WordCut, ...]
    scores: tuple[tuple[str, float], ...]  # of one head, for `scored`
    scored: str
    smoothing: float  # the share of probability that training spread over all words
    unmet: tuple[str, ...]  # words of the sentence that the model never met in training
    is_unsure: bool  # whether the model is less sure than it is where it is mostly right
    turned_back: tuple[str, str] | None  # the translation in the first language again, and by whom
    trace: Trace

    def find_least_sure(self) -> WordReading:
        """Return the word of the translation that was the least likely."""
        return min(self.readings, key=lambda each: each.probability)

    def list_useless(self) -> list[WordCut]:
        """Return the words that are read more than most, and without which nothing changes."""
        return [each for each in self.rank_cuts() if not each.changed and each.share > self.middle]

    def list_needed(self) -> list[WordCut]:
        """Return the words that are read less than most, and without which something changes."""
        needed = [each for each in self.rank_cuts() if each.changed and each.share < self.middle]
        return needed[::-1]

    def rank_cuts(self) -> list[WordCut]:
        """Return the words with what their cuts change, the most read first."""
        return sorted(self.cuts, key=lambda each: each.share, reverse=True)

    @property
    def middle(self) -> float:
        """Return the share of the word in the middle, by shares."""
        return median(each.share for each in self.cuts)

    def weigh(self) -> tuple[float, ...]:
        """Return the softmax of the scores."""
        return soften(self.scores)


def collect_facts(model: Path | str, sentence: str) -> LessonFacts:
    """Return the numbers of one sentence.

    ValueError if it has too many words or none, or for a network of which the app has no views.
    """
    if not (sentence := " ".join(sentence.split())):
        raise ValueError("the sentence is empty")
    translator = Translator.load(model, device="cpu", precision="fp32")
    check_views(translator.config.model)
    trace = translator.see(sentence, split=False)  # with the model's own search, as in the app
    words = _list_words(trace.source, trace.text)
    if not 2 <= len(words) <= MOST:
        raise ValueError(f"the sentence has {len(words)} words; a lesson has room for 2 to {MOST}")
    targets = _list_words(trace.predicted, trace.translation)
    shares_TS = merge_words(
        mean_cross_attention(trace), [group for group, _ in targets], [group for group, _ in words]
    )
    cuts = []
    for word in dict.fromkeys(word for _, word in words):
        edits = [{"do": "cut", "word": word}]
        other = translator.see(sentence, split=False, edits=edits)
        places = [n for n, (_, each) in enumerate(words) if each == word]
        share = float(shares_TS[:, places].sum(-1).mean())
        cuts.append(WordCut(word, other.translation, _list_changed(trace, other), share))
    readings = tuple(_list_readings(trace, targets, shares_TS, [word for _, word in words]))
    row = max(range(len(readings)), key=lambda n: readings[n].share)
    options = choose_options(translator.config.decode, split=False, again=False)
    [checked] = translator.checker.translate_texts([sentence], options)
    return LessonFacts(
        locate(model).name,
        sentence,
        trace.translation,
        tuple(word for _, word in words),
        readings,
        tuple(map(tuple, shares_TS.tolist())),
        tuple(cuts),
        _choose_scores(trace, words, targets[row][0][0]),
        readings[row].word,
        translator.config.train.label_smoothing,
        tuple(translator.checker.familiarity.list_unmet(sentence)),
        any(each.kind == "unsure" for each in checked.problems),
        turn_back(translator.config.data, trace.translation),
        trace,
    )


def turn_back(data: Data, translation: str) -> tuple[str, str] | None:
    """Return a translation in the first language again, and the model; None if none ships."""
    name = f"everyday-{data.target_lang}-{data.source_lang}"
    if not (SHIPPED / name).is_dir():
        return None
    return Translator.load(name, device="cpu").translate(translation), name


def _list_words(tokens: Sequence[Token], text: str) -> list[tuple[list[int], str]]:
    """Return the tokens of each word that has a letter or digit, with the word."""
    groups = group_words(tokens, text)
    spelt = [text[tokens[group[0]].start : tokens[group[-1]].end].strip() for group in groups]
    return [
        (group, word)
        for group, word in zip(groups, spelt, strict=True)
        if any(map(str.isalnum, word))
    ]


def _list_changed(before: Trace, after: Trace) -> tuple[str, ...]:
    """Return the words of a translation that are in no longest common part of it and another."""
    words, others = (
        [word for _, word in _list_words(each.predicted, each.translation)]
        for each in (before, after)
    )
    lengths = [[0] * (len(others) + 1) for _ in range(len(words) + 1)]  # of what is common
    for i, j in product(reversed(range(len(words))), reversed(range(len(others)))):
        skipped = max(lengths[i + 1][j], lengths[i][j + 1])
        lengths[i][j] = lengths[i + 1][j + 1] + 1 if words[i] == others[j] else skipped
    changed, j = list[str](), 0
    for i, word in enumerate(words):
        place = next((k for k in range(j, len(others)) if others[k] == word), None)
        if place is not None and lengths[i][j] == lengths[i + 1][place + 1] + 1:
            j = place + 1
        else:
            changed.append(word)
    return tuple(changed)


def _list_readings(
    trace: Trace,
    targets: list[tuple[list[int], str]],
    shares_TS: NDArray[Any],
    words: Sequence[str],
) -> Iterator[WordReading]:
    """Yield each word of the translation with what it reads most."""
    for (group, word), shares_S in zip(targets, shares_TS, strict=True):
        steps = [trace.predictions[n] for n in group]
        likely = float(np.exp(sum(each.log_prob for each in steps)))
        ranked = zip(steps[0].ids, steps[0].texts, steps[0].log_probs, strict=True)
        rival, log = next(
            (text, log) for id, text, log in ranked if id != trace.predicted[group[0]].id
        )
        most = int(np.argmax(shares_S))
        yield WordReading(
            word, words[most], float(shares_S[most]), likely, rival.strip(), float(np.exp(log))
        )


def _choose_scores(
    trace: Trace, words: list[tuple[list[int], str]], step: int
) -> tuple[tuple[str, float], ...]:
    """Return the largest scores of a head of cross-attention, at a step of the decoder.

    Of all heads it is that whose largest weight among them is the nearest to `EXERCISED_WEIGHT`.
    """
    names = [name for name in trace.names() if name.endswith("cross_attention.scores")]

    def find_largest(scores: NDArray[Any]) -> tuple[tuple[str, float], ...]:
        ranked = sorted(((float(scores[group[0]]), word) for group, word in words), reverse=True)
        return tuple((word, round(score, 1)) for score, word in ranked[:EXERCISED])

    heads = [find_largest(scores) for name in names for scores in trace[name][:, step]]
    return min(heads, key=lambda each: abs(soften(each)[0] - EXERCISED_WEIGHT))


def soften(scores: Sequence[tuple[str, float]]) -> tuple[float, ...]:
    """Return the softmax of the scores of some words."""
    power = np.exp([score for _, score in scores])
    return tuple((power / power.sum()).tolist())
