"""nmt-forge's preset cpu-tiny, stopped at so many CPU-seconds to translate a test set.

It is called with TASK CPU-SECONDS; TASK is as for `learn_joeynmt`, but nmt-forge reads the text
itself, and chooses tokens, sizes and schedule by its preset. Its command line wants evaluation sets
registered and refuses pairs that stand in two of them; so the functions behind it are called: the
same training, with its checks on the validation text (whose seconds count), of which the best model
translates. Its rate rises and falls as for its 60 epochs, however many there is time for; a
callback stops it and asks for a last check, or it ends by itself before. The search is its own,
with 4 beams. The result is written to nmt-forge.jsonl.

nmt-forge may be used for noncommercial purposes only (PolyForm Noncommercial 1.0.0): it is called
here to be compared, and nothing of it is contained.
"""

from __future__ import annotations

import math
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from nmt_forge.training.backends import TrainerBackend, make_backend
from nmt_forge.training.config import DecodeParams
from nmt_forge.training.decode_cap import cap_params
from nmt_forge.training.presets import expand_preset
from nmt_forge.training.schedule import plan_schedule
from transformers import TrainerCallback
from transformers.trainer import DEFAULT_CALLBACKS

from .learning import read_settings, read_text, write_result

PRESET = "cpu-tiny"
CHECKS = 40  # of a whole training, as its command takes with this preset

Rows = list[dict[str, str]]


class Watch(TrainerCallback):  # type: ignore[misc]
    """A callback that ends the training at a limit of CPU-seconds, after a last check."""

    def __init__(self, limit: float):
        self.limit = limit
        self.cpu, self.updates, self.epochs = 0.0, 0, 0.0

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.began = time.process_time()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.cpu = time.process_time() - self.began
        self.updates, self.epochs = state.global_step, state.epoch
        if self.cpu >= self.limit:
            control.should_evaluate = control.should_save = control.should_training_stop = True


def read_rows(chosen: dict[str, Any], part: str) -> Rows:
    pairs = zip(*read_text(chosen, part), strict=True)
    return [{"source": source, "target": target} for source, target in pairs]


def count_tokens(backend: TrainerBackend, rows: Rows) -> int:
    """Return the number of tokens on both sides."""
    return sum(backend.token_len(text) for row in rows for text in row.values())


def learn(task_folder: Path, limit: float) -> None:
    """Train until the limit, and translate the test with the best model."""
    _, chosen = read_settings(task_folder)
    folder = task_folder / "nmt-forge"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    model, decoding = expand_preset(PRESET)
    model["seed"] = chosen["seed"]
    rows, backend, watch = read_rows(chosen, "train"), make_backend(model), Watch(limit)
    shape = {name: model[name] for name in ("batch_size", "grad_accum", "epochs")}
    plan = plan_schedule(gold_rows=len(rows), synth_rows=0, dev_is_real=True, **shape)
    settings = {
        "floor_steps": plan.floor_steps,
        "patience": plan.patience,
        "eval_steps": math.ceil(plan.planned_steps / CHECKS),
        "_dev_score_metric": "chrf++",
    }
    DEFAULT_CALLBACKS.append(watch)
    trained = backend.train(rows, read_rows(chosen, "valid"), settings, folder)
    kept = [each for each in trained.checkpoints if each.path]
    best = max(kept, key=lambda each: each.dev_score)
    search = DecodeParams(**decoding)
    given = {**cap_params(search), **model, "num_beams": search.num_beams}
    said = backend.decode(best, read_text(chosen, "test")[0], given)
    tokens = round(watch.epochs * count_tokens(backend, rows))
    write_result(task_folder / "nmt-forge.jsonl", watch.cpu, watch.updates, tokens, said)


if __name__ == "__main__":
    learn(Path(sys.argv[1]), float(sys.argv[2]))
