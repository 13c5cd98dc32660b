"""Int8 numbers as numbers of 4 bits and fewer: half of the size of a page, and a worse model.

Each 64 numbers of a row share a factor, in quarters, by which their numbers from -7 to 7 are
multiplied to come back near the int8 ones: of ten factors the one with the least squared error. In
tables of tokens the rows of rare ones are from -3 to 3. A page packs its bytes, so that each of
these numbers, stored as a byte, takes less than 4 bits of it. `web/src/data/tensor.ts` makes int8
of them again. Vectors are rounded as bf16 does, and stay in fp32: half of their bytes are zero.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.model.files.directory import Tokenizers
from glassformer.text import Tokenizer

GROUP = 64  # numbers of a row with one factor
LARGEST, RARE_LARGEST = 7, 3
QUARTERS = 4
INT8 = 127
TRIED = np.linspace(0.55, 1.0, 10)  # of the factor that reaches the largest number
FREQUENT = 8000  # tokens; the others are rare
FACTORS = "factors."  # begins the name of the factors of a matrix: they stand together in the file
TABLES = {"source_embedding.table.weight": 0, "target_embedding.table.weight": 1}
TABLES |= {"output_table.weight": 1}  # of the tokens of source and target


def shorten(stored: Mapping[str, NDArray[Any]], tokenizers: Tokenizers) -> dict[str, NDArray[Any]]:
    """Return the weights with their int8 matrices in 4 bits, and the factors of these."""
    results = dict[str, NDArray[Any]]()
    for name, each in stored.items():
        if each.dtype == np.int8:
            largest = np.full((len(each), 1, 1), LARGEST)
            if name in TABLES:
                largest[find_rare(tokenizers[TABLES[name]])] = RARE_LARGEST
            results[name], results[f"{FACTORS}{name}"] = _shorten(each, largest)
        else:
            results[name] = _round(each)
    return results


def find_rare(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Return for each token whether many are more frequent; those of BPE come in their order."""
    scores = getattr(tokenizer, "scores", None)
    usual = [0.0 if score is None else -score for score in scores or ()]
    order = np.argsort(usual or np.arange(len(tokenizer)), kind="stable")
    rare = np.zeros(len(tokenizer), bool)
    rare[order[FREQUENT:]] = True
    return rare


def _round(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the nearest numbers whose lower half is zero."""
    bits = numbers.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def _shorten(
    numbers: NDArray[np.int8], largest: NDArray[np.int64]
) -> tuple[NDArray[np.int8], NDArray[np.uint8]]:
    """Return the short numbers of a matrix, and the factors of each row.

    largest: of each row, the largest of these numbers, as (rows, 1, 1).
    """
    rows, width = numbers.shape
    padded = np.pad(numbers.astype(np.float32), ((0, 0), (0, -width % GROUP)))
    groups = padded.reshape(rows, -1, GROUP)
    whole = QUARTERS * np.abs(groups).max(axis=2, keepdims=True) / largest
    factors, short, least = whole, groups, np.full(whole.shape, np.inf)
    for part in TRIED:
        tried = np.clip(np.ceil(whole * part), QUARTERS, (QUARTERS * INT8 + 1) // largest)
        rounded = np.clip(np.rint(groups * QUARTERS / tried), -largest, largest)
        error = ((rounded * tried / QUARTERS - groups) ** 2).sum(axis=2, keepdims=True)
        better = error < least
        factors, least = np.where(better, tried, factors), np.where(better, error, least)
        short = np.where(better, rounded, short)
    flat = short.reshape(rows, -1)[:, :width].astype(np.int8)
    return flat, factors[:, :, 0].astype(np.uint8)
