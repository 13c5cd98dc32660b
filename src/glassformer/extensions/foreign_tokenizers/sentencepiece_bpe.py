"""SentencePiece's tokenizers of byte-pair encoding, of characters and of words.

They come with an imported model, whose vocabulary need not have all tokens that they make: the
others, which stand behind a space in tokenizer.json, are encoded as "<unk>".
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from random import Random
from typing import Any, ClassVar, Literal, Self

from glassformer.text.dropout import MOST_WORDS, merge
from glassformer.text.layout import CONTROLS, HEAD, spell_layout
from glassformer.text.tokenizer import Sampling

from .imported import BORDER, OUT_OF_REACH, UNKNOWN, Merges, list_others
from .normalizer_spec import NormalizerSpec
from .sentencepiece_tokenizer import (
    SentencepieceTokenizer,
    describe_spaces,
    describe_spec,
    is_silent_tag,
    parse_spec,
    split_at_spaces,
)

Kind = Literal["bpe", "word"]  # bpe without merges: characters


class SentencepieceBpe(SentencepieceTokenizer):
    """A tokenizer of SentencePiece without probabilities: byte pairs, characters or words.

    A tag is a token between < and >: no text yields it, callers add it.
    """

    sampling: ClassVar[Sampling] = "dropout"

    def __init__(
        self,
        vocabulary: Sequence[str],
        merges: Merges,
        spec: NormalizerSpec | None = None,
        *,
        others: Sequence[str] = (),
        byte_fallback: bool = False,
        kind: Kind = "bpe",
    ) -> None:
        """Take the tokens in the order of their ids, and the merges in the order of their ranks.

        Merges that follow each other and make the same token have the same rank. others: further
        tokens that texts yield, beside those that merges make.
        """
        self.pairs, self.kind = tuple(merges), kind
        self.others = list_others(vocabulary, merges, others)
        self._take_vocabulary(vocabulary, spec or NormalizerSpec(), byte_fallback)
        own = (token for token in self._ids if not token.startswith(OUT_OF_REACH))
        self._all = {token: id for id, token in enumerate([*own, *self.others])}
        self._segment_word = lru_cache(MOST_WORDS)(self._merge_word)

    @classmethod
    def _parse(cls, fields: Mapping[str, Any]) -> Self:
        model = fields["model"]
        ids: dict[str, int] = model["vocab"]
        tokens = sorted(ids, key=ids.__getitem__)
        border = tokens.index(BORDER)
        vocabulary, others = tokens[:border], tokens[border + 1 :]
        merges = [(left, right) for left, right in model.get("merges", ())]
        kind: Kind = "word" if model["type"] == "WordLevel" else "bpe"
        spec, byte_fallback = parse_spec(fields), model.get("byte_fallback", False)
        if vocabulary[: len(CONTROLS)] != list(CONTROLS) or fields != _describe(
            tokens, merges, spec, byte_fallback, kind
        ):
            raise ValueError
        return cls(vocabulary, merges, spec, others=others, byte_fallback=byte_fallback, kind=kind)

    def sample_word(self, word: str, rate: float, random: Random) -> list[int]:
        if word in self.tags:
            return [self.tags[word]]
        is_sampled = rate and self.kind == "bpe"
        cut = self._merge_word(word, rate, random) if is_sampled else self._segment(word)
        return [id for token in self._fuse(cut) for id in self._identify(token)]

    def _segment(self, text: str) -> Iterable[str]:
        if self.kind == "word":
            return split_at_spaces(text)
        return [token for word in self._split_words(text) for token in self._segment_word(word)]

    def _merge_word(
        self, word: str, rate: float = 0.0, random: Random | None = None
    ) -> tuple[str, ...]:
        """Return the tokens of a word. User-defined symbols are merged with nothing."""
        symbols, at = list[str](), 0
        while at < len(word):
            symbol = self.spec.find_symbol(word, at) or word[at]
            symbols.append(symbol)
            at += len(symbol)
        numbers = [self._all.get(symbol, len(self._all)) for symbol in symbols]
        tokens, at = list[str](), 0
        for number in merge(numbers, self._ranks, rate, random or Random(0)):
            end = at + (len(self._tokens[number]) if number < len(self._all) else 1)
            tokens.append(word[at:end])
            at = end
        return tuple(tokens)

    @cached_property
    def _tokens(self) -> list[str]:
        return [*self._all]

    @cached_property
    def _ranks(self) -> dict[tuple[int, int], tuple[int, int]]:
        ranks, rank, before = dict[tuple[int, int], tuple[int, int]](), 0, ""
        for left, right in self.pairs:
            rank += left + right != before
            before = left + right
            ranks[self._all[left], self._all[right]] = rank, self._all[before]
        return ranks

    def _split_words(self, normal: str) -> list[str]:
        return split_at_spaces(normal) if self.kind == "word" else super()._split_words(normal)

    def _is_tag(self, token: str) -> bool:
        return is_silent_tag(token) and token not in self.spec.user_defined_symbols

    def _is_known(self, token: str) -> bool:
        return token in self._all

    def _list_all(self) -> Iterable[str]:
        return self._all

    def _layout(self) -> str:
        tokens = (*self.vocabulary, BORDER, *self.others)
        described = _describe(tokens, self.pairs, self.spec, self.byte_fallback, self.kind)
        return spell_layout(described)


def _describe(
    tokens: Sequence[str], merges: Merges, spec: NormalizerSpec, byte_fallback: bool, kind: Kind
) -> dict[str, Any]:
    ids = {token: id for id, token in enumerate(tokens)}
    spaces = describe_spaces(spec, byte_fallback)
    model: dict[str, Any] = {"type": "WordLevel", "vocab": ids, "unk_token": UNKNOWN}
    if kind == "word":
        spaces["pre_tokenizer"]["split"] = True
        if byte_fallback:
            model["byte_fallback"] = True
    else:
        model |= {
            "type": "BPE",
            "dropout": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": byte_fallback,
            "ignore_merges": False,
            "merges": [list(pair) for pair in merges],
        }
    return {**HEAD, **spaces, "model": {**model, **describe_spec(spec)}}
