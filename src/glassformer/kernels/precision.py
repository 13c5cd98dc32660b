"""The precision of the work at hand: fp32, or bf16 where autocast says so."""

import torch
from torch import Tensor


def working_dtype(x: Tensor) -> torch.dtype:
    """What a matrix product of `x` would be computed in."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def lower(x: Tensor) -> Tensor:
    """Cast once what several linear maps are about to read, instead of once for each."""
    dtype = working_dtype(x)
    there: Tensor | None = getattr(x, "lowered", None)
    return there if there is not None and there.dtype == dtype else x.to(dtype)


def remember_lower(x: Tensor, low: Tensor) -> None:
    """Whoever makes `x` may make its copy in lower precision with it."""
    x.lowered = low  # type: ignore[attr-defined]
