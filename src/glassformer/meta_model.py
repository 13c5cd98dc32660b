"""A network with names and shapes, but nothing in it."""

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .config import Model
from .model import Transformer

FILLING = {"normal_", "uniform_", "kaiming_uniform_"}


def make_meta_model(settings: Model, source: int, target: int) -> Transformer:
    """With vocabularies of so many tokens: however large, it takes no memory."""
    if settings.positions.layout != "learned":  # a table that is computed is no weight
        short = settings.positions.model_copy(update={"max_positions": 2})
        settings = settings.model_copy(update={"positions": short})
    with torch.device("meta"), _Unfilled():
        return Transformer(settings, source, target)


def find_shapes(settings: Model, source: int, target: int) -> dict[str, torch.Size]:
    """Of all its weights, by name."""
    weights = make_meta_model(settings, source, target).state_dict()
    return {name: tensor.shape for name, tensor in weights.items()}


class _Unfilled(TorchFunctionMode):
    """To fill weights on "meta", PyTorch would import 800 modules: 75 MB and more than a second."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.__name__ in FILLING:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)
