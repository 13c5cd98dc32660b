"""Weights in int8: a quarter of the size of fp32.

A matrix is stored as int8 numbers, and beside it, under its name and `.scale`, one fp32 number for
each row: the largest weight of the row, divided by 127. Vectors stay in fp32.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from glassformer.foundation.disk import write_bytes
from glassformer.model.files.weights_file import ALIASES, NOTES, SCALE, WeightsFile

LARGEST = 127


def quantize(
    weights: NDArray[np.float32], step: float | None = None
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return the rows of a matrix as int8 numbers, and the scale of each row.

    step: that scale, for weights that are its multiples, up to 127 times.
    """
    largest = np.abs(weights).max(axis=1)
    scale = np.where(largest > 0, largest / np.float32(LARGEST), np.float32(1))
    if step is not None:
        scale = np.full(len(weights), step, np.float32)
    return np.rint(weights / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def quantize_file(
    file: WeightsFile, steps: Mapping[str, float] | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return the weights of an opened file in int8, each once, and the names that share one.

    steps: those that are multiples of a step, with it; then all others stay as they are. What is
    int8 in the file stays the same numbers.
    """
    tensors = dict[str, NDArray[Any]]()
    for name, each in file.stored.items():
        if each.scale is not None and steps is None:
            tensors[name], tensors[f"{name}{SCALE}"] = each.data, each.scale.data
            continue
        weights = each.to_fp32()
        if weights.ndim == 2 and weights.size and (steps is None or name in steps):
            numbers = quantize(weights, steps[name] if steps else None)
            tensors[name], tensors[f"{name}{SCALE}"] = numbers
        else:
            tensors[name] = weights
    first = {id(each): name for name, each in file.stored.items()}
    aliases = {
        name: first[id(each)] for name, each in file.tensors.items() if name not in file.stored
    }
    return tensors, aliases


def save_int8(file: WeightsFile, path: Path, steps: Mapping[str, float] | None = None) -> None:
    """Write the weights of an opened file in int8, with the same notes; a tied one only once.

    steps: see `quantize_file`.
    """
    tensors, aliases = quantize_file(file, steps)
    write_bytes(path, save(tensors, {NOTES: json.dumps({**file.notes, ALIASES: aliases})}))
