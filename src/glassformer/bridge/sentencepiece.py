"""Read SentencePiece's .spm files without SentencePiece."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..text.unigram import Unigram

# From sentencepiece_model.proto: the types of a model, the types of a token, and field numbers.
UNIGRAM = 1
NORMAL, UNKNOWN, CONTROL, UNUSED = 1, 2, 3, 5
PIECES, TRAINER, NORMALIZER = 1, 2, 3

Value = int | bytes


@dataclass(frozen=True)
class Sentencepiece:
    """A unigram model of SentencePiece: ln p of each token, and a compiled normaliser."""

    scores: Mapping[str, float]
    charsmap: bytes

    @classmethod
    def read(cls, path: Path) -> Sentencepiece:
        """Read a file. Raises ValueError if it is damaged, or no unigram model that we support."""
        try:
            return cls(*_parse(path.read_bytes()))
        except (struct.error, IndexError, KeyError, UnicodeDecodeError, TypeError):
            raise ValueError(f"{path}: damaged, or no SentencePiece model") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def to_tokenizer(self, vocabulary: Sequence[str]) -> Unigram:
        """Return a tokenizer with the ids of a network; `vocabulary` is in their order.

        A token that only the file has becomes unknown; one that only the vocabulary has never
        results from a text.
        """
        scores = [self.scores.get(token) for token in vocabulary]
        return Unigram(vocabulary, scores, self.charsmap)


def _parse(message: bytes) -> tuple[dict[str, float], bytes]:
    fields = list(_fields(message))
    trainer, normalizer = (
        dict(_fields(b"".join(_bytes(value) for field, value in fields if field == number)))
        for number in (TRAINER, NORMALIZER)
    )
    if trainer.get(3, UNIGRAM) != UNIGRAM:
        raise ValueError("a byte-pair model of SentencePiece; only its unigram models can be read")
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
    return scores, _bytes(normalizer.get(2, b""))


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
