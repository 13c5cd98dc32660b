"""The precision of matrix products: fp32, or the dtype of autocast where that is on."""

import torch
from torch import Tensor


def working_dtype(x: Tensor) -> torch.dtype:
    """Return the dtype in which a matrix product of `x` would be computed."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def lower(x: Tensor) -> Tensor:
    """Return x in the working dtype, cast once for several linear maps that read it."""
    dtype = working_dtype(x)
    there: Tensor | None = getattr(x, "lowered", None)
    return there if there is not None and there.dtype == dtype else x.to(dtype)


def remember_lower(x: Tensor, low: Tensor) -> None:
    """Attach to `x` a copy in lower precision, which `lower` then returns."""
    x.lowered = low  # type: ignore[attr-defined]
