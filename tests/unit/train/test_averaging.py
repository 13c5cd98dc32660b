"""The mean of several checkpoints: its weights, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from glassformer.config import Config
from glassformer.extensions.averaging import averaging
from glassformer.extensions.averaging.averaging import average
from glassformer.foundation.progress import Reporter
from glassformer.model.files.tensors import load_tensors
from glassformer.train import train
from glassformer.train.plan.preparation import prepare_run
from glassformer.train.publish.card import read_facts

from .conftest import LINES, Settings, write_pairs


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    corpus = write_pairs(folder, "a", [f"{line} {number}" for line in LINES for number in range(9)])
    train(settings(checkpoint_every=3, keep=2), corpus, folder / "m", quiet=True)
    return folder / "m"


def test_weights_are_the_mean_of_the_latest(run: Path, tmp_path: Path) -> None:
    kept = sorted((run / "run/checkpoints").iterdir())
    assert len(kept) == 2
    for last in (1, 2):
        out = tmp_path / str(last)
        found = average(run, out, last, device="cpu")
        parts = [load_tensors(path / "weights.safetensors") for path in kept[-last:]]
        for name, tensor in load_tensors(out / "model.safetensors").items():
            wanted = sum(part[name].double() for part in parts) / last
            torch.testing.assert_close(tensor.double(), wanted, rtol=1e-6, atol=1e-7)
        sources, references = prepare_run(run, Reporter(quiet=True)).valid
        shown = found.sample["source"], found.sample["reference"]
        assert len(sources) > 1 and shown == (sources[0], references[0])
        facts = read_facts(out)
        assert facts["training"]["mean_of"] == [int(path.name) for path in kept[-last:]]
        assert facts["training"]["best_step"] == int(kept[-1].name)
        assert facts["scores"] == pytest.approx(found.values())
        assert Config.load(out / "config.toml").model == Config.load(run / "config.toml").model


@pytest.mark.parametrize("last", [-1, 0, 3])
def test_no_more_than_there_are(run: Path, tmp_path: Path, last: int) -> None:
    with pytest.raises(ValueError, match=f"keeps 2 checkpoints, so last={last} is not possible"):
        average(run, tmp_path / "out", last)
    assert not (tmp_path / "out").exists()


def test_nothing_is_left_of_a_full_disk(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space is left")

    monkeypatch.setattr(averaging, "write_golden", fail)
    with pytest.raises(OSError, match="no space"):
        average(run, tmp_path / "out", 1, device="cpu")
    assert [*tmp_path.iterdir()] == []


def test_a_folder_of_other_files_is_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="is there already: name a new folder"):
        average(run, tmp_path, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_nothing_is_written_over(run: Path) -> None:
    with pytest.raises(ValueError, match="holds a model already: choose another --out"):
        average(run, run, 1)
    with pytest.raises(ValueError, match="holds no training with checkpoints"):
        average(run / "run", run, 1)
