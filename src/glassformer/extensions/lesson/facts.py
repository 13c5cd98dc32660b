"""The numbers of a lesson: what a model reads, how sure it is, and what each cut changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
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


class WordCut(NamedTuple):
    """The translation of a model that may not read a word."""

    word: str
    translation: str
    changed: tuple[str, ...]  # words of the translation that are not in the other one


class LessonFacts(NamedTuple):
    """All numbers of a lesson."""

    model: str
    sentence: str
    translation: str
    words: tuple[str, ...]
    readings: tuple[WordReading, ...]
    cuts: tuple[WordCut, ...]
    scores: tuple[tuple[str, float], ...]  # of the first head of the last layer, for `scored`
    scored: str

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
    cuts = []
    for word in dict.fromkeys(word for _, word in words):
        edits = [{"do": "cut", "word": word}]
        other = translator.see(sentence, decode=greedy, split=False, edits=edits)
        cuts.append(WordCut(word, other.translation, _list_changed(trace, other)))
    readings = tuple(_list_readings(trace, words))
    row = max(range(len(readings)), key=lambda n: readings[n].share)
    return LessonFacts(
        locate(model).name,
        sentence,
        trace.translation,
        tuple(word for _, word in words),
        readings,
        tuple(cuts),
        _choose_scores(trace, words, row),
        readings[row].word,
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


def _list_readings(trace: Trace, words: list[tuple[list[int], str]]) -> Iterator[WordReading]:
    """Yield each word of the translation with what it reads most."""
    targets = _list_words(trace.predicted, trace.translation)
    shares = merge_words(
        mean_cross_attention(trace), [group for group, _ in targets], [group for group, _ in words]
    )
    logits: NDArray[Any] = np.asarray(trace["logits"], dtype=np.float64)
    logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    for (group, word), row in zip(targets, shares, strict=True):
        likely = float(np.exp(sum(logs[n, trace.predicted[n].id] for n in group)))
        most = int(np.argmax(row))
        yield WordReading(word, words[most][1], float(row[most]), likely)


def _choose_scores(
    trace: Trace, words: list[tuple[list[int], str]], row: int
) -> tuple[tuple[str, float], ...]:
    """Return the largest scores of a word of the translation, in the first head."""
    targets = _list_words(trace.predicted, trace.translation)
    last = max(name for name in trace.names() if name.endswith("cross_attention.scores"))
    scores = trace[last][0, targets[row][0][0]]
    ranked = sorted(((float(scores[group[0]]), word) for group, word in words), reverse=True)
    return tuple((word, round(score, 1)) for score, word in ranked[:EXERCISED])
