"""A network with names and shapes, but nothing in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .config import Model
from .model import Transformer

FILLING = {"normal_", "uniform_", "kaiming_uniform_"}


def find_shapes(settings: Model, source: int, target: int) -> dict[str, torch.Size]:
    """Of all weights of a network with these settings and so many pieces, however large."""
    if settings.positions.layout != "learned":  # a table that is computed is no weight
        short = settings.positions.model_copy(update={"longest": 2})
        settings = settings.model_copy(update={"positions": short})
    with blank():
        network = Transformer(settings, source, target)
    return {name: tensor.shape for name, tensor in network.state_dict().items()}


@contextmanager
def blank() -> Iterator[None]:
    """Weights made inside take no memory: they are on the device "meta", and nothing fills them.

    To fill them there, PyTorch would import 800 modules: 75 MB and more than a second.
    """
    with torch.device("meta"), _Unfilled():
        yield


class _Unfilled(TorchFunctionMode):
    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.__name__ in FILLING:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)
