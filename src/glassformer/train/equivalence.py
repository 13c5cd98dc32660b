"""A check that the fast kernels of training compute the same as the plain code in `model/`.

Without a recorder, kernels replace attention, feed-forward and residual connections. A user may
have changed `model/`, so one small batch is computed both ways; if the results differ, training
uses the plain code.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..device import autocast
from ..kernels.dropout import Dropout
from ..model import Transformer
from ..tap import Watchable
from ..tap import record as watch

FIRST, LAST = 3, 20  # ids that every vocabulary has
SAME = {"fp32": 1e-3, "bf16": 5e-2}  # of the largest number; kernels round in another order


def check_shortcuts(
    model: Transformer, device: torch.device, precision: str, say: Callable[[str], object]
) -> None:
    """Turn the kernels off, and report it, if they differ from the model, which is on the CPU."""
    precision = precision if device.type == "cpu" else "fp32"
    if compare_paths(model, precision) <= SAME[precision]:
        return
    for module in model.modules():
        if isinstance(module, Watchable):
            module.recorder = _look_away  # type: ignore[assignment]
    say("model/ computes something else than its fast twins do: training goes without, slower")


def _look_away(_: Watchable, __: str, x: Tensor) -> Tensor:
    """Return `x` unchanged: a recorder that keeps nothing, whose presence turns the kernels off."""
    return x


@torch.no_grad()
def compare_paths(model: Transformer, precision: str) -> float:
    """Return the largest difference of the decoder's outputs, as a share of the largest output.

    It is computed without dropout; infinite if an output is NaN.
    """
    ids = torch.Generator().manual_seed(1)
    source_BS = torch.randint(FIRST, LAST, (2, 7), generator=ids)
    target_BT = torch.randint(FIRST, LAST, (2, 5), generator=ids)
    was_training, dropouts = model.training, [x for x in model.modules() if type(x) is Dropout]
    kept = [each.p for each in dropouts]
    try:
        for each in dropouts:
            each.p = 0.0
        with autocast(precision, torch.device("cpu")):
            found = model.train().read(source_BS, target_BT).float()
            with watch(model, lambda name: False) as (view, _):
                wanted = view.read(source_BS, target_BT).float()
    finally:
        model.train(was_training)
        for each, p in zip(dropouts, kept, strict=True):
            each.p = p
    apart = float((found - wanted).abs().max() / wanted.abs().max().clamp(min=1))
    return apart if apart == apart else float("inf")
