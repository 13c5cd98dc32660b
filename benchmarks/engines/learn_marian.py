"""Marian's training, stopped at so many CPU-seconds to translate a test set with 5 beams.

It is called with TASK CPU-SECONDS; TASK is as for `learn_joeynmt`. Marian learns from the same
tokens with the same schedule: Adam, a warm-up and then the inverse square root. As in Marian's own
settings for a Transformer, the model that translates is a running mean of the weights. Its trainer
is another process: `ps` says the seconds of the processor that it has used since its training
began, and SIGTERM lets it save and end. The result is written to marian.jsonl.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .learning import read_settings, write_result
from .train_marian import count_tokens, describe, write_words

PROGRESS = re.compile(r"Ep\. ([\d,]+) : Up\. ([\d,]+) : Sen\. ([\d,]+) ")
SEARCH = {"beam_size": 5, "normalize": 1.0}
TOLD = 100  # updates between two lines about the loss
PAUSE = 0.5  # seconds between two questions to ps


def learn(folder: Path, limit: float) -> None:
    """Train until the limit, and translate the test."""
    task, chosen = read_settings(folder)
    shutil.rmtree(folder / "marian", ignore_errors=True)
    write_words(folder, task["vocabulary"])
    command = [sys.executable, "-m", "pymarian", *describe_learning(folder, task, chosen)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as child:
        try:
            cpu, updates, epochs = watch(child, limit, count_pairs(folder))
        finally:
            child.kill()
    whole = sum(count_tokens(folder / f"train.{side}") for side in ("source", "target"))
    tokens = round(whole * epochs)
    write_result(folder / "marian.jsonl", cpu, updates, tokens, translate(folder))


def describe_learning(folder: Path, task: dict[str, Any], chosen: dict[str, Any]) -> list[str]:
    """Return Marian's options for the task and the chosen schedule."""
    options = describe(folder, task)
    given = {
        "seed": chosen["seed"],
        "learn-rate": chosen["rate"],
        "lr-warmup": chosen["warmup"],
        "lr-decay-inv-sqrt": chosen["warmup"],
        "cost-type": "ce-mean-words",
        "exponential-smoothing": 1e-4,
        "sigterm": "save-and-exit",
    }
    if task["model"]["norm"] == "pre":
        given["transformer-postprocess-top"] = "n"  # the norm after the last layer
    for name, value in given.items():
        if f"--{name}" in options:
            options[options.index(f"--{name}") + 1] = str(value)
        else:
            options += [f"--{name}", str(value)]
    return options


def count_pairs(folder: Path) -> int:
    with (folder / "train.target").open(encoding="utf-8") as lines:
        return sum(1 for _ in lines)


def watch(child: subprocess.Popen[str], limit: float, pairs: int) -> tuple[float, int, float]:
    """Let the child end at the limit; return its CPU-seconds, updates and epochs."""
    began, cpu, asked = -1.0, 0.0, 0.0
    updates, epochs = 0, 0.0
    assert child.stderr
    for line in child.stderr:
        found = PROGRESS.search(line)
        if not found:
            print(line, end="", file=sys.stderr)
            if "Training started" in line:
                began = ask_seconds(child.pid)
            continue
        epoch, updates, seen = (int(number.replace(",", "")) for number in found.groups())
        epochs = epoch - 1 + seen / pairs
        if updates % TOLD == 0:
            print(line, end="", file=sys.stderr)
        if cpu < limit and time.monotonic() - asked > PAUSE:
            cpu, asked = ask_seconds(child.pid) - began, time.monotonic()
            if cpu >= limit:
                child.terminate()
    if cpu < limit or began < 0:
        raise SystemExit("Marian ended before its time")
    return cpu, updates, epochs


def ask_seconds(pid: int) -> float:
    """Return the seconds of the processor that another process has used."""
    command = ["ps", "-o", "time=", "-p", str(pid)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    return read_seconds(told)


def read_seconds(told: str) -> float:
    """Return the seconds of [days-][hours:]minutes:seconds, as `ps` writes them."""
    days, _, clock = told.strip().rpartition("-")
    seconds = 0.0
    for number in clock.split(":"):
        seconds = 60 * seconds + float(number)
    return seconds + 86400 * int(days or 0)


def translate(folder: Path) -> list[str]:
    """Return the tokens of each translation."""
    from pymarian import Translator

    translator = Translator(
        models=[str(folder / "marian" / "model.npz")],
        vocabs=[str(folder / "marian.yml")] * 2,
        cpu_threads=1,
        mini_batch=32,
        maxi_batch=100,
        maxi_batch_sort="src",
        quiet="",
        **SEARCH,
    )
    source = (folder / "test.source").read_text(encoding="utf-8").removesuffix("\n")
    said: str = translator.translate(source)
    return said.removesuffix("\n").split("\n")


if __name__ == "__main__":
    learn(Path(sys.argv[1]), float(sys.argv[2]))
