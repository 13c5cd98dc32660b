"""Where a training stands, on disk: safetensors and JSON, each checkpoint whole or not there."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from ..directory import load_tensors, save_tensors, write_json


@dataclass
class Progress:
    """The part of a training's state that is not tensors."""

    step: int = 0  # updates done
    best: float | None = None  # of the score that `train.best_by` names; larger is better
    best_step: int = 0
    validations_since_best: int = 0
    skipped: int = 0  # latest updates in a row left out: no finite gradient
    source_pieces: int = 0  # seen in training, padding not counted, eos counted
    target_pieces: int = 0
    cpu_seconds: float = 0.0
    seconds: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)  # of the best validation
    signature: str = ""  # of its BLEU


def checkpoints(folder: Path) -> list[Path]:
    """All of them, the oldest first."""
    found = [path for path in folder.glob("*") if path.name.isdigit() and path.is_dir()]
    return sorted(found, key=lambda path: int(path.name))


def save(
    folder: Path,
    progress: Progress,
    model: nn.Module,
    averaged: nn.Module | None,
    optimizer: torch.optim.Optimizer,
    keep: int,
) -> Path:
    """Write a checkpoint and forget all but the latest `keep`."""
    path = folder / f"{progress.step:08d}"
    if path.is_dir():
        return path
    partial = folder / f"{progress.step:08d}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    save_tensors(partial / "weights.safetensors", model.state_dict())
    if averaged is not None:
        save_tensors(partial / "averaged.safetensors", averaged.state_dict())
    save_tensors(partial / "optimizer.safetensors", _moments(model, optimizer))
    write_json(partial / "progress.json", asdict(progress))
    os.replace(partial, path)
    for old in checkpoints(folder)[:-keep]:
        shutil.rmtree(old)
    return path


def load(
    path: Path,
    model: nn.Module,
    averaged: nn.Module | None,
    optimizer: torch.optim.Optimizer,
) -> Progress:
    """Put model, average and optimizer where they stood. ValueError if a file is damaged."""
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    model.load_state_dict(load_tensors(path / "weights.safetensors", shapes))
    if averaged is not None:
        averaged.load_state_dict(load_tensors(path / "averaged.safetensors", shapes))
    parameters = dict(model.named_parameters())
    try:
        progress = Progress(**json.loads((path / "progress.json").read_text(encoding="utf-8")))
        for name, tensor in load_tensors(path / "optimizer.safetensors").items():
            key, _, owner = name.partition(".")
            parameter = parameters[owner]
            optimizer.state[parameter][key] = tensor.to(parameter.device)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: damaged, or of another version ({error})") from None
    return progress


def _moments(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """What the optimizer remembers of every parameter, as `exp_avg.encoder.0. ...`."""
    return {
        f"{key}.{name}": tensor
        for name, parameter in model.named_parameters()
        for key, tensor in optimizer.state.get(parameter, {}).items()
    }
