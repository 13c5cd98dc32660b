"""Shared code of the other engines' trainers: the task file, and a plain PyTorch loop."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .turns import Turns

PAD = 0


class Task:
    """The task that the benchmark wrote, task.json and batches-*.npz of padded ids."""

    def __init__(self, folder: Path, precision: str):
        self.folder, self.precision = folder, precision
        self.settings: dict[str, Any] = json.loads((folder / "task.json").read_text("utf-8"))
        self.model: dict[str, Any] = self.settings["model"]

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield source (tokens, EOS) and target (BOS, tokens, EOS), padded with 0, endlessly."""
        with np.load(self.folder / f"batches-{self.precision}.npz") as found:
            sides = [found[f"{side}.{n}"] for n in range(len(found) // 2) for side in ("s", "t")]
        pairs = [torch.from_numpy(x.astype(np.int64)) for x in sides]
        return cycle(list(zip(pairs[::2], pairs[1::2], strict=True)))


def read_task() -> Task:
    return Task(Path(sys.argv[1]), sys.argv[2])


def train(task: Task, network: nn.Module, loss_of: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Train with clipped gradients and fused Adam; `loss_of` returns a batch's summed loss."""
    settings = task.settings
    turns = Turns()
    torch.manual_seed(1)
    network.train()
    parameters = [p for p in network.parameters() if p.requires_grad]
    betas = tuple(settings["betas"])
    optimizer = torch.optim.Adam(parameters, 1e-4, betas, settings["epsilon"], fused=True)
    is_bf16 = task.precision == "bf16"
    lower = torch.autocast("cpu", torch.bfloat16) if is_bf16 else contextlib.nullcontext()
    vectors = torch.backends.cpu.get_cpu_capability()
    turns.ready(parameters=sum(p.numel() for p in parameters), vectors=vectors)
    for source, target in task.batches():
        tokens = int((target[:, 1:] != PAD).sum())
        with lower:
            loss = loss_of(source, target) / tokens
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, settings["max_grad_norm"])
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
        turns.tick(updates=1, source=int((source != PAD).sum()), target=tokens)
