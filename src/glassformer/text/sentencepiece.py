"""Read SentencePiece's models without SentencePiece, or as `tokenizers` has them."""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from ..typed_json import read_typed
from .imported_bpe import ImportedBpe
from .layout import FIRST_BYTE, FIRST_CHARACTER
from .learned_unigram import LearnedUnigram
from .normalization import Normalization
from .tokenizer import Tokenizer
from .unigram import SPACE, Unigram
from .unigram import UNKNOWN as UNKNOWN_TOKEN

# From sentencepiece_model.proto: the types of a model, the types of a token, and field numbers.
UNIGRAM, BPE = 1, 2
NORMAL, UNKNOWN, CONTROL, UNUSED, BYTE = 1, 2, 3, 5, 6
PIECES, TRAINER, NORMALIZER = 1, 2, 3

Value = int | bytes


@dataclass(frozen=True)
class Sentencepiece:
    """A model of SentencePiece: its tokens with ln p or, of BPE, a rank, and a normaliser.

    `merges`, if the model is BPE: pairs of tokens, those that are joined first before others.
    """

    scores: Mapping[str, float]
    charsmap: bytes
    merges: Sequence[tuple[str, str]] | None = None

    @classmethod
    def read(cls, path: Path) -> Sentencepiece:
        """Read a file, also a tokenizer.json of `tokenizers` that was made of one.

        Raises ValueError if it is damaged, or no unigram or BPE model that we support.
        """
        try:
            if path.suffix == ".json":
                return cls(*_read_json_model(read_typed(path, dict[str, Any])))
            return cls(*_parse(path.read_bytes()))
        except (struct.error, IndexError, KeyError, UnicodeDecodeError, TypeError, AttributeError):
            raise ValueError(f"{path}: damaged, or no SentencePiece model") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def to_tokenizer(self, vocabulary: Sequence[str]) -> Unigram:
        """Return a tokenizer with the ids of a network; `vocabulary` is in their order.

        A token that only the file has becomes unknown; one that only the vocabulary has never
        results from a text.
        """
        if self.merges is not None:
            return ImportedBpe(
                vocabulary, self.merges, "sentencepiece", self.charsmap, tuple(self.scores)
            )
        scores = [self.scores.get(token) for token in vocabulary]
        return Unigram(vocabulary, scores, self.charsmap)


def write_sentencepiece(tokenizer: Tokenizer, path: Path) -> None:
    """Write a tokenizer as a model of SentencePiece, with the same ids.

    A BPE of ours becomes one with bytes for what it does not know. It joins what makes the token of
    the highest rank, by whichever pair, so that in rare words its tokens are others. ValueError
    for a tokenizer that has no such form.
    """
    names = [name.replace(" ", SPACE) for name in tokenizer.vocabulary]
    if len(set(names)) != len(names):
        raise ValueError(f"two tokens differ only in a space and {SPACE}")
    if tokenizer.normalization._replace(characters=None) != Normalization():
        raise ValueError(
            "its tokens are of text after nfkc, punctuation or lowercase, which a model of "
            "SentencePiece is not given"
        )
    charsmap, is_unigram = b"", isinstance(tokenizer, Unigram | LearnedUnigram)
    if isinstance(tokenizer, Unigram):
        if not tokenizer.scores:
            raise ValueError("its tokens were made by BPE codes, which SentencePiece does not have")
        charsmap = tokenizer.charsmap
        scores = [0.0 if score is None else score for score in tokenizer.scores]
        kinds = [UNUSED if score is None else NORMAL for score in tokenizer.scores]
    else:
        scores = [-float(id) for id in range(len(names))]
        if isinstance(tokenizer, LearnedUnigram):
            scores = [*tokenizer.scores]
        kinds = [NORMAL] * len(names)
        kinds[FIRST_BYTE:FIRST_CHARACTER] = [BYTE] * 256
    kinds[:FIRST_BYTE] = [CONTROL] * FIRST_BYTE
    unknown = UNKNOWN_TOKEN in names
    if unknown:
        kinds[names.index(UNKNOWN_TOKEN)] = UNKNOWN
    else:  # SentencePiece must have one
        names, scores, kinds = [*names, UNKNOWN_TOKEN], [*scores, 0.0], [*kinds, UNKNOWN]
    entries = zip(names, scores, kinds, strict=True)
    tokens = b"".join(
        _field(PIECES, _field(1, name.encode()) + _float(2, score) + _field(3, kind))
        for name, score, kind in entries
    )
    trainer = _field(3, UNIGRAM if is_unigram else BPE) + _field(4, len(names))
    trainer += _field(35, int(BYTE in kinds))  # byte_fallback
    trainer += b"".join(_field(40 + place, id) for place, id in enumerate(_find_ids(names)))
    normalizer = _field(1, b"identity") + _field(2, charsmap) + _field(3, 1)
    normalizer += _field(4, int(isinstance(tokenizer, Unigram))) + _field(5, 1)
    path.write_bytes(tokens + _field(TRAINER, trainer) + _field(NORMALIZER, normalizer))


