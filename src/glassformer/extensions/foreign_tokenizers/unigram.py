"""A tokenizer with a unigram language model (Kudo 2018), which segments as SentencePiece does."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Any, ClassVar, Self, cast

from glassformer.text.dropout import LatticeSampler
from glassformer.text.layout import CONTROLS, HEAD, spell_layout
from glassformer.text.tokenizer import Sampling

from .imported import BORDER, OUT_OF_REACH, UNKNOWN
from .normalizer_spec import NormalizerSpec
from .sentencepiece_tokenizer import (
    MARKS,
    SentencepieceTokenizer,
    describe_spaces,
    describe_spec,
    is_code,
    is_silent_tag,
    parse_spec,
)
from .viterbi import Viterbi

ADDED = ("single_word", "lstrip", "rstrip", "normalized")  # of an added token, all off


class Unigram(SentencepieceTokenizer):
    """A unigram tokenizer. Ids: pad 0, bos 1, eos 2, then tokens, "<unk>" one of them.

    A tag like "<2fr>", which no text yields, is added by callers.
    """

    sampling: ClassVar[Sampling] = "sampling_alpha"

    def __init__(
        self,
        vocabulary: Sequence[str],
        scores: Sequence[float | None],
        spec: NormalizerSpec | None = None,
        *,
        others: Mapping[str, float] | None = None,
        byte_fallback: bool = False,
    ) -> None:
        """Take the tokens in the order of their ids, their ln p, and the normaliser.

        A score of None means that no text yields the token. others: the ln p of tokens that texts
        yield, but that the network does not know. ValueError if the normaliser is damaged.
        """
        self.scores, self.others = tuple(scores), dict(others or {})
        self._silent = {vocabulary[id] for id in _list_silent(scores)}
        self._take_vocabulary(vocabulary, spec or NormalizerSpec(), byte_fallback)

    @classmethod
    def _parse(cls, fields: Mapping[str, Any]) -> Self:
        entries = fields["model"]["vocab"]
        tokens, values = [token for token, _ in entries], [score for _, score in entries]
        border = tokens.index(BORDER) if BORDER in tokens else len(tokens)
        vocabulary, scores = tokens[:border], list[float | None](values[:border])
        for id in _list_marked(vocabulary):
            token = vocabulary[id]
            if token[:1] == OUT_OF_REACH or is_code(token):
                vocabulary[id], scores[id] = token.removeprefix(OUT_OF_REACH), None
        others = dict(zip(tokens[border + 1 :], values[border + 1 :], strict=True))
        spec, byte_fallback = parse_spec(fields), fields["model"]["byte_fallback"]
        types = [{*map(type, each)} for each in (entries, tokens, values)]
        if (
            types != [{list}, {str}, {float}]
            or vocabulary[: len(CONTROLS)] != list(CONTROLS)
            or fields != _describe(entries, vocabulary, scores, spec, byte_fallback)
        ):
            raise ValueError
        return cls(vocabulary, scores, spec, others=others, byte_fallback=byte_fallback)

    def sample_word(self, word: str, rate: float, random: Random) -> list[int]:
        if word in self.tags:
            return [self.tags[word]]
        drawn = self._lattices.draw(word, rate, random) if rate else self._segment(word)
        return [id for token in self._fuse(drawn) for id in self._identify(token)]

    def _segment(self, text: str) -> list[str]:
        return self._viterbi.segment(text)

    def _is_tag(self, token: str) -> bool:
        return is_code(token) or (token in self._silent and is_silent_tag(token))

    def _is_known(self, token: str) -> bool:
        return token in self._known

    def _list_all(self) -> Iterable[str]:
        return self._known

    @cached_property
    def _known(self) -> dict[str, float]:
        """Return the ln p of each token that texts yield."""
        own = dict(zip(self.vocabulary, self.scores, strict=True))
        marked = {self.vocabulary[id] for id in _list_marked(self.vocabulary)}
        for token in self._silent | (marked - self._ids.keys()):
            del own[token]
        return cast(dict[str, float], own) | self.others  # only what is silent has no ln p

    @cached_property
    def _viterbi(self) -> Viterbi:
        return Viterbi(self._known, self.spec.user_defined_symbols)

    @cached_property
    def _lattices(self) -> LatticeSampler:
        return LatticeSampler(self._known)

    def _layout(self) -> str:
        pairs = [*zip(self.vocabulary, self.scores, strict=True)]
        if self.others:
            pairs += [(BORDER, 0.0), *self.others.items()]
        entries = [[*pair] for pair in pairs]
        return spell_layout(
            _describe(entries, self.vocabulary, self.scores, self.spec, self.byte_fallback)
        )


def _list_marked(vocabulary: Sequence[str]) -> list[int]:
    """Return the ids of tokens that begin as those do which are no text: few of many thousands."""
    return [id for id, token in enumerate(vocabulary) if token[:1] in MARKS]


def _list_silent(scores: Sequence[float | None]) -> list[int]:
    """Return the ids of the tokens that no text yields."""
    return [id for id, score in enumerate(scores) if score is None]


def _describe(
    entries: Sequence[Sequence[str | float | None]],
    vocabulary: Sequence[str],
    scores: Sequence[float | None],
    spec: NormalizerSpec,
    byte_fallback: bool,
) -> dict[str, Any]:
    """Return the content of the file, with the few entries replaced that are no text."""
    codes = [id for id in _list_marked(vocabulary) if is_code(vocabulary[id])]
    rows: list[Sequence[str | float | None]] = [*entries]
    for id in _list_silent(scores):
        rows[id] = [OUT_OF_REACH + vocabulary[id], 0.0]
    for id in codes:
        rows[id] = [vocabulary[id], 0.0]
    return {
        **HEAD,
        "added_tokens": [
            {"id": id, "content": vocabulary[id], "special": True, **dict.fromkeys(ADDED, False)}
            for id in codes
        ],
        **describe_spaces(spec, byte_fallback),
        "model": {
            "type": "Unigram",
            "unk_id": vocabulary.index(UNKNOWN),
            "vocab": rows,
            "byte_fallback": byte_fallback,
            **describe_spec(spec),
        },
    }
