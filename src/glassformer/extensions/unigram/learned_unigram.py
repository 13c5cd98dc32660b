"""A tokenizer of tokens with probabilities (Kudo 2018) that a training learned; it loses nothing.

Words, ids and bytes are those of our byte-pair encoding; but of all segmentations of a word, the
most probable one is taken.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Self

from tokenizers import Tokenizer as Backend
from tokenizers.models import Unigram as UnigramModel

from glassformer.config import PAD
from glassformer.text.dropout import LatticeSampler
from glassformer.text.layout import (
    FIRST_BYTE,
    FIRST_CHARACTER,
    describe_layout,
    render_layout,
    starts_right,
)
from glassformer.text.normalization import PLAIN, Normalization
from glassformer.text.tokenizer import Sampling, Tokenizer


class LearnedUnigram(Tokenizer):
    """A unigram tokenizer. Ids: pad 0, bos 1, eos 2, bytes, characters, longer tokens, tags."""

    sampling: ClassVar[Sampling] = "sampling_alpha"

    def __init__(
        self,
        vocabulary: Sequence[str],
        scores: Sequence[float],
        normalization: Normalization = PLAIN,
    ) -> None:
        """Take the tokens in the order of their ids, and their ln p: 0 if no text yields them."""
        self.merges, self.scores = (), tuple(scores)
        self._take(vocabulary, normalization)
        pairs = [*zip(self.vocabulary, self.scores, strict=True)]
        self._backend = Backend(UnigramModel(pairs, PAD, True))
        self._backend.pre_tokenizer = self._split

    @classmethod
    def parse(cls, value: Any, path: Path | str) -> Self:
        """Return the tokenizer that a file describes. ValueError, which names it, if damaged."""
        try:
            entries = [(token, score) for token, score in value["model"]["vocab"]]
            vocabulary, scores = [token for token, _ in entries], [score for _, score in entries]
            normalization = Normalization.parse(value["normalizer"]["normalizers"])
            described = describe_layout(_describe(vocabulary, scores), normalization)
            if (
                starts_right(vocabulary)
                and value == described
                and len({*vocabulary}) == len(vocabulary)
                and all(type(score) is float and score <= 0 for score in scores)
            ):
                "".join(vocabulary).encode()  # fails on a lone surrogate
                return cls(vocabulary, scores, normalization)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        raise ValueError(f"{path}: not a tokenizer of glassformer, or a damaged one")

    def sample_word(self, word: str, rate: float, random: Random) -> list[int]:
        if not rate:
            return [each.id for each in self._backend.model.tokenize(word)]
        drawn = self._lattices.draw(word, rate, random)
        return [id for token in drawn for id in self._find(token)]

    def _renew(self, tags: Sequence[str], normalization: Normalization) -> Tokenizer:
        scores = [*self.scores, *([0.0] * len(tags))]
        return LearnedUnigram([*self.vocabulary, *tags], scores, normalization)

    @cached_property
    def _lattices(self) -> LatticeSampler:
        both = zip(self.vocabulary, self.scores, strict=True)
        known = [*both][FIRST_CHARACTER:]  # those that texts yield, and tags
        return LatticeSampler({token: score for token, score in known if token not in self.tags})

    def _find(self, token: str) -> list[int]:
        """Return the id of a token, or those of the bytes of a character that is none."""
        known = self._ids.get(token)
        return [FIRST_BYTE + byte for byte in token.encode()] if known is None else [known]

    def _layout(self) -> str:
        return render_layout(_describe(self.vocabulary, self.scores), self.normalization)


def _describe(vocabulary: Sequence[str], scores: Sequence[float]) -> dict[str, Any]:
    entries = [[token, score] for token, score in zip(vocabulary, scores, strict=True)]
    return {"type": "Unigram", "unk_id": PAD, "vocab": entries, "byte_fallback": True}
