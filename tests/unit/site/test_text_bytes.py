"""Bytes as letters of a page, read by a plain loop."""

import gzip
import re

import numpy as np
import pytest

from glassformer.extensions.serve.text_bytes import LETTERS, pack_parts, spell_letters

RANDOM = np.random.default_rng(1).integers(0, 256, 5000, np.uint8).tobytes()


def read_letters(text: str) -> bytes:
    size, letters = text.split(" ")
    places = [LETTERS.index(letter.encode()) for letter in letters]
    bits = held = 0
    data = bytearray()
    for high, low in zip(places[::2], places[1::2], strict=True):
        held |= (high * len(LETTERS) + low) << bits
        bits += 13
        while bits >= 8:
            data.append(held & 255)
            held, bits = held >> 8, bits - 8
    return bytes(data[: int(size)])


@pytest.mark.parametrize("size", [0, 1, 12, 13, 14, 5000])
def test_letters_are_bytes(size: int) -> None:
    text = spell_letters(RANDOM[:size])
    assert read_letters(text) == RANDOM[:size]
    assert re.fullmatch(r"\d+ [!-;=-~]*", text)  # nothing that ends or begins an element
    assert len(text) <= 16 / 13 * size + 8


def test_parts_are_packed_together() -> None:
    words, numbers = b"A cat is a cat. " * 100, (np.frombuffer(RANDOM, np.uint8) % 15).tobytes()
    packed = pack_parts(words, numbers)
    assert gzip.decompress(packed) == words + numbers
    assert len(packed) < len(gzip.compress(words + numbers))
    assert gzip.decompress(pack_parts(words)) == words
