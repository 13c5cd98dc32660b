"""The mean of several checkpoints (paper 6.1)."""

from __future__ import annotations

from pathlib import Path

import torch

from ..config import Config
from ..directory import CARD, CONFIG, Tokenizers, load_tensors, save_model, write_text
from .checkpoint import checkpoints
from .preparation import CHECKPOINTS, RUN


def average(run: Path | str, out: Path | str, last: int) -> None:
    """Write a model directory whose weights are the mean of a training's `last` checkpoints."""
    run, out = Path(run), Path(out)
    found = checkpoints(run / RUN / CHECKPOINTS)
    if not found:
        raise ValueError(f"{run} holds no training with checkpoints")
    if not 1 <= last <= len(found):
        raise ValueError(
            f"{run} keeps {len(found)} checkpoints, so last={last} is not possible: "
            f"train with --set train.keep={last}"
        )
    if (out / CONFIG).exists():
        raise ValueError(f"{out} holds a model already: choose another --out")
    sums: dict[str, torch.Tensor] = {}
    for path in found[-last:]:
        for name, tensor in load_tensors(path / "weights.safetensors").items():
            sums[name] = sums[name] + tensor.double() if name in sums else tensor.double()
    shared: dict[int, torch.Tensor] = {}
    weights = {name: shared.setdefault(id(x), (x / last).float()) for name, x in sums.items()}
    config = Config.load(run / RUN / CONFIG)
    save_model(out, config, Tokenizers.load(run / RUN), weights)
    steps = ", ".join(str(int(path.name)) for path in found[-last:])
    write_text(out / CARD, f"# Model card\n\nThe mean of the weights after updates {steps}.\n")
