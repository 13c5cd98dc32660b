"""The numbers of a lesson: what a model reads, how sure it is, and what each cut changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassformer.config import Decode
from glassformer.model.files.directory import locate
from glassformer.see.derive import group_words, mean_cross_attention, merge_words
from glassformer.see.document import Token
from glassformer.see.trace import Trace
from glassformer.translator import Translator

MOST = 16  # words of a sentence: more do not fit on the page
EXERCISED = 3  # scores of the softmax that is computed by hand


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
    scores: tuple[tuple[str, float], ...]  # of the first head of the last layer, for `scored`
    scored: str
    smoothing: float  # the share of probability that training spread over all words
    trace: Trace

    def find_least_sure(self) -> WordReading:
        """Return the word of the translation that was the least likely."""
        return min(self.readings, key=lambda each: each.probability)

    def list_useless(self) -> list[WordCut]:
        """Return the words that are read more than most, and without which nothing changes."""
        return [each for each in self.rank_cuts() if not each.changed and self._is_read(each)]

    def list_needed(self) -> list[WordCut]:
        """Return the words that are read less than most, and without which something changes."""
        needed = [each for each in self.rank_cuts() if each.changed and not self._is_read(each)]
        return needed[::-1]

    def rank_cuts(self) -> list[WordCut]:
        """Return the words with what their cuts change, the most read first."""
        return sorted(self.cuts, key=lambda each: each.share, reverse=True)

    def _is_read(self, cut: WordCut) -> bool:
        return cut.share > median(each.share for each in self.cuts)

    def weigh(self) -> tuple[float, ...]:
        """Return the softmax of the scores."""
        power = np.exp([score for _, score in self.scores])
        return tuple((power / power.sum()).tolist())


def collect_facts(model: Path | str, sentence: str) -> LessonFacts:
    """Return the numbers of one sentence. ValueError if it has too many words, or none."""
    if not (sentence := " ".join(sentence.split())):
        raise ValueError("the sentence is empty")
    translator = Translator.load(model, device="cpu", precision="fp32")
    greedy = Decode(search="greedy")
    trace = translator.see(sentence, decode=greedy, split=False)
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
        other = translator.see(sentence, decode=greedy, split=False, edits=edits)
        places = [n for n, (_, each) in enumerate(words) if each == word]
        share = float(shares_TS[:, places].sum(-1).mean())
        cuts.append(WordCut(word, other.translation, _list_changed(trace, other), share))
    readings = tuple(_list_readings(trace, targets, shares_TS, [word for _, word in words]))
    row = max(range(len(readings)), key=lambda n: readings[n].share)
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
        trace,
    )


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
    kept = [word for _, word in _list_words(after.predicted, after.translation)]
    words = [word for _, word in _list_words(before.predicted, before.translation)]
    return tuple(word for word in words if word not in kept)


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
    """Return the largest scores of a step of the decoder, in the first head."""
    last = max(name for name in trace.names() if name.endswith("cross_attention.scores"))
    scores = trace[last][0, step]
    ranked = sorted(((float(scores[group[0]]), word) for group, word in words), reverse=True)
    return tuple((word, round(score, 1)) for score, word in ranked[:EXERCISED])
