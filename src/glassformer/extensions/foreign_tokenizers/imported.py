"""The common part of the tokenizers of other toolkits, which come with an imported model.

Unlike ours they are not lossless: decoding returns the text as their normaliser changed it, and
characters without a token become "<unk>".
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from glassformer.foundation.validation_errors import check_list
from glassformer.text.normalization import PLAIN, Normalization
from glassformer.text.tokenizer import Tokenizer, Tokens
from glassformer.text.unicode import Span, replace_surrogates

UNKNOWN = "<unk>"
OUT_OF_REACH = " "  # before a token that no text yields: segmented text has no spaces
BORDER = OUT_OF_REACH  # a token that no text yields, between the vocabulary and what it has not

Merges = Sequence[tuple[str, str]]


class ImportedTokenizer(Tokenizer):
    """A tokenizer of another toolkit. Ids: pad 0, bos 1, eos 2, then tokens, "<unk>" one of them.

    Tags are tokens that no text yields: callers add them.
    """

    normalization = PLAIN
    has_character_map: ClassVar[bool] = False
    _unknown: int

    @classmethod
    def parse(cls, value: Any, path: Path | str) -> Self:
        """Return the tokenizer that a file describes. ValueError for what `save` does not write."""
        try:
            return cls._parse(value)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            raise ValueError(f"{path}: not a tokenizer of glassformer, or a damaged one") from None

    @classmethod
    @abstractmethod
    def _parse(cls, fields: Mapping[str, Any]) -> Self:
        """Return the tokenizer that a file describes."""

    @abstractmethod
    def _cut(self, text: str) -> Iterable[tuple[int, Span]]:
        """Yield the id of each token, and its span; spans are in order and may leave gaps."""

    def with_tags(self, tags: Sequence[str]) -> Tokenizer:
        """Raise ValueError for a tag that is not in the vocabulary: it cannot grow."""
        self.find_tags(tags)
        return self

    def with_normalization(self, normalization: Normalization) -> Tokenizer:
        """Raise ValueError for any: this tokenizer has a normaliser of its own."""
        if normalization != PLAIN:
            raise ValueError("tokens of another toolkit take the text as it is: no nfkc, lowercase")
        return self

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        check_list("texts", texts)
        return [[id for id, _ in self._cut(replace_surrogates(text))] for text in texts]

    def encode_inside(self, text: str) -> list[int]:
        """Return the ids of a text as it stands inside another: here as anywhere."""
        return self.encode(text)

    def tokens(self, text: str) -> Tokens:
        """Return the tokens of a text, with the span of the text that each comes from."""
        both = [*self._cut(replace_surrogates(text))]
        ids = tuple(id for id, _ in both)
        texts = tuple(self.vocabulary[id] for id in ids)
        return Tokens(ids, texts, tuple(_cover((span for _, span in both), len(text))))

    def spell(self, text: str) -> str:
        return self.decode(self.encode(text))

    def find_unknown(self, text: str) -> list[str]:
        """Return the parts of a text that are encoded as "<unk>", each once."""
        result = self.tokens(text)
        unknown = (
            text[start:end].strip()
            for id, (start, end) in zip(result.ids, result.spans, strict=True)
            if id == self._unknown
        )
        return list(dict.fromkeys(filter(None, unknown)))


def list_others(
    vocabulary: Sequence[str], merges: Merges, others: Sequence[str]
) -> tuple[str, ...]:
    """Return the tokens that texts yield and the vocabulary has not: `others`, and of merges."""
    known = {*vocabulary, BORDER}
    parts = (part for left, right in merges for part in (left, right, left + right))
    return tuple(dict.fromkeys(x for x in (*others, *parts) if x not in known))


def _cover(offsets: Iterable[Span], length: int) -> Iterator[Span]:
    """Yield spans without gaps: characters that the normaliser removed join the next token."""
    result = list(offsets)
    end = 0
    for place, (start, stop) in enumerate(result):
        start, end = min(start, end), max(stop, end)
        yield start, length if place == len(result) - 1 else end
