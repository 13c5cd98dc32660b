"""The precision of matrix products: fp32, or the dtype of autocast where that is on."""

import torch
from torch import Tensor


def working_dtype(x: Tensor) -> torch.dtype:
    """Return the dtype in which a matrix product of `x` would be computed."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


class RoundedCopy:
    """The latest result of a kernel that also wrote it in the working dtype, and that copy."""

    def __init__(self) -> None:
        self.latest: tuple[Tensor, Tensor] | None = None

    def keep(self, high: Tensor, low: Tensor | None) -> Tensor:
        """Remember that `low` is `high` in the working dtype, if there is such a copy."""
        self.latest = None if low is None else (high, low)
        return high

    def lower(self, x: Tensor) -> Tensor:
        """Return x in the working dtype, cast once for several linear maps that read it."""
        dtype, latest = working_dtype(x), self.latest
        if latest is not None and latest[0] is x and latest[1].dtype == dtype:
            return latest[1]
        return x.to(dtype)
