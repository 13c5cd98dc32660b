"""Read the short-lists of browsers' models, `lex.50.50.xxyy.s2t.bin`, which Marian calls lexical.

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

from .foreign import Row

MARK = 0xF11A48D5013417F5
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
