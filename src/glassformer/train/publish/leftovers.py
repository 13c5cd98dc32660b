"""A training leaves files in a model's folder beside the model: their sizes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from ...model.files.directory import CHECKPOINTS, RUN, VALID, VALID_CONTEXT

STORE = "store"  # a folder in `run`: the training text as ids


@dataclass(frozen=True)
class Contents:
    """The sizes in bytes of the folder `run` of a model, by kind of file."""

    checkpoints: int
    training_text: int
    validation_text: int
    rest: int

    @property
    def total(self) -> int:
        return sum(asdict(self).values())

    def __str__(self) -> str:
        parts = (
            f"{name.replace('_', ' ')} {tell_size(n)}" for name, n in asdict(self).items() if n
        )
        return f"{tell_size(self.total)}: {', '.join(parts)}"

    def to_json(self) -> dict[str, int]:
        return {"bytes": self.total, **asdict(self)}


def measure_run(folder: Path) -> Contents | None:
    """Return the sizes of the training's files in a model's folder; None if there are none."""
    run = folder / RUN
    if not run.is_dir():
        return None
    kinds = {CHECKPOINTS: "checkpoints", STORE: "training_text"}
    kinds |= dict.fromkeys((*VALID, VALID_CONTEXT), "validation_text")
    sizes = dict.fromkeys(("checkpoints", "training_text", "validation_text", "rest"), 0)
    for path in run.rglob("*"):
        if path.is_file():
            kind = kinds.get(path.relative_to(run).parts[0], "rest")
            sizes[kind] += path.stat().st_size
    return Contents(**sizes)


def tell_size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size:,} bytes"
