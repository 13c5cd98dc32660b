"""Checkpoints: the state of a training on disk, as safetensors and JSON, written atomically.

00000120/                    after 120 updates
    weights.safetensors . averaged.safetensors . optimizer.safetensors
    config.toml              the settings it was made with
    progress.json            the rest of its state, and the SHA-256 of the other files

A checkpoint is written as 00000120.partial and renamed when all of it is on the disk; only then is
an earlier one removed. A damaged checkpoint is renamed to 00000120.damaged.
"""

import copy
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ...config import Config
from ...foundation.compatibility.former_names import rename_keys
from ...foundation.disk import FORMER, PARTIAL, drop_folder, sync_folder, write_json, write_text
from ...foundation.typed_json import check_type, read_typed
from ...foundation.version import __version__
from ...model.encoder_decoder import EncoderDecoder
from ...model.files.directory import CHECKPOINTS, CONFIG, RUN
from ...model.files.tensors import load_tensors, save_tensors
from ..publish.card import hash_file
from ..publish.health import HealthFinding
from .divergence import DivergenceDetector
from .progress import Progress
from .sharding import Moments, collect, collect_moments, spread_model, spread_moments
from .updates import Updater

FORMAT = 2  # 1 had no digests and no settings
DAMAGED = ".damaged"
HEAD, MOMENTS = "progress.json", "optimizer.safetensors"


def checkpoints(folder: Path) -> list[Path]:
    """Return all checkpoints in a folder, the oldest first."""
    results = [path for path in folder.glob("*") if path.name.isdigit() and path.is_dir()]
    return sorted(results, key=lambda path: int(path.name))


def save_checkpoint(
    folder: Path,
    progress: Progress,
    model: nn.Module,
    averaged: nn.Module | None,
    optimizer: torch.optim.Optimizer,
    keep: int,
    config: Config | None = None,
) -> Path:
    """Write a checkpoint if it is not there, remove all but the latest `keep`; return its path."""
    path = folder / f"{progress.step:08d}"
    _sweep(folder)
    if not path.is_dir():
        _write(path, progress, model, averaged, optimizer, config)
    for old in checkpoints(folder)[:-keep]:
        drop_folder(old)
    return path


def _write(
    path: Path,
    progress: Progress,
    model: nn.Module,
    averaged: nn.Module | None,
    optimizer: torch.optim.Optimizer,
    config: Config | None,
) -> None:
    partial = path.with_name(path.name + PARTIAL)
    partial.mkdir(parents=True)
    save_tensors(partial / "weights.safetensors", model.state_dict())
    if averaged is not None:
        save_tensors(partial / "averaged.safetensors", averaged.state_dict())
    save_tensors(partial / MOMENTS, _moments(model, optimizer))
    if config is not None:
        write_text(partial / CONFIG, config.to_toml())
    head = {"format": FORMAT, "glassformer": __version__, "sha256": _digests(partial)}
    write_json(partial / HEAD, {**head, **asdict(progress)})
    os.replace(partial, path)
    sync_folder(path.parent)


def load_checkpoint(
    path: Path,
    model: nn.Module,
    averaged: nn.Module | None,
    optimizer: torch.optim.Optimizer,
) -> Progress:
    """Load model, average and optimizer; return the progress. ValueError if a file is damaged."""
    progress = read_progress(path)
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    model.load_state_dict(load_tensors(path / "weights.safetensors", shapes))
    if averaged is not None:
        averaged.load_state_dict(load_tensors(path / "averaged.safetensors", shapes))
    parameters = dict(model.named_parameters())
    for name, tensor in load_tensors(path / MOMENTS).items():
        key, _, owner = name.partition(".")
        if owner not in parameters:
            raise ValueError(
                f"{path / MOMENTS}: {name} belongs to no weight of this model: the checkpoint is "
                "of another version of glassformer, or of other settings"
            )
        parameter = parameters[owner]
        optimizer.state[parameter][key] = tensor.to(parameter.device)
    return progress


def set_damaged_aside(folder: Path, say: Callable[[str], None]) -> None:
    """Rename damaged checkpoints, so that the latest one is intact; format 1 cannot be checked.

    ValueError if none is left.
    """
    result = checkpoints(folder)
    for path in reversed(result):
        wrong = find_damage(path)
        if not wrong:
            return
        if path == result[0]:
            raise ValueError(
                f"{path}: damaged ({wrong}), and there is no earlier checkpoint: "
                "begin anew, in another folder"
            )
        aside = path.with_name(path.name + DAMAGED)
        shutil.rmtree(aside, ignore_errors=True)
        os.replace(path, aside)
        say(f"{path}: damaged ({wrong}); it is now {aside.name}, and the one before it is taken")


