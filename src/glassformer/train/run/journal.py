"""The files that a training writes while it runs; only the first process of a group writes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...config import Config
from ...foundation.disk import drop_folder, sync_file, write_text
from ...model.files.directory import BEST, CHECKPOINTS, CONFIG, RUN, save_model
from ...model.files.tensors import save_tensors
from ..plan.plan import Plan
from ..plan.preparation import PreparedRun
from . import checkpoint
from .checkpoint import collect_all, collect_best
from .distributed import ProcessGroup
from .progress import Progress
from .updates import Updater
from .watch import GRADIENTS, Watch, cut_after
from .watch import plan_snapshots as plan_snapshots


class Journal:
    """The writer of metrics, snapshots, checkpoints and the best model."""

    def __init__(self, out: Path, prepared: PreparedRun, config: Config, group: ProcessGroup):
        self.out, self.folder, self.config, self.group = out, out / RUN, config, group
        self.prepared = prepared

    def open(self, step: int, plan: Plan) -> None:
        """Continue after `step`: remove the metrics and snapshots of later updates."""
        prepared, steps = self.prepared, plan.planned
        every = plan.limits.validate_every or -(-steps // plan.validations)
        watched = prepared.tokenizers, prepared.first, steps, every
        config = self.config.narrow(prepared.groups[0].pair)
        self.watch = Watch(self.folder, config, *watched)
        self.follow(plan)
        if self.group.is_first:
            self.metrics = MetricsLog(self.folder, step)
            self.watch.begin(step)

    def follow(self, plan: Plan) -> None:
        """Plan the snapshots by the validations of the latest plan."""
        self.watch.follow(plan_snapshots(plan.latest.steps, plan.list_validations()))

    def write(self, step: int, values: Mapping[str, Any]) -> None:
        if self.group.is_first:
            self.metrics.write(step, values)

    def note(self, step: int, norms: dict[str, float], total: float) -> None:
        if self.group.is_first:
            self.watch.note(step, norms, total)

    def take_snapshot(self, step: int, updater: Updater) -> None:
        if step in self.watch.steps:
            model = collect_best(updater)
            if self.group.is_first:
                self.watch.take_snapshot(step, model)

    def keep_best(self, updater: Updater) -> None:
        model = collect_best(updater)
        if self.group.is_first:
            weights = model.state_dict()
            save_model(self.out, self.config, self.prepared.tokenizers, weights)

    def keep_among_best(self, step: int, updater: Updater) -> None:
        """Write the weights of one of the best models; `save` drops those that are no longer."""
        model, folder = collect_best(updater), self.folder / BEST / f"{step:08d}"
        if self.group.is_first:
            folder.mkdir(parents=True, exist_ok=True)
            save_tensors(folder / "weights.safetensors", model.state_dict())
            write_text(folder / CONFIG, self.config.to_toml())

    def save(self, progress: Progress, updater: Updater, is_last: bool = False) -> None:
        """Write a checkpoint, unless the training may be diverging; the last one always."""
        train = self.config.train
        if progress.detector.is_suspicious and not is_last:
            return
        if progress.step > progress.trouble_step:
            progress.goings_back = 0
        state = collect_all(updater)
        if self.group.is_first:
            for lines in (self.metrics.path, self.watch.folder / GRADIENTS):
                if lines.is_file():
                    sync_file(lines)  # on the disk before the checkpoint is
            folder = self.folder / CHECKPOINTS
            checkpoint.save_checkpoint(folder, progress, *state, train.keep, self.config)
            kept = {each.step for each in progress.kept_best}
            for old in checkpoint.checkpoints(self.folder / BEST):
                if int(old.name) not in kept:
                    drop_folder(old)


class MetricsLog:
    """A writer of metrics.jsonl, one object a line, and of TensorBoard events if installed."""

    def __init__(self, folder: Path, step: int):
        self.path = folder / "metrics.jsonl"
        cut_after(self.path, step)
        self.board = _tensorboard(folder / "tensorboard", step)

    def write(self, step: int, values: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **values}, ensure_ascii=False) + "\n")
        if self.board:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self.board.add_scalar(name, value, step)
            self.board.flush()


def _tensorboard(folder: Path, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=step + 1)
