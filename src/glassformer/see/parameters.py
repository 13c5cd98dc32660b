"""The weights of a model as NumPy arrays, each made when it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .trace import Array

if TYPE_CHECKING:
    from torch import Tensor


class Parameters(Mapping[str, "Array"]):
    """A mapping from names of weights to arrays; on a CPU they share memory with the model."""

    def __init__(self, tensors: Mapping[str, Tensor]):
        self.tensors = tensors

    def __getitem__(self, name: str) -> Array:
        return self.tensors[name].detach().cpu().numpy()

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)