def _find_ids(names: Sequence[str]) -> list[int]:
    """Return the ids of unknown, begin, end and padding."""
    return [names.index(name) for name in (UNKNOWN_TOKEN, "<s>", "</s>", "<pad>")]


def _field(number: int, value: Value) -> bytes:
    """Return a field in Protocol Buffers' wire format."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _float(number: int, value: float) -> bytes:
    return _varint(number << 3 | 5) + struct.pack("<f", value)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _read_json_model(
    found: Mapping[str, Any],
) -> tuple[dict[str, float], bytes, list[tuple[str, str]] | None]:
    """Return what the tokenizer.json of a model has of SentencePiece's file."""
    model, charsmap = found["model"], b""
    for each in (found["normalizer"] or {}).get("normalizers", [found["normalizer"] or {}]):
        charsmap = b64decode(each.get("precompiled_charsmap") or charsmap)
    if model["type"] == "Unigram" and not model.get("byte_fallback"):
        return {token: score for token, score in model["vocab"]}, charsmap, None
    if model["type"] != "BPE" or model.get("byte_fallback") or "Metaspace" not in str(found):
        raise ValueError("no tokens as SentencePiece makes them, or some are bytes")
    merges = [tuple(m.split(" ") if isinstance(m, str) else m) for m in model["merges"]]
    return dict.fromkeys(model["vocab"], 0.0), charsmap, merges


def _list_merges(scores: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return each pair of tokens that makes a third, ordered as SentencePiece joins them.

    It joins the neighbours that make the token of the highest score, the leftmost first.
    """
    pairs = [
        (-score, token[:cut], token[cut:])
        for token, score in scores.items()
        for cut in range(1, len(token))
        if token[:cut] in scores and token[cut:] in scores
    ]
    return [(left, right) for _, left, right in sorted(pairs, key=itemgetter(0))]


def _parse(
    message: bytes,
) -> tuple[dict[str, float], bytes, list[tuple[str, str]] | None]:
    fields = list(_fields(message))
    trainer, normalizer = (
        dict(_fields(b"".join(_bytes(value) for field, value in fields if field == number)))
        for number in (TRAINER, NORMALIZER)
    )
    if trainer.get(3, UNIGRAM) not in (UNIGRAM, BPE):
        raise ValueError("a model of words or characters; only unigram and BPE ones can be read")
    if any(normalizer.get(flag, 1) != 1 for flag in (3, 4, 5)):
        raise ValueError("its normaliser keeps spaces as they are, which is not supported")
    scores = {}
    for token in (dict(_fields(_bytes(value))) for field, value in fields if field == PIECES):
        kind, text = token.get(3, NORMAL), _bytes(token[1]).decode()
        if kind == NORMAL:
            (scores[text],) = struct.unpack("<f", _bytes(token.get(2, bytes(4))))
        elif kind not in (UNKNOWN, CONTROL, UNUSED):
            raise ValueError(f"token {text!r} is user-defined or a byte, which is not supported")
    if not scores:
        raise ValueError("damaged, or no SentencePiece model")
    merges = _list_merges(scores) if trainer.get(3) == BPE else None
    return scores, _bytes(normalizer.get(2, b"")), merges


def _bytes(value: Value) -> bytes:
    if isinstance(value, int):
        raise TypeError("a number where bytes belong")
    return value


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yield number and value of each field of a message in Protocol Buffers' wire format."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value

    while at < len(message):
        field, wire = divmod(varint(), 8)
        if wire == 0:
            yield field, varint()
            continue
        size = {1: 8, 5: 4}.get(wire)
        if size is None and wire != 2:
            raise IndexError(wire)
        size = varint() if size is None else size
        if at + size > len(message):
            raise IndexError(size)
        yield field, message[at : at + size]
        at += size
