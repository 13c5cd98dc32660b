"""Read and write short-lists of browsers, `lex.50.50.xxyy.s2t.bin`, which Marian calls lexical.

Six numbers of 8 bytes come first: a mark, a checksum, how many of the first target tokens any
sentence may have, how many each source token may have at most, and how many numbers of both lists
follow: where the candidates of each source token begin, and all candidates, 4 bytes each.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.config import EOS
from glassformer.foundation.disk import write_bytes

from .foreign import Row

MARK = 0xF11A48D5013417F5
WHOLE = (1 << 64) - 1  # the numbers of the checksum wrap here
HEAD = struct.Struct("<6Q")


def read_shortlist(
    path: Path, sources: Sequence[Row], targets: Sequence[Row], is_shared: bool
) -> list[NDArray[np.int64]]:
    """Return the candidates of each of our source ids, and last those of any sentence, ascending.

    sources, targets: their id of each of ours. is_shared: both sides have one vocabulary, so that a
    token may translate itself. ValueError if the file is damaged or another model's.
    """
    first, starts, ids = _read_lists(path)
    if len(starts) != 1 + sum(row is not None for row in {*sources}):
        raise ValueError(f"{path}: a short-list for {len(starts) - 1:,} source tokens")
    ours = {row: id for id, row in reversed(list(enumerate(targets))) if row is not None}
    if ids.size and int(ids.max()) not in ours:
        raise ValueError(f"{path}: token {int(ids.max())} is not in the vocabulary")
    to_ours = np.array([ours.get(row, 0) for row in range(1 + max(ours))])
    rows = []
    for id, row in enumerate(sources):
        result = to_ours[ids[starts[row] : starts[row + 1]]] if row is not None else to_ours[:0]
        rows.append(np.union1d(result, [id] if is_shared else []).astype(np.int64))
    return [*rows, np.unique(to_ours[:first])]


def _read_lists(path: Path) -> tuple[int, NDArray[Any], NDArray[Any]]:
    """Return how many tokens are always candidates, where each list begins, and all candidates."""
    file = path.read_bytes()
    try:
        mark, _, first, _, tokens, candidates = HEAD.unpack_from(file)
        starts = np.frombuffer(file, "<u8", tokens, HEAD.size).astype(np.int64)
        ids = np.frombuffer(file, "<u4", candidates, HEAD.size + starts.nbytes)
    except (struct.error, ValueError):
        raise ValueError(f"{path}: damaged, or no short-list of Marian") from None
    is_whole = len(starts) and (np.diff(starts) >= 0).all() and starts[-1] == len(ids)
    if mark != MARK or not is_whole:
        raise ValueError(f"{path}: damaged, or no short-list of Marian")
    return first, starts, ids


def write_lex(path: Path, rows: Sequence[NDArray[Any]]) -> None:
    """Write the candidates of each source id, the last row being those of any sentence.

    Marian's file can only say that the first ids are candidates of any sentence. So the common ones
    are written as translations of </s>, with which every source ends; of the first ids, only as
    many as </s> needs are always there.
    """
    *own, common = [np.asarray(row, np.int64) for row in rows]
    own[EOS] = np.union1d(own[EOS], common)
    starts = np.cumsum([0, *map(len, own)])
    head = (EOS + 1, max(map(len, own)), len(starts), int(starts[-1]))
    ids = np.concatenate(own).astype("<u4").tobytes()
    body = struct.pack("<4Q", *head) + starts.astype("<u8").tobytes() + ids
    write_bytes(path, struct.pack("<2Q", MARK, _sum_up(body)) + body)


def _sum_up(body: bytes) -> int:
    """Return Marian's checksum of the numbers of 8 bytes; what is over at the end is left out."""
    total = 0
    for (number,) in struct.iter_unpack("<Q", body[: len(body) // 8 * 8]):
        total ^= (number + 0x9E3779B9 + (total << 6 & WHOLE) + (total >> 2)) & WHOLE
    return total
