"""The precision of the work at hand: fp32, or bf16 where autocast says so."""

import torch
from torch import Tensor


def working_dtype(x: Tensor) -> torch.dtype:
    """What a matrix product of `x` would be computed in."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def lower(x: Tensor) -> Tensor:
    """Cast once what several linear maps are about to read, instead of once for each."""
    return x.to(working_dtype(x))
