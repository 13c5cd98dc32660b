"""JoeyNMT's training, stopped at given CPU-seconds to translate a test set with 5 beams.

It is called with TASK CPU-SECONDS... TASK is as for `train_joeynmt`, with the tokens of the test in
test.source and rate, warmup and dropout in learning.json. The results of each stop are written to
joeynmt.jsonl; the time of translation is not counted.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from joeynmt.prediction import predict
from joeynmt.training import TrainManager, train

from .train_joeynmt import PAD, describe, write_words

SEARCH = {"beam_size": 5, "beam_alpha": 1.0}


def prepare(folder: Path) -> dict[str, Any]:
    """Return JoeyNMT's settings, with a text to translate, for which it needs targets too."""
    chosen = json.loads((folder / "learning.json").read_text(encoding="utf-8"))
    settings = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    settings["model"]["dropout"] = chosen["dropout"]
    write_words(folder, settings["vocabulary"])
    lines = (folder / "test.source").read_text(encoding="utf-8").splitlines()
    (folder / "test.target").write_text("4\n" * len(lines), encoding="utf-8")
    config = describe(folder, settings)
    config["data"]["dev"] = str(folder / "test")
    config["testing"] = {**SEARCH, "batch_size": 64, "batch_type": "sentence"}
    config["training"].update(learning_rate=chosen["rate"], learning_rate_warmup=chosen["warmup"])
    config["training"]["random_seed"] = chosen.get("seed", 1)
    return config


class Watch:
    """An observer inside JoeyNMT's training loop, which translates at the given times."""

    def __init__(self, found: Path, marks: list[float]):
        self.found, self.marks = found, marks
        self.updates = self.tokens = 0
        self.began = time.process_time()
        self._step, self._learn = TrainManager._train_step, TrainManager.train_and_validate
        found.unlink(missing_ok=True)

    def learn(self, manager: TrainManager, train_data: Any, test: Any) -> None:
        self.test = test
        self._learn(manager, train_data, test)

    def step(self, manager: TrainManager, batch: Any) -> Any:
        cpu = time.process_time() - self.began
        if cpu >= self.marks[0]:
            self.marks.pop(0)
            self.translate(manager, cpu)
            self.began = time.process_time() - cpu
            if not self.marks:
                raise SystemExit(0)
        self.updates += 1
        self.tokens += int((batch.src != PAD).sum() + (batch.trg != PAD).sum())
        return self._step(manager, batch)

    def translate(self, manager: TrainManager, cpu: float) -> None:
        search = manager.dev_cfg._replace(**SEARCH)
        said = predict(
            manager.model, self.test, manager.device, 0, args=search, autocast=manager.autocast
        )[3]
        manager.model.train()
        row = {"cpu": cpu, "updates": self.updates, "tokens": self.tokens}
        with self.found.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "said": [" ".join(words) for words in said]}) + "\n")


def main() -> None:
    folder = Path(sys.argv[1])
    config = prepare(folder)
    watch = Watch(folder / "joeynmt.jsonl", sorted(map(float, sys.argv[2:])))
    TrainManager._train_step = lambda manager, batch: watch.step(manager, batch)
    TrainManager.train_and_validate = lambda manager, train_data, valid_data: watch.learn(
        manager, train_data, valid_data
    )
    train(rank=0, world_size=None, cfg=config, skip_test=True)


if __name__ == "__main__":
    main()
