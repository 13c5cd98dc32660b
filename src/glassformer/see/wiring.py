"""The wiring of a network: the tensors that feed each module, recorded once for its settings.

It is recorded in a pass over two tokens of the smallest network of the same kind. A tensor is
recognised by its identity, not by its values: the argument of a module is the same Python object
that passed a window.
"""

import inspect
import re
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from ..config import Model
from ..foundation.tap import Recorder, Watchable, view_with
from ..model.files.meta_model import make_meta_model
from .document import Module, Wiring

HIDDEN = ("recorder", "training", "dropout")  # attributes of a module that are no constants


@cache
def record_wiring(settings: Model) -> Wiring:
    """Return the wiring of a network with these settings."""
    groups = 1 if settings.key_value_heads else None
    small = {"d_model": 2, "d_ff": 1, "heads": 1, "head_width": 2, "key_value_heads": groups}
    network = make_meta_model(settings.model_copy(update=small), 4, 4, device="cpu")
    wires = Wires()
    view = view_with(network, wires)
    for module, name in wires.names.items():
        wires.connect(module, name)
    source_BS, target_BT = (torch.ones(1, 2, dtype=torch.long, device="cpu") for _ in range(2))
    wires.know(source_BS, "source.ids")
    wires.know(target_BT, "target.ids")
    with torch.no_grad():
        view(source_BS, target_BT)
    modules = {
        name: Module(
            kind=type(module).__name__,
            inputs=wires.inputs.get(name, {}),
            constants=_find_constants(module),
        )
        for module, name in wires.names.items()
        if isinstance(module, Watchable) or name in wires.windows.values()
    }
    return Wiring(windows=wires.windows, modules=modules)


class Wires(Recorder):
    """A recorder that notes the origin of each tensor that feeds a module or passes a window."""

    def __init__(self) -> None:
        super().__init__(keep=lambda name: False, edit={})
        self.windows: dict[str, str] = {}
        self.inputs: dict[str, dict[str, str]] = {}  # of each module, by argument
        self._known: dict[int, str] = {}  # names of tensors, by identity
        self._returned: dict[int, str] = {}  # the PyTorch module that returned each, by identity
        self._kept: list[Any] = []  # so that no identity is used twice

    def know(self, x: Tensor, name: str) -> None:
        """Remember a tensor by its name."""
        self._kept.append(x)
        self._known[id(x)] = name

    def __call__(self, owner: Watchable, name: str, x: Tensor) -> Tensor:
        full = f"{self.names[owner]}.{name}".lstrip(".")
        self.windows[full] = self._returned.get(id(x), "")
        self.know(x, full)
        return x

    def connect(self, module: nn.Module, name: str) -> None:
        """Add hooks to a module that note its arguments and its output."""
        parameters = list(inspect.signature(module.forward).parameters)

        def enter(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            inputs: dict[str, str] = {}
            noted = [
                self._note(re.sub(r"_[A-Z]+$", "", parameter), argument, inputs)
                for parameter, argument in zip(parameters, arguments, strict=False)
            ]
            self.inputs.setdefault(name, inputs)  # of the first position, in a recurrence
            return tuple(noted)

        def leave(module: nn.Module, arguments: Any, x: Any) -> None:
            self._kept.append(x)
            if not isinstance(module, Watchable):
                self._returned[id(x)] = name

        module.register_forward_pre_hook(enter)
        module.register_forward_hook(leave)

    def _note(self, parameter: str, argument: Any, inputs: dict[str, str]) -> Any:
        """Note the name of an argument; for a function, that of the tensor it returns."""
        if callable(argument) and not isinstance(argument, Tensor):

            def call(*value: Any) -> Any:
                returned = argument(*value)
                self._note(parameter, returned, inputs)
                return returned

            return call
        if isinstance(argument, tuple):
            for number, each in enumerate(argument):
                self._note(f"{parameter}_{number}", each, inputs)
        elif name := self._known.get(id(argument)) or self._known.get(_find_whole(argument)):
            inputs[parameter] = name
        return argument


def _find_whole(argument: Any) -> int:
    """Return the identity of the tensor that this one is cut from; 0 if it is none."""
    is_cut = isinstance(argument, Tensor) and argument._base is not None
    return id(argument._base) if is_cut else 0


def _find_constants(module: nn.Module) -> dict[str, float | None]:
    """Return the numbers of a module, with None for optional ones that it lacks."""
    return {
        name: value
        for name, value in {**vars(module), **module._parameters}.items()
        if not name.startswith("_")
        and name not in HIDDEN
        and (value is None or isinstance(value, float | int))
        and not isinstance(value, bool)
    }
