"""Saving and loading the state of an updater as whole tensors, also if the model is sharded."""

from __future__ import annotations

import copy
from itertools import chain
from pathlib import Path
from typing import Any

from ..model import Transformer
from . import checkpoint
from .checkpoint import Progress
from .sharding import Moments, collect, collect_moments, spread_model, spread_moments
from .updates import Updater


def collect_all(updater: Updater) -> tuple[Transformer, Transformer | None, Any]:
    """Return whole model, average and optimizer; all processes have to call this together."""
    model, averaged, optimizer = updater.model, updater.averaged, updater.optimizer
    if updater.plain is None:
        models = [each for each in (model, averaged) if each]
        moments = (optimizer.state.get(p, {}).values() for p in model.parameters())
        updater.group.align(chain(*(each.parameters() for each in models), *moments))
        return model, averaged, optimizer
    twin = collect(model, updater.plain)
    average = collect(averaged, updater.plain) if averaged else None
    return twin, average, collect_moments(optimizer, model, twin)


def collect_best(updater: Updater) -> Transformer:
    """Return `updater.best_model` unsharded; all processes have to call this together."""
    best = updater.best_model
    return best if updater.plain is None else collect(best, updater.plain)


def go_to(path: Path, updater: Updater) -> Progress:
    """Load a checkpoint into an updater, and return its progress."""
    model, averaged, optimizer = updater.model, updater.averaged, updater.optimizer
    if updater.plain is None:
        return checkpoint.load_checkpoint(path, model, averaged, optimizer)
    twin = copy.deepcopy(updater.plain).to_empty(device="cpu")
    average = copy.deepcopy(twin) if averaged else None
    moments = Moments()
    likewise: Any = moments  # the only part of an optimizer that loading uses
    progress = checkpoint.load_checkpoint(path, twin, average, likewise)
    spread_model(model, twin)
    if averaged and average:
        spread_model(averaged, average)
    spread_moments(optimizer, model, twin, moments)
    return progress
