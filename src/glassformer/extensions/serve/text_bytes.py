"""Bytes as letters of a page: packed, then 13 bits in two letters, where base64 has 12.

`web/src/data/letters.ts` reads them.
"""

import struct
import zlib

import numpy as np

BITS = 13  # in two letters
LETTERS = bytes(code for code in range(33, 127) if code != ord("<"))  # no tag can begin
HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"  # of a gzip file without name and date
RAW = -15  # asks zlib for a window of 32 KiB, without a head


def pack_parts(words: bytes, numbers: bytes = b"") -> bytes:
    """Return gzip of both, one after the other.

    In `words` repetitions are looked for. `numbers` hardly repeat: looking for it would cost a
    thirtieth of the size.
    """
    parts = [(words, zlib.Z_DEFAULT_STRATEGY, zlib.Z_FULL_FLUSH)]
    parts.append((numbers, zlib.Z_HUFFMAN_ONLY, zlib.Z_FINISH))
    packed = HEAD
    for data, strategy, end in parts:
        deflate = zlib.compressobj(9, zlib.DEFLATED, RAW, 9, strategy)
        packed += deflate.compress(data) + deflate.flush(end)
    whole = words + numbers
    return packed + struct.pack("<II", zlib.crc32(whole), len(whole) & 0xFFFFFFFF)


def spell_letters(data: bytes) -> str:
    """Return how many bytes these are, a space, and two letters for each 13 bits of them."""
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    groups = np.pad(bits, (0, -len(bits) % BITS)).reshape(-1, BITS)
    numbers = groups @ (1 << np.arange(BITS))
    letters = np.frombuffer(LETTERS, np.uint8)
    pairs = np.stack([letters[numbers // len(LETTERS)], letters[numbers % len(LETTERS)]], axis=1)
    return f"{len(data)} {pairs.tobytes().decode('ascii')}"
