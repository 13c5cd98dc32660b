"""What a checkpoint holds, and that nothing of it can change unnoticed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from glassformer.config import Config
from glassformer.train.run.checkpoint import checkpoints, find_damage, settings_of

FILES = ["averaged.safetensors", "config.toml", "optimizer.safetensors", "weights.safetensors"]


@pytest.fixture
def checkpoint(parent: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(checkpoints(parent / "run/checkpoints")[-1], tmp_path / "00000006"))


def test_it_has_the_settings_it_was_made_with(parent: Path, checkpoint: Path) -> None:
    assert sorted(path.name for path in checkpoint.iterdir()) == sorted([*FILES, "progress.json"])
    assert settings_of(checkpoint) == Config.load(parent / "config.toml")
    (checkpoint / "config.toml").unlink()
    assert settings_of(checkpoint) is None


@pytest.mark.parametrize("name", FILES)
def test_a_changed_or_missing_file_is_named(checkpoint: Path, name: str) -> None:
    assert find_damage(checkpoint) == ""
    content = (checkpoint / name).read_bytes()
    (checkpoint / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert find_damage(checkpoint) == f"{name} is not as it was written"
    (checkpoint / name).unlink()
    assert find_damage(checkpoint) == f"{name} is missing"
