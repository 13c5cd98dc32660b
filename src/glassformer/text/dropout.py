"""Subword sampling by a seed: other segmentations of the same text.

Byte-pair encoding has BPE dropout (Provilkov et al. 2020), tokens with probabilities have subword
regularization (Kudo 2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import exp, log
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

MOST_SAMPLES = 64  # segmentations kept of a word; after that, one of them is drawn
UNKNOWN_PENALTY = 10.0  # ln p of a character without a token, below that of the rarest token
MOST_WORDS = 32_768  # words whose segmentations are kept: about 200 MB at most

Merges = Mapping[tuple[int, int], tuple[int, int]]  # two neighbours -> rank, id of the merged token
Ways = tuple[list[int], list[float]]  # where a token may start, and the weight of each
Candidate = tuple[int, int, int]  # rank, index of the left symbol, id of the merged token


def merge(
    symbols: Sequence[int],
    merges: Merges,
    dropout: float,
    random: Random,
    closed: list[tuple[int, int]] | None = None,
) -> list[int]:
    """Merge the symbols of a word, lowest rank first, then leftmost; return the ids of its tokens.

    Before each merge, every candidate is skipped with probability `dropout`; when all are, the
    word is done. Candidates are drawn in their order, and only up to the first that is not
    skipped. The rank of each merge, and the index of its right symbol, are appended to `closed`.
    """
    ids, end = list(symbols), len(symbols)
    after, before = list(range(1, end + 1)), list(range(-1, end - 1))

    def find(left: int) -> Candidate | None:
        if left < 0 or ids[left] < 0 or after[left] == end:
            return None
        merged = merges.get((ids[left], ids[after[left]]))
        return merged and (merged[0], left, merged[1])

    candidates = [candidate for candidate in map(find, range(end)) if candidate]
    heapify(candidates)
    aside: list[Candidate] = []
    while candidates:
        best = heappop(candidates)
        rank, left, together = best
        if best != find(left):
            continue  # an earlier merge took one of the two
        if random.random() < dropout:
            aside.append(best)
            continue
        right = after[left]
        if closed is not None:
            closed.append((rank, right))
        ids[left], ids[right], after[left] = together, -1, after[right]
        if after[left] < end:
            before[after[left]] = left
        for candidate in (find(before[left]), find(left), *aside):
            if candidate:
                heappush(candidates, candidate)
        aside.clear()
    return [id for id in ids if id >= 0]


class LatticeSampler:
    """Draws segmentations into tokens with probabilities (Kudo 2018, section 3.1).

    All segmentations are summed up from left to right, once for each text; then one is drawn from
    right to left.
    """

    def __init__(self, scores: Mapping[str, float]) -> None:
        """Take the ln p of each token; a character without a token is less probable than all."""
        self._scores, self._longest = scores, max(map(len, scores), default=1)
        self._unknown = min(scores.values(), default=0.0) - UNKNOWN_PENALTY
        self._kept: dict[tuple[str, float], list[Ways]] = {}

    def draw(self, text: str, alpha: float, random: Random) -> list[str]:
        """Return the tokens of a text, drawn with its probability to the power of alpha."""
        ways = self._kept.get((text, alpha))
        if ways is None:
            ways = self._sum_up(text, alpha)
            if len(self._kept) < MOST_WORDS:
                self._kept[text, alpha] = ways
        results, end = list[str](), len(text)
        while end:
            starts, shares = ways[end - 1]
            start = starts[0] if len(starts) == 1 else random.choices(starts, shares)[0]
            results.append(text[start:end])
            end = start
        return results[::-1]

    def _sum_up(self, text: str, alpha: float) -> list[Ways]:
        """Return, for each place but the first, where its last token may start, and how often."""
        sums, ways = [0.0], list[Ways]()
        for end in range(1, len(text) + 1):
            starts, logs = list[int](), list[float]()
            for start in range(max(0, end - self._longest), end):
                score = self._scores.get(text[start:end])
                if score is None and start == end - 1:
                    score = self._unknown
                if score is not None:
                    starts.append(start)
                    logs.append(sums[start] + alpha * score)
            best = max(logs)
            shares = [exp(each - best) for each in logs]
            sums.append(best + log(sum(shares)))
            ways.append((starts, shares))
        return ways


class Sampler:
    """A fast sampler for a whole corpus, which reuses the segmentations of frequent words.

    Its samples depend only on the seed and on the texts that it was given before. rate: see
    `Tokenizer.sample`.
    """

    def __init__(self, tokenizer: Tokenizer, rate: float, seed: int | str) -> None:
        self._tokenizer, self._rate, self._random = tokenizer, rate, Random(seed)
        self._kept: dict[str, list[list[int]]] = {}

    def draw(self, text: str, samples: int) -> list[list[int]]:
        """Return so many segmentations of a text, each as token ids."""
        words = self._tokenizer.words(text)
        return [[id for word in words for id in self._draw_word(word)] for _ in range(samples)]

    def _draw_word(self, word: str) -> list[int]:
        kept = self._kept.get(word)
        if kept is None:
            if len(self._kept) == MOST_WORDS:
                return self._tokenizer.sample_word(word, self._rate, self._random)
            kept = self._kept[word] = []
        if len(kept) == MOST_SAMPLES:
            return kept[int(self._random.random() * MOST_SAMPLES)]
        kept.append(self._tokenizer.sample_word(word, self._rate, self._random))
        return kept[-1]


class SeededSampler:
    """A sampler whose samples depend on nothing but the seed, the text and a `Random`.

    Each word has MOST_SAMPLES segmentations, each made when it is first drawn.
    """

    def __init__(self, tokenizer: Tokenizer, rate: float, seed: int) -> None:
        self._tokenizer, self._rate, self._seed = tokenizer, rate, seed
        self._kept: dict[tuple[str, int], list[int]] = {}

    def draw(self, text: str, random: Random) -> list[int]:
        """Return a segmentation of a text, as token ids."""
        results: list[int] = []
        for word in self._tokenizer.words(text):
            results += self._draw_word(word, int(random.random() * MOST_SAMPLES))
        return results

    def _draw_word(self, word: str, number: int) -> list[int]:
        ids = self._kept.get((word, number))
        if ids is None:
            random = Random(f"{self._seed} {number} {word}")
            ids = self._tokenizer.sample_word(word, self._rate, random)
            if len(self._kept) < MOST_WORDS * MOST_SAMPLES // 4:
                self._kept[word, number] = ids
        return ids
