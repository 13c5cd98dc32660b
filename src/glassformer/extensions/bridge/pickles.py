"""Read the pickles of other toolkits as data: nothing that stands in one is ever run."""

import argparse
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .other_folders import is_pointer, tell_pointer

# What settings and counters are kept in beside tensors; making one of these runs nothing else.
_SCALAR = np.float64(0).__reduce__()[0]  # what makes a number of NumPy
HARMLESS: list[Any] = [
    argparse.Namespace,
    np.dtype,
    *((_SCALAR, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")),
    *(type(np.dtype(kind)) for kind in ("f4", "f8", "i4", "i8")),
]


def read_pickle(path: Path) -> dict[str, Any]:
    """Return the content of a file of `torch.save`: tensors, numbers, texts and settings.

    ValueError for anything else: a pickle can name any function to be run.
    """
    if is_pointer(path):
        raise ValueError(tell_pointer(path))
    try:
        with torch.serialization.safe_globals(HARMLESS), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of protocols that are refused anyway
            result = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a file that is no pickle may raise anything
        if named := re.search(r"GLOBAL ([\w.]+)", str(error)):
            raise ValueError(
                f"{path}: damaged, or more than weights: it asks to run {named[1]}, which nothing "
                "here does: a pickle from elsewhere could run anything. If you trust it, load it "
                "with its own toolkit, and save its weights and settings alone"
            ) from None
        raise ValueError(f"{path}: damaged, or more than weights: {_find_reason(error)}") from None
    if not isinstance(result, dict):
        raise ValueError(f"{path}: not weights by their names")
    return result


def _find_reason(error: Exception) -> str:
    """Return why a pickle was refused, without PyTorch's advice to run whatever it asks for."""
    message = str(error)
    if inner := re.search(r"WeightsUnpickler error:\s*([^\n]+)", message):
        return inner[1].strip()
    first = message.split("\n")[0]
    return first if first and "weights_only" not in message else "PyTorch cannot read it as weights"


def unwrap_settings(value: object) -> dict[str, Any]:
    """Return settings as a dict, which a checkpoint may have as the attributes of an object."""
    if isinstance(value, argparse.Namespace):
        return vars(value)
    return dict(value) if isinstance(value, dict) else {}


def check_weights(path: Path, value: object) -> dict[str, torch.Tensor]:
    """Return weights by name. ValueError if it is anything else."""
    if not isinstance(value, dict) or not all(isinstance(x, torch.Tensor) for x in value.values()):
        raise ValueError(f"{path}: not weights by their names")
    return value
