"""The best N models of a training: which are kept, also after a kill, and their mean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from glassformer import Translator
from glassformer.extensions.averaging.averaging import average
from glassformer.model.files.tensors import load_tensors
from glassformer.train import resume, train
from glassformer.train.run.checkpoint import read_progress
from glassformer.train.run.updates import Updater

from .conftest import Settings


def read_kept(out: Path) -> dict[int, float]:
    progress = read_progress(max((out / "run/checkpoints").iterdir()))
    assert {int(path.name) for path in (out / "run/best").iterdir()} == {
        each.step for each in progress.kept_best
    }
    return {each.step: each.score for each in progress.kept_best}


def read_losses(out: Path) -> dict[int, float]:
    lines = map(json.loads, (out / "run/metrics.jsonl").read_text("utf-8").splitlines())
    return {line["step"]: line["valid loss"] for line in lines if "valid loss" in line}


def test_the_best_are_kept_and_averaged(
    tmp_path: Path, corpus: list[Path], settings: Settings
) -> None:
    """So few sentences are judged by their loss; the rate is so high that it goes up and down."""
    out = tmp_path / "out"
    config = settings(steps=9, validate_every=1, keep_best=3, learning_rate=0.3, ema=None)
    train(config, corpus, out, quiet=True, device="cpu")
    losses, kept = read_losses(out), read_kept(out)
    assert len(losses) == 9
    assert [*kept] == sorted(losses, key=lambda step: losses[step])[:3] != [9, 8, 7]
    average(out, tmp_path / "mean", best=2, device="cpu")
    parts = [load_tensors(out / f"run/best/{s:08d}/weights.safetensors") for s in [*kept][:2]]
    for name, tensor in load_tensors(tmp_path / "mean/model.safetensors").items():
        wanted = (parts[0][name].double() + parts[1][name].double()) / 2
        torch.testing.assert_close(tensor.double(), wanted, rtol=1e-6, atol=1e-7)
    folder = out / f"run/best/{next(iter(kept)):08d}"
    assert len(Translator.load(folder).translate(["the red cat"])) == 1
    with pytest.raises(ValueError, match=r"keeps 3 of its best.*train.keep_best=4"):
        average(out, tmp_path / "more", best=4)
    with pytest.raises(ValueError, match="last or best"):
        average(out, tmp_path / "more")


def test_a_kill_keeps_the_same(
    tmp_path: Path, corpus: list[Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(
        steps=9, validate_every=1, checkpoint_every=4, keep_best=2, learning_rate=0.3, ema=None
    )
    train(config, corpus, tmp_path / "whole", quiet=True)
    update = Updater.update

    def dies(self: Updater, step: int, *rest: object) -> object:
        if step == 8:
            raise KeyboardInterrupt
        return update(self, step, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Updater, "update", dies)
    with pytest.raises(KeyboardInterrupt):
        train(config, corpus, tmp_path / "broken", quiet=True)
    monkeypatch.undo()
    resume(tmp_path / "broken", quiet=True)
    assert read_kept(tmp_path / "broken") == read_kept(tmp_path / "whole")


def test_a_short_training_has_fewer(tmp_path: Path, corpus: list[Path], settings: Settings) -> None:
    config = settings(steps=2, validate_every=1, keep_best=3, ema=None)
    train(config, corpus, tmp_path / "out", quiet=True)
    with pytest.raises(ValueError, match=r"keeps 2 of its best.*been validated more often"):
        average(tmp_path / "out", tmp_path / "mean", best=3)
