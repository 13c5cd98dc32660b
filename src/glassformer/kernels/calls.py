"""How kernels in C are called: tensors go as pointers, torch's number of threads goes last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def call(function: Callable[..., int], *arguments: Any) -> None:
    """MemoryError if the function found no room to work in; then it has done nothing."""
    plain = (x.data_ptr() if isinstance(x, Tensor) else x for x in arguments)
    if function(*plain, torch.get_num_threads()):
        raise MemoryError("not enough memory for a kernel to work in")
