"""Reading and writing tensors of PyTorch as safetensors, a tied weight only once."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor

from ...foundation.disk import write_bytes
from .weights_file import ALIASES, NOTES, Shapes, StoredTensor, WeightsFile


def save_tensors(
    path: Path,
    tensors: Mapping[str, Tensor],
    *,
    dtype: torch.dtype | None = None,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write tensors as safetensors; one that has several names is written once, with its aliases.

    `notes` and aliases share one metadata entry, since several would be written in any order.
    """
    first: dict[tuple[int, torch.Size], str] = {}
    aliases: dict[str, str] = {}
    unique: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        key = (tensor.data_ptr(), tensor.shape)
        if tensor.numel() and key in first:
            aliases[name] = first[key]
        else:
            first[key] = name
            unique[name] = tensor.detach().to("cpu", dtype).contiguous()
    noted = {NOTES: json.dumps({ALIASES: aliases, **notes})} if notes else {}
    write_bytes(path, save(unique, noted or {ALIASES: json.dumps(aliases)}))


def load_tensors(path: Path, shapes: Shapes | None = None) -> dict[str, Tensor]:
    """Return the tensors of a file by name, a tied one under each of its names.

    With `shapes`, ValueError unless names and shapes are exactly those; this is checked first.
    """
    file = WeightsFile(path)
    if shapes is not None:
        file.check_shapes(shapes)
    return _name_tensors(file, _copy)


def load_fp32(file: WeightsFile) -> dict[str, Tensor]:
    """Return the weights of an opened file in fp32, a tied one under each of its names."""
    return _name_tensors(file, lambda stored: torch.from_numpy(stored.to_fp32()))


def _name_tensors(file: WeightsFile, make: Callable[[StoredTensor], Tensor]) -> dict[str, Tensor]:
    tensors = {id(each): make(each) for each in file.stored.values()}
    file.release()
    return {name: tensors[id(each)] for name, each in file.tensors.items()}


def _copy(stored: StoredTensor) -> Tensor:
    if stored.scale is not None:
        return torch.from_numpy(stored.to_fp32())
    tensor = torch.from_numpy(np.array(stored.data))
    return tensor.view(torch.bfloat16) if stored.type == "BF16" else tensor


def store_tensors(tensors: Mapping[str, Tensor]) -> dict[str, StoredTensor]:
    """Return tensors as a file would have them in fp32; those in fp32 share their memory."""
    stored = dict[str, StoredTensor]()
    for name, each in tensors.items():
        values = each.detach().float().cpu().contiguous().numpy()
        stored[name] = StoredTensor("F32", values.shape, values.reshape(-1).view("u1").data)
    return stored
