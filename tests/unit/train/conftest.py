"""A corpus of a few lines, settings that take a second, and a model that was trained so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.config import Config
from glassformer.train import train

LINES = [
    f"the {a} {b} runs {c}" for a in ("red", "old", "big") for b in ("cat", "dog") for c in "xyz"
]
SETTINGS: dict[str, Any] = {
    "model": {
        "d_model": 16,
        "d_ff": 32,
        "heads": 2,
        "encoder_layers": 2,
        "decoder_layers": 1,
        "dropout": 0.2,
    },
    "text": {"vocabulary": 320},
    "train": {"steps": 6, "batch_tokens": 64, "validate_every": 3, "ema": 0.9, "precision": "fp32"},
    "decode": {"max_extra": 5},
}

Settings = Callable[..., Config]


def write_pairs(folder: Path, name: str, lines: list[str]) -> list[Path]:
    sides = {"en": lines, "xx": [line[::-1] for line in lines]}
    for side, texts in sides.items():
        (folder / f"{name}.{side}").write_text("\n".join(texts) + "\n", encoding="utf-8")
    return [folder / f"{name}.{side}" for side in sides]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_pairs(tmp_path_factory.mktemp("corpus"), "a", LINES)


@pytest.fixture(scope="session")
def other_corpus(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same kind of lines in words of which some are new."""
    lines = [line.replace("dog", "hedgehog").replace("big", "ébène") for line in LINES]
    return write_pairs(tmp_path_factory.mktemp("other"), "b", lines)


@pytest.fixture(scope="session")
def parent(tmp_path_factory: pytest.TempPathFactory, corpus: list[Path]) -> Path:
    out = tmp_path_factory.mktemp("parent") / "first"
    train(Config.read(SETTINGS), corpus, out, quiet=True)
    return out


@pytest.fixture(scope="session")
def settings() -> Settings:
    """The settings, with others on top: settings(steps=3, dropout=0) finds their tables."""

    def make(**changes: Any) -> Config:
        raw = {table: dict(values) for table, values in SETTINGS.items()}
        for name, value in changes.items():
            raw["model" if name in ("dropout", "heads") else "train"][name] = value
        return Config.read(raw)

    return make
