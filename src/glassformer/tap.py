"""Taps: named windows in a forward pass, at which tensors can be recorded and edited.

Without a recorder a window costs one attribute test. Recording runs on a view: new module objects
around the same parameters, each carrying the recorder. The model itself is not changed, so other
threads keep the fused kernels and their results bit for bit, and recordings can be nested.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import TypeVar

from torch import Tensor, nn

Edit = Callable[[Tensor], Tensor]
Trace = dict[str, list[Tensor]]
Net = TypeVar("Net", bound=nn.Module)


class Watchable(nn.Module):
    """A module with windows. `recorder` is set on the modules of a view, not on a model's own."""

    recorder: Recorder | None = None


def tap(owner: Watchable, name: str, x: Tensor) -> Tensor:
    """Pass `x` to the recorder, if there is one; return `x`, or the recorder's edit of it."""
    return x if owner.recorder is None else owner.recorder(owner, name, x)


class Recorder:
    """A recorder of the tensors at the windows of one view, which also replaces those to edit."""

    def __init__(self, keep: Callable[[str], bool], edit: Mapping[str, Edit]):
        self.keep, self.edit = keep, edit
        self.names: dict[nn.Module, str] = {}
        self.trace: Trace = defaultdict(list)
        self.unused = set(edit)

    def __call__(self, owner: Watchable, name: str, x: Tensor) -> Tensor:
        full = f"{self.names[owner]}.{name}".lstrip(".")
        if full in self.edit:
            self.unused.discard(full)
            x = self.edit[full](x)
        if self.keep(full):
            self.trace[full].append(x.detach().clone())
        return x


def view_with(model: Net, recorder: Recorder) -> Net:
    """Return a view of a model whose windows pass their tensors to `recorder`."""
    return _view(model, recorder, "", {})


def _view(module: Net, recorder: Recorder, name: str, seen: dict[nn.Module, nn.Module]) -> Net:
    """Return the same parameters and buffers in new module objects; shared modules stay shared."""
    if module not in seen:
        seen[module] = twin = copy(module)
        twin.__dict__ = dict(module.__dict__, recorder=recorder, training=False)
        recorder.names[twin] = name
        twin.__dict__["_modules"] = {
            child: _view(part, recorder, f"{name}.{child}".lstrip("."), seen) if part else part
            for child, part in module._modules.items()
        }
    return seen[module]  # type: ignore[return-value]


@contextmanager
def record(
    model: Net,
    keep: Callable[[str], bool] = lambda name: True,
    edit: Mapping[str, Edit] | None = None,
) -> Iterator[tuple[Net, Trace]]:
    """Yield (view, trace): run the view; trace maps each full name to a list of one tensor a call.

    A full name is the dotted path of the module and the window's own name, as in
    `decoder.2.cross_attention.weights`. `keep` says by name what is stored; `edit` maps full
    names to functions whose result replaces the tensor. A view is always in eval mode.
    ValueError at the end if a window to edit was not passed.
    """
    recorder = Recorder(keep, edit or {})
    yield view_with(model, recorder), recorder.trace
    if recorder.unused:
        raise ValueError(f"{min(recorder.unused)}: no window of that name was passed")
