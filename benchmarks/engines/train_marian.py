"""Marian in its own trainer, a process that is stopped between turns.

It makes its own batches of the same pairs, with as many target tokens, sorted by length, and splits
each among its threads.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from .turns import Turns

UPDATE = re.compile(r"Up\. \d.* @ ([\d,]+) after ")  # the group is the number of target tokens
WORKSPACE = 4000  # MiB that a thread may allocate


class Paused(Turns):
    """The turns of another process, which is stopped between them."""

    def _say(self, facts: dict[str, Any]) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        super()._say(facts)

    def _wait(self) -> None:
        super()._wait()
        os.kill(self.pid, signal.SIGCONT)


def describe(folder: Path, task: dict[str, Any]) -> list[str]:
    """Return the task as Marian's options; our ids are the words of its vocabulary."""
    model = task["model"]
    order = {"post": ("", "dan"), "pre": ("n", "da")}[model["norm"]]
    activation = model["activation"]
    given = {
        "type": "transformer",
        "model": str(folder / "marian" / "model.npz"),
        "train-sets": [str(folder / f"train.{side}") for side in ("source", "target")],
        "vocabs": [str(folder / "marian.yml")] * 2,
        "cpu-threads": os.environ.get("OMP_NUM_THREADS") or os.cpu_count(),
        "workspace": WORKSPACE,
        "seed": 1,
        "dim-emb": model["d_model"],
        "transformer-dim-ffn": model["d_ff"],
        "transformer-heads": model["heads"],
        "enc-depth": model["encoder_layers"],
        "dec-depth": model["decoder_layers"],
        "transformer-ffn-activation": "swish" if activation == "silu" else activation,
        "transformer-dropout": model["dropout"],
        "transformer-preprocess": order[0],
        "transformer-postprocess": order[1],
        "label-smoothing": task["label_smoothing"],
        "clip-norm": task["max_grad_norm"],
        "optimizer-params": [*task["betas"], task["epsilon"]],
        "learn-rate": 0.0001,
        "mini-batch": 10_000,
        "mini-batch-words": task["batch_tokens"],
        "max-length": 1000,
        "disp-freq": "1u",
        "save-freq": "1000000u",
        "sigterm": "exit-immediately",
    }
    options = ["--tied-embeddings-all", "--sync-sgd", "--shuffle-in-ram"]
    for name, value in given.items():
        options += [f"--{name}", *map(str, value if isinstance(value, list) else [value])]
    return options


def write_words(folder: Path, vocabulary: int) -> None:
    words = ["</s>", "<unk>", *map(str, range(2, vocabulary))]
    lines = (f"{json.dumps(word)}: {number}\n" for number, word in enumerate(words))
    (folder / "marian.yml").write_text("".join(lines), encoding="utf-8")
    (folder / "marian").mkdir(exist_ok=True)


def count_tokens(path: Path) -> int:
    """Return the number of tokens in a file, EOS of each line included."""
    with path.open(encoding="utf-8") as lines:
        return sum(len(line.split()) + 1 for line in lines)


def main() -> None:
    folder = Path(sys.argv[1])
    task: dict[str, Any] = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    write_words(folder, task["vocabulary"])
    sides = [count_tokens(folder / f"train.{side}") for side in ("source", "target")]
    command = [sys.executable, "-m", "pymarian", *describe(folder, task)]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")
    turns = Paused(child.pid)
    is_ready = False
    try:
        assert child.stderr
        for line in child.stderr:
            found = UPDATE.search(line)
            if not found:
                print(line, end="", file=sys.stderr)
            elif not is_ready:
                is_ready = True
                turns.ready()
            else:
                tokens = int(found[1].replace(",", ""))
                turns.tick(updates=1, target=tokens, source=tokens * sides[0] / sides[1])
    finally:
        child.kill()
        child.wait()


if __name__ == "__main__":
    main()
