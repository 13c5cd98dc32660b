"""A model's weights as arrays, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torch import Tensor

from .trace import Array


class Parameters(Mapping[str, "Array"]):
    """On a processor, the arrays are the weights themselves: nothing is copied."""

    def __init__(self, tensors: Mapping[str, Tensor]):
        self.tensors = tensors

    def __getitem__(self, name: str) -> Array:
        return self.tensors[name].detach().cpu().numpy()

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)
