"""Whether the shortcuts of training compute what `model/` says: somebody may have changed it.

While nobody watches, kernels stand in for attention, feed-forward and residual connections.
Here one small batch goes both ways; where they part, the training goes the readable way.
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
    """Leave them out, and say so, if they are not what the model says. It is still on the CPU."""
    precision = precision if device.type == "cpu" else "fp32"
    if compare_paths(model, precision) <= SAME[precision]:
        return
    for module in model.modules():
        if isinstance(module, Watchable):
            module.recorder = _look_away  # type: ignore[assignment]
    say("model/ computes something else than its fast twins do: training goes without, slower")


def _look_away(_: Watchable, __: str, x: Tensor) -> Tensor:
    """Somebody watches, so no shortcut is taken; but nothing is kept."""
    return x


@torch.no_grad()
def compare_paths(model: Transformer, precision: str) -> float:
    """How far apart the decoder's outputs are, as a share of the largest; without dropout."""
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
