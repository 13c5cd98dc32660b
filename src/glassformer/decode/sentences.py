"""The input and output of a search: sentences, which wait in a queue, and hypotheses.

This module does not import torch.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

from ..config import EOS, Decode

FEWEST = 16  # sentences that a worker takes at once, if so many are left
TAKES = 3  # the first take of a worker is 1 / TAKES of its share of the queue
SEEDS = 1 << 64  # a seed of sampling is below this
PART = 1 << 40  # sampling is keyed by line + PART * part; no text has so many lines

Rows = Sequence[Sequence[int]]  # the ids of several texts


class Spelling(NamedTuple):
    """A phrase that a translation has to contain, in tokens."""

    ids: tuple[int, ...]
    continuing: frozenset[int]  # tokens that would make its last word another one


class Constraint(NamedTuple):
    """Phrases of which a translation has to contain one."""

    spellings: tuple[Spelling, ...]

    @property
    def size(self) -> int:
        """Return the tokens of the longest, which a met constraint counts as."""
        return max(len(each.ids) for each in self.spellings)


class QueuedSentence(NamedTuple):
    """A sentence to translate, with the limits of its search."""

    index: int  # type: ignore[assignment]  # its index in the input
    line: int  # its number in the whole text, from 0: a key of sampling
    source: Sequence[int]
    prefix: Sequence[int]  # the tokens that its translation must begin with
    limit: int  # the most tokens of its translation, EOS counted
    constraints: tuple[Constraint, ...] = ()

    @property
    def size(self) -> int:
        """Return the largest number of tokens that the network reads at once."""
        return max(len(self.source), len(self.prefix) + 1)


class Hypothesis(NamedTuple):
    """One translation in tokens, with its log-probabilities (natural logarithms)."""

    tokens: list[int]  # without BOS and EOS, with the forced prefix
    log_prob: float  # of all tokens and EOS
    score: float  # log_prob / length penalty: hypotheses are ranked by it
    token_log_probs: list[float]  # one for each token, and EOS's last
    finished: bool  # whether it ended with EOS; otherwise it was cut at the greatest length

    def drop_first(self, count: int, settings: Decode) -> Hypothesis:
        """Return the hypothesis as if it began after `count` forced tokens."""
        if not count:
            return self
        log_probs = self.token_log_probs[count:]
        log_prob = self.log_prob - sum(self.token_log_probs[:count])
        score = log_prob / penalise_length(max(1, len(log_probs)), settings)
        return Hypothesis(self.tokens[count:], log_prob, score, log_probs, self.finished)


def penalise_length(n: Any, settings: Decode) -> Any:
    """Return the penalty of n tokens, a number or a tensor: see `rules.length_penalty`."""
    if settings.length_penalty == "none":
        return n**0
    return ((5 + n) / 6 if settings.length_penalty == "gnmt" else n) ** settings.alpha


class NotFiniteError(ValueError):
    """The error for logits that are not finite numbers, or far too large to choose from."""


def check_search(n_best: int, settings: Decode, seed: int) -> None:
    """Raise ValueError unless these settings find so many hypotheses, and `seed` has 64 bits."""
    if not 0 <= seed < SEEDS:
        raise ValueError(f"seed={seed}: from 0 to {SEEDS - 1}")
    if n_best < 1:
        raise ValueError(f"n_best={n_best}: at least 1 hypothesis is found")
    if n_best > 1 and settings.search != "beam":
        raise ValueError(f"n_best={n_best}: {settings.search} search finds 1; use search=beam")
    if n_best > settings.beam:
        raise ValueError(f"n_best={n_best} needs a beam as wide, not beam={settings.beam}")


def explain_nothing(line: int | None, is_bound: bool) -> ValueError:
    """Return the error for a sentence without any hypothesis.

    is_bound: the rules forbid every token; otherwise the logits are not finite. line: None if the
    sentence is not known.
    """
    where = "" if line is None else _name_line(line)
    if is_bound:
        message = "no hypothesis is left: no_repeat_ngram_size and min_length forbid every token"
        return ValueError(f"{where}{message}")
    return NotFiniteError(
        f"{where}the network's logits are not finite numbers or far too large: its weights are "
        "damaged, or its training has diverged"
    )


def explain_memory(line: int, tokens: int) -> ValueError:
    """Return the error for a sentence for which alone there is not enough memory."""
    return ValueError(
        f"{_name_line(line)}there is not enough memory for a sentence of {tokens} tokens: "
        "split it, or take a smaller beam or model"
    )


def plan_sentences(
    sources: Rows,
    prefixes: Rows | None,
    lines: Sequence[int] | None,
    longest: int | None,
    settings: Decode,
    constraints: Sequence[Sequence[Constraint]] | None = None,
    lengths: Sequence[int] | None = None,
) -> list[QueuedSentence]:
    """Return the sentences with these sources, in the same order.

    lengths: the tokens of each source that the limit of its translation counts; all but EOS if not.
    Raise ValueError, which names the line counted from 1, where a source or prefix is invalid.
    """
    prefixes = [()] * len(sources) if prefixes is None else prefixes
    lines = range(len(sources)) if lines is None else lines
    if not len(sources) == len(prefixes) == len(lines):
        raise ValueError(f"{len(sources)} sources, {len(prefixes)} prefixes, {len(lines)} lines")
    sentences = []
    for index, (line, source, prefix) in enumerate(zip(lines, sources, prefixes, strict=True)):
        if not source:
            raise ValueError(f"{_name_line(line)}the source has no tokens, not even EOS ({EOS})")
        if prefix and min(prefix) <= EOS:
            raise ValueError(f"{_name_line(line)}{min(prefix)} is a control id: not in a prefix")
        counted = lengths[index] if lengths else len(source) - (source[-1] == EOS)
        limit = longest_output(counted, settings, longest)
        for what, tokens in (("the prefix", len(prefix)), ("min_length", settings.min_length)):
            if tokens >= limit:
                raise ValueError(
                    f"{_name_line(line)}{what} asks for {tokens} tokens, "
                    f"but with EOS there may be {limit}: at most {limit - 1} fit"
                )
        own = tuple(constraints[index]) if constraints else ()
        if own:
            needed = len(prefix) + sum(each.size for each in own) + 1
            room = needed + settings.max_extra
            limit = max(limit, room if longest is None else min(room, longest))
        sentences.append(QueuedSentence(index, line, source, prefix, limit, own))
    return sentences


def plan_pairs(sources: Rows, targets: Rows) -> list[QueuedSentence]:
    """Return the sentences whose targets are given. ValueError if there are not as many of both."""
    if len(sources) != len(targets):
        raise ValueError(f"{len(sources)} sources but {len(targets)} targets")
    return [
        QueuedSentence(index, index, source, target, len(target) + 1)
        for index, (source, target) in enumerate(zip(sources, targets, strict=True))
    ]


def longest_output(source_tokens: int, settings: Decode, longest: int | None) -> int:
    """Return the most tokens, EOS counted, for a source of so many tokens, EOS not counted.

    The paper (6.1) has the length of the input + 50. `longest` is the limit of the network.
    """
    limit = math.ceil(settings.max_ratio * source_tokens) + settings.max_extra
    return limit if longest is None else min(limit, longest)


def rank(hypothesis: list[Hypothesis], number: int) -> list[Hypothesis]:
    """Return the best hypotheses by score; unfinished ones come after all finished ones.

    Groups of a diverse beam may find the same one; it is returned once.
    """
    ordered = sorted(hypothesis, key=lambda each: (each.finished, each.score))  # the best is last
    different = {(each.finished, *each.tokens): each for each in ordered}
    return sorted(different.values(), key=lambda each: (not each.finished, -each.score))[:number]


class Budget:
    """The most tokens at work at once: rows times the longest of them, padding included.

    It shrinks when memory runs out. All workers that use one network share it.
    """

    def __init__(self, tokens: int):
        self.tokens = tokens

    def shrink(self, sentences: int, longest: int, line: int, rows: int = 1) -> None:
        """Reduce the budget after memory ran out with so many sentences of `rows` rows each.

        Raise ValueError, which names the line, if there was only one sentence.
        """
        if sentences == 1:
            raise explain_memory(line, longest)
        self.tokens = min(self.tokens, rows * longest * (sentences // 2))


class Queue:
    """The sentences that wait, the longest first; all workers take from it.

    So memory runs out at once or never, and sentences that join others later fit into the padding
    that is there already. rows: the rows of each sentence at work.
    """

    def __init__(
        self, sentences: list[QueuedSentence], budget: int | Budget, rows: int = 1, workers: int = 1
    ):
        self.budget = budget if isinstance(budget, Budget) else Budget(budget)
        self.waiting, self.rows, self.workers = deque(_sort(sentences)), rows, workers
        self.lock = Lock()

    def take(self, working: Sequence[QueuedSentence] = ()) -> list[QueuedSentence]:
        """Remove and return the next sentences that fit beside those at work.

        One sentence is taken in any case if none is at work. A few sentences are not worth a run
        of the encoder, so none are taken until a quarter of those at work would fit. Of several
        workers each takes a part of what is left, so that all finish at about the same time.
        """
        with self.lock:
            left = len(self.waiting)
            if not left:
                return []
            size = max(sentence.size for sentence in (*working, self.waiting[0]))
            fit = self.budget.tokens // self.rows // size
            free = max(fit - len(working), 0 if working else 1)
            if 4 * free < len(working):
                return []
            share = -(-left // (TAKES * self.workers)) if self.workers > 1 else left
            return [self.waiting.popleft() for _ in range(min(free, max(share, FEWEST), left))]

    def has_work(self, lost: Sequence[QueuedSentence]) -> bool:
        """Return whether a worker is to continue; put the sentences that it lost back.

        A worker loses its sentences when memory runs out. They begin anew, with a smaller budget.
        A worker whose memory did not suffice for a single sentence stops and leaves it to the other
        workers.
        """
        again = _sort(lost)
        with self.lock:
            self.waiting.extendleft(reversed(again))
            if (len(again) == 1 and self.workers > 1) or not self.waiting:
                self.workers -= 1
                return False
            if again:
                self.budget.shrink(len(again), again[0].size, again[0].line, self.rows)
            return True


def _name_line(line: int) -> str:
    return f"line {line % PART + 1}: "


def _sort(sentences: Sequence[QueuedSentence]) -> list[QueuedSentence]:
    return sorted(sentences, key=lambda sentence: (-sentence.size, sentence.index))
