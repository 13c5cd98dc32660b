"""Trainings of less than a second: begun, killed, resumed, and compared with undisturbed ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from glassformer.config import Config

from .processes import Ended, Zygote

LINES = [
    f"the {a} {b} runs {c}" for a in ("red", "old", "big") for b in ("cat", "dog") for c in "xyz"
]
SETTINGS: dict[str, dict[str, Any]] = {
    "model": {
        "d_model": 16,
        "d_ff": 32,
        "heads": 2,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "dropout": 0.3,
    },
    "text": {"vocabulary": 320, "dropout": 0.1, "samples": 2},
    "train": {
        "steps": 12,
        "batch_tokens": 64,
        "gradient_accumulation": 2,
        "validate_every": 6,
        "checkpoint_every": 3,
        "ema": 0.9,
        "schedule": "cosine",
        "precision": "fp32",
        "watch": 1,
    },
    "decode": {"max_extra": 5},
}
RECURRENT: dict[str, Any] = {
    "network": "rnn",
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "dropout": 0.3,
    "rnn": {"attention": "general"},
}
NO_TRAINING, WHOLE = "nothing was begun", "it went on"


class Trainings:
    """Trainings in processes of their own, and what each should have come to."""

    def __init__(self, zygote: Zygote, folder: Path) -> None:
        self.zygote, self.folder = zygote, folder
        self.made: dict[str, Path] = {}
        self.data = [folder / "a.en", folder / "a.xx"]
        for path, lines in zip(self.data, (LINES, [x[::-1] for x in LINES]), strict=True):
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def recipe(self, model: dict[str, Any] = SETTINGS["model"], **train: Any) -> Path:
        """A file of the settings; a setting that is None is left out."""
        raw = {**SETTINGS, "model": model, "train": {**SETTINGS["train"], **train}}
        raw["train"] = {name: value for name, value in raw["train"].items() if value is not None}
        text = Config.read(raw).to_toml()
        path = self.folder / f"{abs(hash(text))}.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def begin(self, out: Path, recipe: Path, *more: str, **how: Any) -> Ended:
        return self.zygote.run(*self.list_arguments(out, recipe), *more, **how)

    def list_arguments(self, out: Path, recipe: Path) -> list[str | Path]:
        data = [word for path in self.data for word in ("--data", path)]
        return ["train", recipe, *data, "--out", out]

    def resume(self, out: Path, *more: str, **how: Any) -> Ended:
        return self.zygote.run("train", "--resume", out, *more, **how)

    def undisturbed(self, recipe: Path, plan: Path | None = None) -> Path:
        """What a training comes to that nothing happens to."""
        key = recipe.read_text(encoding="utf-8")
        is_planned = plan is not None and plan.is_file()
        key += plan.read_text(encoding="utf-8") if plan and is_planned else ""
        if key not in self.made:
            out = self.folder / f"whole{len(self.made)}"
            if plan and is_planned:
                (out / "run").mkdir(parents=True)
                shutil.copy(plan, out / "run/plan.json")
            ended = self.begin(out, recipe)
            assert ended.code == 0, ended.said
            self.made[key] = out
        return self.made[key]

    def undisturbed_as(self, out: Path) -> Path:
        """What comes of the settings of `out` and of what was decided on the way, as it is."""
        return self.undisturbed(out / "run/config.toml", out / "run/plan.json")

    def go_on(self, out: Path, recipe: Path, *more: str) -> str:
        """Resume as a user would, to the end. Says from where it went on."""
        before = saved(out)
        ended = self.resume(out)
        if ended.code == 2 and "holds no training to resume" in ended.said:
            ended = self.begin(out, recipe, *more)
            assert before is None
            before = NO_TRAINING
        assert ended.code == 0, ended.said
        if before not in (None, NO_TRAINING):
            assert f"Going on after update {int(before):,}" in ended.said, "work was lost"
        return before or "before the first checkpoint"


def saved(out: Path) -> str | None:
    """The name of the last checkpoint that is there under its own name."""
    folder = out / "run/checkpoints"
    names = [path.name for path in folder.glob("*") if path.name.isdigit()]
    return max(names, default=None)


def results(out: Path) -> dict[str, bytes]:
    """Everything that must be the same, bit for bit."""
    last = saved(out)
    assert last, f"{out} has no checkpoint"
    files = [*out.glob("*.*"), *(out / "run/checkpoints" / last).glob("*.safetensors")]
    found = {str(path.relative_to(out)): path.read_bytes() for path in files if path.is_file()}
    found.pop("card.md")  # it has the seconds
    found["metrics"] = repr([*read_metrics(out)]).encode()
    return found


def read_metrics(out: Path) -> Iterator[dict[str, Any]]:
    """The lines of a training, without what the clock has to do with."""
    for line in (out / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        yield {name: told[name] for name in told if "second" not in name}


def assert_same(one: Path, other: Path) -> None:
    left, right = results(one), results(other)
    assert left.keys() == right.keys()
    differing = [name for name in left if left[name] != right[name]]
    assert not differing, f"{differing} of {one} and {other} differ"
    stray = [path for path in one.rglob("*") if path.suffix in (".partial", ".former")]
    assert not stray, f"left behind: {stray}"


def forget(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
