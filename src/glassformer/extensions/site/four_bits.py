"""Int8 numbers as numbers of 4 bits: half of the size of a page, and a worse model.

Each 32 numbers of a row share a factor, in quarters, by which their numbers from -7 to 7 are
multiplied to come back near the int8 ones. A page packs its bytes, so that each of these numbers,
stored as a byte, takes less than 4 bits of it. `web/src/data/tensor.ts` makes int8 of them again.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

GROUP = 32  # numbers of a row with one factor
LARGEST = 7
QUARTERS = 4
LARGEST_FACTOR = 72  # in quarters: 7 times it is no more than int8 has
FACTORS = ".factors"  # ends the name of the factors of a matrix


def shorten(stored: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the weights with their int8 matrices in 4 bits, and the factors of these."""
    results = dict[str, NDArray[Any]]()
    for name, each in stored.items():
        if each.dtype == np.int8:
            results[name], results[f"{name}{FACTORS}"] = _shorten(each)
        else:
            results[name] = each
    return results


def _shorten(numbers: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the numbers from -7 to 7 of a matrix, and the factors of each row."""
    rows, width = numbers.shape
    padded = np.pad(numbers.astype(np.int32), ((0, 0), (0, -width % GROUP)))
    groups = padded.reshape(rows, -1, GROUP)
    largest = np.abs(groups).max(axis=2, keepdims=True)
    factors = np.clip(-(-QUARTERS * largest // LARGEST), QUARTERS, LARGEST_FACTOR)
    short = np.rint(groups * QUARTERS / factors).astype(np.int8)
    return short.reshape(rows, -1)[:, :width].copy(), factors[:, :, 0].astype(np.int8)
