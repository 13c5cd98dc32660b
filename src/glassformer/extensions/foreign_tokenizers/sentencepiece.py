"""Read SentencePiece's models without SentencePiece, or as `tokenizers` has them."""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from glassformer.foundation.typed_json import read_typed
from glassformer.text.layout import BYTES

from .normalizer_spec import NormalizerSpec
from .sentencepiece_bpe import SentencepieceBpe
from .unigram import Unigram
from .wire import Value, read_fields, take_bytes

# From sentencepiece_model.proto: the types of a model, the types of a token, and field numbers.
UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
TOKENS, TRAINER, NORMALIZER, SELF_TEST, DENORMALIZER = 1, 2, 3, 4, 5
MODEL_TYPE, SUFFIX, BYTE_FALLBACK, EOS_PIECE = 3, 24, 35, 47
CHARSMAP, DUMMY_PREFIX, EXTRA_SPACES, ESCAPES = 2, 3, 4, 5

LARGEST = 256 * 2**20  # bytes of a file: the largest known model has 5 MB
LONGEST_TOKEN = 4096  # characters


class ModelToken(NamedTuple):
    """A token of a model: ln p or, of BPE, a rank; and one of the types above."""

    text: str
    score: float
    type: int


@dataclass(frozen=True)
class Sentencepiece:
    """A model of SentencePiece: its tokens in the order of their ids, and a normaliser.

    `pairs`, if they are not those that the scores of a BPE model give: pairs of tokens, those that
    are joined first before others.
    """

    model_type: int
    tokens: Sequence[ModelToken]
    spec: NormalizerSpec
    byte_fallback: bool = False
    eos: str = "</s>"
    pairs: Sequence[tuple[str, str]] | None = None

    @classmethod
    def read(cls, path: Path) -> Sentencepiece:
        """Read a file, also a tokenizer.json of `tokenizers` that was made of one.

        Raises ValueError if it is damaged, or no model that we support.
        """
        try:
            if path.suffix == ".json":
                return _read_json_model(read_typed(path, dict[str, Any]))
            if path.stat().st_size > LARGEST:
                raise ValueError(f"larger than {LARGEST // 2**20} MiB: no SentencePiece model")
            return _parse(path.read_bytes())
        except (struct.error, IndexError, KeyError, UnicodeDecodeError, TypeError, AttributeError):
            raise ValueError(f"{path}: damaged, or no SentencePiece model") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @cached_property
    def scores(self) -> dict[str, float]:
        """Return the score of each token that texts yield, bytes too, in the order of ids."""
        normal = [piece.score for piece in self.tokens if piece.type == NORMAL]
        best = max(normal, default=0.0)
        scores: dict[str, float] = {}
        for text, score, type_ in self.tokens:
            if type_ == USER_DEFINED:  # as SentencePiece prefers them to other ways
                score = len(text.encode()) * best - 0.1
            if type_ in (NORMAL, USER_DEFINED) or (type_ == BYTE and self.byte_fallback):
                scores[text] = score
        return scores

    def find_eos(self) -> int | None:
        """Return the id of the end mark, None if the model has none."""
        ids = (id for id, x in enumerate(self.tokens) if (x.type, x.text) == (CONTROL, self.eos))
        return next(ids, None)

    def find_unknown(self) -> int | None:
        """Return the id of what stands for characters without a token, None without one."""
        return next((id for id, x in enumerate(self.tokens) if x.type == UNKNOWN), None)

    def to_tokenizer(self, vocabulary: Sequence[str]) -> Unigram | SentencepieceBpe:
        """Return a tokenizer with the ids of a network; `vocabulary` is in their order.

        A token that only the file has becomes unknown; one that only the vocabulary has never
        results from a text.
        """
        own = {*vocabulary}
        bytes_ = {*BYTES} if self.byte_fallback else set[str]()
        texts = {token: score for token, score in self.scores.items() if token not in bytes_}
        others = {token: score for token, score in texts.items() if token not in own}
        if self.model_type == UNIGRAM:
            scores = [texts.get(token) for token in vocabulary]
            return Unigram(
                vocabulary, scores, self.spec, others=others, byte_fallback=self.byte_fallback
            )
        merges: Sequence[tuple[str, str]] = ()
        if self.model_type == BPE:
            merges = self._list_merges() if self.pairs is None else self.pairs
        return SentencepieceBpe(
            vocabulary,
            merges,
            self.spec,
            others=tuple(others),
            byte_fallback=self.byte_fallback,
            kind="word" if self.model_type == WORD else "bpe",
        )

    def _list_merges(self) -> list[tuple[str, str]]:
        """Return each pair of tokens that makes a third, ordered as SentencePiece joins them.

        It joins the neighbours that make the token of the highest score, the leftmost first.
        """
        scores = {piece.text: piece.score for piece in self.tokens if piece.type == NORMAL}
        pairs = [
            (-score, token[:cut], token[cut:])
            for token, score in scores.items()
            for cut in range(1, len(token))
            if token[:cut] in scores and token[cut:] in scores
        ]
        return [(left, right) for _, left, right in sorted(pairs, key=itemgetter(0))]


