"""Several seeds by one command: their folders, their scores, and after a stop the same."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest
import torch

from glassformer.cli import main
from glassformer.model.files.tensors import load_tensors
from glassformer.train.run.updates import Updater

from .conftest import LINES, Settings, write_pairs


@pytest.fixture
def given(tmp_path: Path, corpus: list[Path], settings: Settings) -> list[str]:
    (tmp_path / "c.toml").write_text(settings(seed=4).to_toml(), encoding="utf-8")
    test = write_pairs(tmp_path, "test", LINES[:3])
    words = [
        "train",
        str(tmp_path / "c.toml"),
        *map(str, corpus),
        "--seeds",
        "2",
        "--device",
        "cpu",
    ]
    return [
        *words,
        "--valid",
        str(test[0]),
        "--valid",
        str(test[1]),
        "--test",
        str(tmp_path / "test"),
    ]


def test_seeds_are_trained_and_scored(
    tmp_path: Path, given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "all"
    given[-1:] = [str(tmp_path / "test.en"), "--test", str(tmp_path / "test.xx")]
    assert main([*given, "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["seeds"] == [4, 5] and found["finished"]
    rows = found["results"]
    assert rows["4"].keys() == {
        "valid BLEU",
        "valid chrF2",
        "valid loss",
        "test BLEU",
        "test chrF2",
    }
    losses = [rows[seed]["valid loss"] for seed in ("4", "5")]
    assert found["mean"]["valid loss"] == pytest.approx(statistics.mean(losses))
    assert found["spread"]["valid loss"] == pytest.approx(statistics.stdev(losses)) != 0
    weights = [load_tensors(out / f"seed-{n}/model.safetensors") for n in (4, 5)]
    assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    main(
        [
            "evaluate",
            str(out / "seed-4"),
            str(tmp_path / "test.en"),
            str(tmp_path / "test.xx"),
            "--json",
        ]
    )
    scores = json.loads(capsys.readouterr().out)
    assert rows["4"]["test chrF2"] == pytest.approx(scores["scores"]["chrF2"]["value"])


@pytest.mark.parametrize(("last", "ended"), [(4, set[str]()), (5, {"4"})])
def test_a_stop_between_is_resumed(
    tmp_path: Path,
    given: list[str],
    last: int,
    ended: set[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = given[:-2]  # no test
    assert main([*given, "--out", str(tmp_path / "whole")]) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in table[:5]] == ["seed", "4", "5", "mean", "spread"]
    update = Updater.update

    def dies(self: Updater, step: int, *rest: object) -> object:
        if step == 4 and self.train.seed == last:
            raise KeyboardInterrupt
        return update(self, step, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Updater, "update", dies)
    out = tmp_path / "broken"
    assert main([*given, "--out", str(out)]) == 130
    monkeypatch.undo()
    assert json.loads((out / "seeds.json").read_text("utf-8"))["results"].keys() == ended
    capsys.readouterr()
    assert main(["train", "--resume", str(out), "--set", "train.steps=9"]) == 2
    assert "--set is for one, as in --resume" in capsys.readouterr().err
    assert main(["train", "--resume", str(out), "--device", "cpu"]) == 0
    assert capsys.readouterr().out.splitlines()[:5] == table[:5]
    assert main([*given, "--out", str(out)]) == 2
    assert "holds a training already" in capsys.readouterr().err


def test_all_seeds_hold_out_the_same_pairs(
    tmp_path: Path, given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for name, more in (("m", []), ("other", ["--hold-out-seed", "6"])):
        assert main([*given[:-6], "--out", str(tmp_path / name), *more]) == 0
        folders = [tmp_path / name / f"seed-{seed}" / "run" for seed in (4, 5)]
        texts = {(folder / "valid.source").read_text("utf-8") for folder in folders}
        assert len(texts) == 1
        found += texts
    assert found[0] != found[1]  # by another seed, other pairs
    assert main(["train", *given[2:4], "--out", "x", "--test", "y"]) == 2
    assert "--test has no effect without --seeds" in capsys.readouterr().err


def test_a_model_of_the_package_can_be_named(tmp_path: Path, given: list[str]) -> None:
    out = tmp_path / "m"
    assert main([*given[:-6], "--out", str(out), "--teacher", "demo"]) == 0
    assert (out / "seed-5" / "run" / "distilled" / "0.tsv").is_file()
