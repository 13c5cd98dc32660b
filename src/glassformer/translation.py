"""The results of translating: text, the log-probabilities of its tokens, and its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, islice, pairwise
from typing import NamedTuple, TypeVar

from .decode.sentences import Hypothesis
from .foundation.messages import read_messages
from .text import Tokenizer
from .text.spacing import join_sentences
from .text.unicode import Span

Progress = Callable[[int], object]  # called with how many more lines are done

LINE_BREAKS = str.maketrans({c: " " for c in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"})


class Part(NamedTuple):
    """A sentence or clause that was translated on its own; logarithms are natural."""

    source: Span  # in the text, in characters
    target: Span  # in the translation, in characters
    tokens: Span  # among the tokens of the translation
    log_prob: float  # of its tokens and its end
    score: float  # log_prob over the length penalty
    finished: bool  # False: cut at the greatest length


class Translation(NamedTuple):
    """The translation of a text, with its log-probabilities; logarithms are natural."""

    text: str
    tokens: list[str]
    log_prob: float  # the sum of the parts'
    score: float  # the sum of the parts'
    token_log_probs: list[float]  # for each part, one a token and then its end mark's
    finished: bool  # whether every part is finished
    parts: list[Part]


class Problem(NamedTuple):
    """A problem with a translation, or with its source text for this model."""

    kind: str  # one of `quality_check.CAPS`
    said: str  # for people
    part: int = 0  # the index of the translation's part

    @classmethod
    def describe(cls, kind: str, **details: object) -> Problem:
        """Return a problem of this kind, in the words of messages.json."""
        return cls(kind, read_messages().say(f"problem.{kind}", "en", **details))


class Scored(NamedTuple):
    """The log-probability of a given translation; logarithms are natural."""

    log_prob: float
    tokens: list[str]
    token_log_probs: list[float]  # one a token, the end's last


Ranked = TypeVar("Ranked", bound="Hypothesis | Translation")


def combine(found: Iterable[Sequence[Ranked]], number: int) -> list[tuple[Ranked, ...]]:
    """Return the best `number` combinations of one hypothesis for each part.

    Fewer unfinished hypotheses are better; among equals, a higher sum of scores.
    """
    best: list[tuple[int, float, tuple[Ranked, ...]]] = [(0, 0.0, ())]
    for hypotheses in found:
        longer: list[tuple[int, float, tuple[Ranked, ...]]] = [
            (way[0] + (not each.finished), way[1] - each.score, (*way[2], each))
            for way in best
            for each in hypotheses
        ]
        best = sorted(longer, key=lambda way: way[:2])[:number]
    return [way for *_, way in best]


def read_hypothesis(found: Hypothesis, target: Tokenizer) -> Translation:
    """Return the translation that a hypothesis spells, on one line and by itself."""
    return Translation(
        text=target.decode(found.tokens).strip().translate(LINE_BREAKS),
        tokens=[target.token(id) for id in found.tokens],
        log_prob=found.log_prob,
        score=found.score,
        token_log_probs=found.token_log_probs,
        finished=found.finished,
        parts=[],
    )


def assemble(text: str, spans: Sequence[Span], found: Sequence[Translation]) -> Translation:
    """Return the translation of `text` made of one translation for each span.

    The text between the spans is kept. One line gives one line: line breaks become spaces. Blank
    text gives the empty one.
    """
    joined, places = join_sentences(
        text if text.strip() else "", spans, [each.text for each in found]
    )
    ends = accumulate((len(each.tokens) for each in found), initial=0)
    parts = zip(spans, places, pairwise(ends), found, strict=True)
    return Translation(
        text=joined.translate(LINE_BREAKS),
        tokens=[token for each in found for token in each.tokens],
        log_prob=sum((each.log_prob for each in found), 0.0),
        score=sum((each.score for each in found), 0.0),
        token_log_probs=[log_prob for each in found for log_prob in each.token_log_probs],
        finished=all(each.finished for each in found),
        parts=[
            Part(source, place, tokens, each.log_prob, each.score, each.finished)
            for source, place, tokens, each in parts
        ],
    )


def take_apart(found: Translation) -> list[Translation]:
    """Return the translation of each part by itself."""
    log_probs = iter(found.token_log_probs)
    return [
        Translation(
            text=found.text[slice(*part.target)],
            tokens=found.tokens[slice(*part.tokens)],
            log_prob=part.log_prob,
            score=part.score,
            token_log_probs=[*islice(log_probs, part.tokens[1] - part.tokens[0] + part.finished)],
            finished=part.finished,
            parts=[],
        )
        for part in found.parts
    ]


def scale_progress(progress: Progress, lines: int, parts: int) -> Progress:
    """Return a function that is called with numbers of done parts, and calls `progress` with lines.

    So many `parts` are so many `lines`.
    """
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        before, done = done, done + more
        progress(lines * done // parts - lines * before // parts)

    return tell
