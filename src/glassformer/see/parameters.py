"""The tensors of a recording and the weights of its model as NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .trace import Array

if TYPE_CHECKING:
    from torch import Tensor


class Parameters(Mapping[str, "Array"]):
    """A mapping from names of weights to arrays, each made when it is read.

    On a CPU they share memory with the model.
    """

    def __init__(self, tensors: Mapping[str, Tensor]):
        self.tensors = tensors

    def __getitem__(self, name: str) -> Array:
        return self.tensors[name].detach().cpu().numpy()

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def to_arrays(taken: Mapping[str, list[Tensor]]) -> dict[str, Array]:
    """Return the one recorded value of each window without its batch axis; positions have none."""
    return {
        name: (value if name.endswith(".positions") else value[0]).cpu().numpy()
        for name, (value,) in taken.items()
    }
