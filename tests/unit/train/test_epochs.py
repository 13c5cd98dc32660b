"""Epochs as the unit of the end and of the validations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.config import Config
from glassformer.data.batches import Batches
from glassformer.data.store import Store
from glassformer.train import resume, start, train

from .conftest import Settings


def read_ends(batches: Batches, epochs: int) -> int:
    """The updates that epochs need, counted batch by batch."""
    return next(n for n in range(10_000) if batches.place(n) == (epochs, 0))


def test_epochs_are_turned_into_updates(
    tmp_path: Path, corpus: list[Path], settings: Settings
) -> None:
    out = tmp_path / "out"
    config = settings(steps=None, epochs=3, validate_every=None, pad_to=1)
    summary = train(config, corpus, out, quiet=True)
    batches = Batches(Store.open(out / "run/store"), batch_tokens=64, seed=1, pad_to=1)
    each = batches.count(0)
    assert summary.progress.step == summary.steps == read_ends(batches, 3) == 3 * each
    lines = map(json.loads, (out / "run/metrics.jsonl").read_text("utf-8").splitlines())
    assert [x["step"] for x in lines if "valid loss" in x] == [each, 2 * each, 3 * each]
    kept = Config.load(out / "run/config.toml").train
    assert (kept.epochs, kept.steps, kept.validate_every) == (None, 3 * each, each)
    how = {"changes": ["train.epochs=4"], "accept_changed_settings": True, "quiet": True}
    assert resume(out, **how).progress.step == 4 * each


@pytest.mark.parametrize(("samples", "weights"), [(1, ()), (3, ()), (1, (1.5,))])
@pytest.mark.parametrize("accumulate", [1, 3])
def test_updates_are_counted(
    tmp_path: Path,
    corpus: list[Path],
    settings: Settings,
    samples: int,
    weights: tuple[float, ...],
    accumulate: int,
) -> None:
    config = settings(steps=1, validate_every=1).changed(
        text={"dropout": 0.2 if samples > 1 else 0.0, "samples": samples}
    )
    train(config, corpus, tmp_path / "m", quiet=True)
    store = Store.open(tmp_path / "m/run/store")
    batches = Batches(store, batch_tokens=64, seed=1, pad_to=1, weights=weights)
    counts = [batches.count(epoch) for epoch in range(8)]
    assert batches.count_updates(7, accumulate) == -(-sum(counts[:7]) // accumulate)
    half = sum(counts[:2]) + round(counts[2] / 2)
    assert batches.count_updates(2.5, accumulate) == -(-half // accumulate)


def test_an_end_is_said_once(corpus: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", *map(str, corpus), "--out", "x", "--epochs", "2", "--steps", "3"]
    assert main(words) == 2
    assert "--epochs both say when to stop: give one" in capsys.readouterr().err
    with pytest.raises(ValueError, match="steps and epochs both say"):
        Config.read({"train": {"steps": 3, "epochs": 2}})


def test_a_stop_before_the_first_update_says_how_to_go_on(
    tmp_path: Path,
    corpus: list[Path],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as changed:
        changed.setattr(start, "settle", stop)
        with pytest.raises(KeyboardInterrupt):
            train(settings(steps=2), corpus, tmp_path / "m")
    assert f"glassformer train --resume {tmp_path / 'm'}" in "".join(capsys.readouterr())
    assert resume(tmp_path / "m", quiet=True).is_finished
