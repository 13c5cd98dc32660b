"""Taps: named windows in a forward pass, at which tensors can be recorded and edited.

Without a recorder a window costs one attribute test. Recording runs on a view: new module objects
around the same parameters, each carrying the recorder. The model itself is not changed, so other
threads keep the fused kernels and their results bit for bit, and recordings can be nested.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TypeVar

import torch
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


def each_position(owner: Watchable, positions: Sequence[int]) -> Iterator[int]:
    """Yield the positions of a recurrence; what passes a window meanwhile is that position's row.

    The recorder joins the rows, on the axis before the last. Inside a recurrence, a further one
    belongs to the position at which it is.
    """
    recorder = owner.recorder
    if recorder is None or recorder.place is not None:
        yield from positions
    else:
        yield from recorder.walk(positions)


class Recorder:
    """A recorder of the tensors at the windows of one view, which also replaces those to edit."""

    def __init__(self, keep: Callable[[str], bool], edit: Mapping[str, Edit]):
        self.keep, self.edit = keep, edit
        self.names: dict[nn.Module, str] = {}
        self.trace: Trace = defaultdict(list)
        self.unused = set(edit)
        self.place: tuple[int, int] | None = None  # in a recurrence: a position, of how many
        self.rows: dict[str, dict[int, Tensor]] = {}  # what passed in it, by position

    def __call__(self, owner: Watchable, name: str, x: Tensor) -> Tensor:
        full = f"{self.names[owner]}.{name}".lstrip(".")
        if full in self.edit:
            self.unused.discard(full)
            x = self._edit_row(full, x) if self.place else self.edit[full](x)
        if self.keep(full):
            kept = x.detach().clone()
            if self.place:
                self.rows.setdefault(full, {})[self.place[0]] = kept
            else:
                self.trace[full].append(kept)
        return x

    def walk(self, positions: Sequence[int]) -> Iterator[int]:
        """Yield the positions in turn, then store what passed meanwhile, row under row."""
        try:
            for position in positions:
                self.place = position, len(positions)
                yield position
        finally:
            self.place, rows, self.rows = None, self.rows, {}
        for name, kept in rows.items():
            self.trace[name].append(torch.cat([row for _, row in sorted(kept.items())], -2))

    def _edit_row(self, full: str, row: Tensor) -> Tensor:
        """Return the edit of one row; the edit is given as many rows as there will be."""
        assert self.place is not None
        position, length = self.place
        sizes = [1] * row.dim()
        sizes[-2] = length
        return self.edit[full](row.repeat(sizes)).narrow(-2, position, 1)


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
