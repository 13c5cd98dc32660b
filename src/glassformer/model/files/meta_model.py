"""A meta model: a network whose weights have names and shapes, but no values."""

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ...config import Model
from ..encoder_decoder import EncoderDecoder
from ..networks import build_network

FILLING = {"normal_", "uniform_", "kaiming_uniform_"}


def make_meta_model(
    settings: Model, source: int, target: int, device: str = "meta"
) -> EncoderDecoder:
    """Return a network without values, for vocabularies of so many tokens; it takes no memory.

    On another device than "meta" it takes memory, and its weights hold whatever is there.
    """
    if (
        settings.network != "rnn" and settings.positions.layout != "learned"
    ):  # a computed table is no weight
        short = settings.positions.model_copy(update={"max_positions": 2})
        settings = settings.model_copy(update={"positions": short})
    with torch.device(device), _Unfilled():
        return build_network(settings, source, target)


def find_shapes(settings: Model, source: int, target: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all weights of such a network, by name."""
    weights = make_meta_model(settings, source, target).state_dict()
    return {name: tuple(tensor.shape) for name, tensor in weights.items()}


class _Unfilled(TorchFunctionMode):
    """A mode in which weights are not initialized.

    To initialize weights on "meta", PyTorch would import 800 modules: 75 MB and more than a second.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.__name__ in FILLING:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)
