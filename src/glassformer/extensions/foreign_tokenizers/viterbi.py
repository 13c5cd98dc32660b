"""The most probable segmentation of a text under a unigram language model (Kudo 2018)."""

from array import array
from collections.abc import Collection, Mapping

UNKNOWN_PENALTY = 10.0  # ln p of a character without a token, below that of the rarest token


class Viterbi:
    """Segments as SentencePiece does, with its sums of 32 bits: the same of two equal ways."""

    def __init__(self, scores: Mapping[str, float], symbols: Collection[str] = ()) -> None:
        """Take the ln p of each token; `symbols` do not count for the score of the unknown."""
        scores = dict(zip(scores, array("f", scores.values()), strict=True))
        self._scores = scores
        usual = scores if not symbols else {x: scores[x] for x in scores if x not in symbols}
        self._unknown = min(usual.values(), default=0.0) - UNKNOWN_PENALTY
        longest: dict[str, int] = {}  # of the tokens that begin with a character
        for token, size in zip(scores, map(len, scores), strict=True):
            if size > longest.get(token[:1], 0):
                longest[token[:1]] = size
        self._longest = longest

    def segment(self, text: str) -> list[str]:
        """Return the tokens; a character without a token is one."""
        size = len(text)
        best, starts = array("f", bytes(4 * (size + 1))), [-1] * (size + 1)
        sum_ = array("f", [0])  # rounds as C does

        def extend(start: int, end: int, score: float) -> None:
            sum_[0] = best[start] + score
            if starts[end] < 0 or sum_[0] > best[end]:
                best[end], starts[end] = sum_[0], start

        for start in range(size):
            limit = min(size, start + self._longest.get(text[start], 0))
            for end in range(start + 1, limit + 1):
                if (score := self._scores.get(text[start:end])) is not None:
                    extend(start, end, score)
            if text[start] not in self._scores:
                extend(start, start + 1, self._unknown)
        tokens, end = list[str](), size
        while end:
            tokens.append(text[starts[end] : end])
            end = starts[end]
        return tokens[::-1]
