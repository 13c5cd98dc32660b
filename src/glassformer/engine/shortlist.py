"""The short-list of a model: the likely translations of each source token, for the engine in C.

The file has two tensors of int32. Row i of the table, ids[starts[i]] to ids[starts[i + 1] - 1], has
the likely translations of source token i; the row after the last has the tokens that are common in
any sentence. This module does not import NumPy.
"""

from __future__ import annotations

import ctypes
from array import array
from pathlib import Path

from ..foundation.shared_library import load_library
from ..foundation.typed_json import check_type
from ..model.files.weights_file import StoredTensor, WeightsFile
from .native_structs import ShortlistStruct

STARTS, IDS = "starts", "ids"
ORIGIN, TAGS = "tokenizer", "tags"  # the keys of notes: whose ids these are; before each source
ADVICE = "make one with glassformer shortlist"


class Shortlist:
    """A short-list, opened and checked: every row lies in the table, every id in the vocabulary."""

    def __init__(self, path: Path, vocabularies: tuple[int, int], origin: str | None = None):
        """Open the file. ValueError, in one sentence, if it is damaged, or another model's.

        vocabularies: the sizes of the source's and of the target's. origin: the digest of the
        model's tokenizers, if it is known.
        """
        if not path.is_file():
            raise ValueError(f"{path.parent} has no short-list: {ADVICE}")
        self._file = WeightsFile(path, in_memory=True)
        starts, ids = self._file[STARTS], self._file[IDS]
        source, target = vocabularies
        if any(each.type != "I32" or len(each.shape) != 1 for each in (starts, ids)):
            raise ValueError(f"{path}: no short-list of whole numbers")
        notes = self._file.notes
        if starts.shape[0] != source + 2 or (origin and notes.get(ORIGIN) not in (None, origin)):
            raise ValueError(f"{path}: the short-list of another model: {ADVICE}")
        self.tags = check_type(notes.get(TAGS, []), list[int], f"{path}: {TAGS}")
        rows = array("i", bytes(starts.buffer))
        if rows[0] != 0 or rows[-1] != ids.shape[0] or list(rows) != sorted(rows):
            raise ValueError(f"{path}: damaged: its rows do not follow one another")
        if not _are_within(ids, target):
            raise ValueError(f"{path}: a short-list with tokens that the model does not have")
        self.common = rows[-1] - rows[-2]
        self.struct = ShortlistStruct(starts.address, ids.address, source)


def _are_within(ids: StoredTensor, end: int) -> bool:
    """Return whether all ids are from 0 to below `end`, by C if it is there."""
    if library := load_library("engine"):
        size = ctypes.c_int64(ids.shape[0])
        return bool(library.are_ids_within(ctypes.c_void_p(ids.address), size, end))
    numbers = ids.buffer.cast("B").cast("i")
    return not numbers or 0 <= min(numbers) <= max(numbers) < end