def _read_json_model(fields: Mapping[str, Any]) -> Sentencepiece:
    """Return what the tokenizer.json of a model has of SentencePiece's file."""
    model, charsmap = fields["model"], b""
    for each in (fields["normalizer"] or {}).get("normalizers", [fields["normalizer"] or {}]):
        charsmap = b64decode(each.get("precompiled_charsmap") or charsmap)
    byte_fallback = bool(model.get("byte_fallback"))

    def make(scores: Mapping[str, float]) -> list[ModelToken]:
        types = dict.fromkeys(BYTES, BYTE) if byte_fallback else {}
        return [ModelToken(text, score, types.get(text, NORMAL)) for text, score in scores.items()]

    spec = NormalizerSpec(charsmap)
    if model["type"] == "Unigram":
        return Sentencepiece(UNIGRAM, make(dict(model["vocab"])), spec, byte_fallback)
    if model["type"] != "BPE" or "Metaspace" not in str(fields):
        raise ValueError("no tokens as SentencePiece makes them")
    pairs = [tuple(m.split(" ") if isinstance(m, str) else m) for m in model["merges"]]
    pieces = make(dict.fromkeys(model["vocab"], 0.0))
    return Sentencepiece(BPE, pieces, spec, byte_fallback, pairs=pairs)


def _parse(message: bytes) -> Sentencepiece:
    fields = [*read_fields(message)]
    trainer, normalizer, denormalizer = (
        dict(read_fields(b"".join(take_bytes(value) for field, value in fields if field == name)))
        for name in (TRAINER, NORMALIZER, DENORMALIZER)
    )
    model_type = int(trainer.get(MODEL_TYPE, UNIGRAM))
    if model_type not in (UNIGRAM, BPE, WORD, CHAR):
        raise ValueError(f"a model of type {model_type}; known are unigram, bpe, word and char")
    if normalizer.get(ESCAPES, 1) != 1 or take_bytes(denormalizer.get(CHARSMAP, b"")):
        raise ValueError("it keeps spaces as they are, or changes what it decodes: not supported")
    pieces = [_parse_piece(take_bytes(value)) for field, value in fields if field == TOKENS]
    if not any(piece.type == NORMAL for piece in pieces):
        raise ValueError("damaged, or no SentencePiece model")
    if model_type == BPE and any(piece.type == UNUSED for piece in pieces):
        raise ValueError("a BPE model with unused tokens, which is not supported")
    spec = NormalizerSpec(
        take_bytes(normalizer.get(CHARSMAP, b"")),
        add_dummy_prefix=bool(normalizer.get(DUMMY_PREFIX, 1)),
        remove_extra_whitespaces=bool(normalizer.get(EXTRA_SPACES, 1)),
        treat_whitespace_as_suffix=bool(trainer.get(SUFFIX, 0)),
        user_defined_symbols=tuple(x.text for x in pieces if x.type == USER_DEFINED),
    )
    eos = take_bytes(trainer.get(EOS_PIECE, b"</s>")).decode()
    return Sentencepiece(model_type, pieces, spec, bool(trainer.get(BYTE_FALLBACK, 0)), eos)


def _parse_piece(message: bytes) -> ModelToken:
    entry = dict[int, Value](read_fields(message))
    text = take_bytes(entry[1]).decode()
    if len(text) > LONGEST_TOKEN:
        raise ValueError(f"a token of {len(text):,} characters: damaged, or no SentencePiece model")
    (score,) = struct.unpack("<f", take_bytes(entry.get(2, bytes(4))))
    return ModelToken(text, score, int(entry.get(3, NORMAL)))