def settings_of(path: Path) -> Config | None:
    """Return the settings that a checkpoint was made with; None in format 1."""
    return Config.load(path / CONFIG) if (path / CONFIG).is_file() else None


def read_progress(path: Path) -> Progress:
    """Return the progress in a checkpoint. ValueError if it is damaged, or of another format."""
    progress = _read_head(path)
    number = progress.get("format", 1)
    if number not in (1, FORMAT):
        raise ValueError(
            f"{path}: a checkpoint of format {number}, written by glassformer "
            f"{progress.get('glassformer')}; this is {__version__}, which reads {FORMAT}"
        )
    return _take_progress(path, progress)


def _take_progress(path: Path, head: dict[str, Any]) -> Progress:
    known = {each.name for each in fields(Progress)}
    values = {name: value for name, value in head.items() if name in known}
    detector = values.pop("detector", None)
    names = {each.name for each in fields(DivergenceDetector)}
    if isinstance(detector, dict) and detector.keys() == names:
        values["detector"] = detector  # that of an earlier version is dropped
    return check_type(values, Progress, str(path / HEAD))


def _read_head(path: Path) -> dict[str, Any]:
    if not (path / HEAD).is_file():
        raise ValueError(f"{path}: damaged: it has no {HEAD}")
    result: dict[str, Any] = rename_keys(read_typed(path / HEAD, dict[str, Any]))
    return result


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hash_file(path) for path in sorted(folder.iterdir())}


def find_damage(path: Path) -> str:
    """Return, in words, what of a checkpoint is not as it was written; "" if all is intact."""
    try:
        head = _read_head(path)
        digests = check_type(head.get("sha256", {}), dict[str, str], f"{path / HEAD}: sha256")
        if head.get("format", 1) in (1, FORMAT):
            _take_progress(path, head)
    except ValueError as error:
        return str(error)
    for name, digest in digests.items():
        if not (path / name).is_file():
            return f"{name} is missing"
        try:
            is_same = hash_file(path / name) == digest
        except ValueError:  # not even its size is right
            is_same = False
        if not is_same:
            return f"{name} is not as it was written"
    return ""


def examine_checkpoints(model: Path) -> Iterator[HealthFinding]:
    """Yield what `doctor` says of each checkpoint in a model's folder, and of those set aside."""
    folder = model / RUN / CHECKPOINTS
    result = checkpoints(folder)
    for path in result:
        about = f"checkpoint {int(path.name):,}"
        if not (wrong := find_damage(path)):
            size = sum(each.stat().st_size for each in path.iterdir())
            yield HealthFinding(about, f"{size:,} bytes, as it was written")
            continue
        advice = f"train --resume {model} sets it aside and takes the one before it"
        if len(result) == 1:
            advice = "the only one: begin anew"
        yield HealthFinding(about, f"damaged ({wrong})", advice, is_wrong=True)
    for path in sorted(folder.glob(f"*{DAMAGED}")):
        yield HealthFinding(path.name, "set aside by a resume", "delete it when you have seen it")


def _sweep(folder: Path) -> None:
    """Remove what a killed process left half written or half removed."""
    for end in (PARTIAL, FORMER):
        for path in folder.glob(f"*{end}"):
            shutil.rmtree(path, ignore_errors=True)


def _moments(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the state of the optimizer by parameter, named like `exp_avg.encoder.0. ...`."""
    return {
        f"{key}.{name}": tensor
        for name, parameter in model.named_parameters()
        for key, tensor in optimizer.state.get(parameter, {}).items()
    }


def collect_all(updater: Updater) -> tuple[EncoderDecoder, EncoderDecoder | None, Any]:
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


def collect_best(updater: Updater) -> EncoderDecoder:
    """Return `updater.best_model` unsharded; all processes have to call this together."""
    best = updater.best_model
    return best if updater.plain is None else collect(best, updater.plain)


def go_to(path: Path, updater: Updater) -> Progress:
    """Load a checkpoint into an updater, and return its progress."""
    model, averaged, optimizer = updater.model, updater.averaged, updater.optimizer
    if updater.plain is None:
        return load_checkpoint(path, model, averaged, optimizer)
    twin = copy.deepcopy(updater.plain).to_empty(device="cpu")
    average = copy.deepcopy(twin) if averaged else None
    moments = Moments()
    likewise: Any = moments  # the only part of an optimizer that loading uses
    progress = load_checkpoint(path, twin, average, likewise)
    spread_model(model, twin)
    if averaged and average:
        spread_model(averaged, average)
    spread_moments(optimizer, model, twin, moments)
    return progress
