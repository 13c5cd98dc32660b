"""Several seeds by one command: their folders, their scores, and after a stop the same."""

from __future__ import annotations

import json
import shutil
import statistics
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from glassformer.cli import main
from glassformer.model.files.tensors import load_tensors
from glassformer.train import seeds, train_seeds
from glassformer.train.run.distributed import ProcessGroup
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


def test_an_installed_model_can_be_named(
    tmp_path: Path, parent: Path, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLASSFORMER_MODELS", str(tmp_path / "models"))
    shutil.copytree(parent, tmp_path / "models" / "own", ignore=shutil.ignore_patterns("run"))
    command = ["train", *given[2:4], "--seeds", "1", "--steps", "2", "--out", str(tmp_path / "m")]
    assert main([*command, "--from", "own"]) == 0
    (seed,) = (tmp_path / "m").glob("seed-*")
    assert json.loads((seed / "run/run.json").read_text("utf-8"))["parent"]["name"] == "own"


def test_what_did_not_begin_can_begin_anew(tmp_path: Path, given: list[str]) -> None:
    command = [*given[:-6], "--seeds", "1", "--out", str(tmp_path / "m")]
    assert main([*command, "--teacher", str(tmp_path / "none")]) == 2
    assert main(command) == 0


def test_the_settings_can_name_the_data(
    tmp_path: Path,
    corpus: list[Path],
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(corpus[0].parent)
    recipe = tmp_path / "c.toml"
    command = ["train", str(recipe), "--seeds", "1", "--out", str(tmp_path / "m")]
    for paths, code in (["-"], 2), ([path.name for path in corpus], 0):
        config = settings().changed(data={"corpus": [{"name": "a", "paths": paths}]})
        recipe.write_text(config.to_toml(), encoding="utf-8")
        assert main(command) == code
    assert "the standard input is read once" in capsys.readouterr().err
    plan = json.loads((tmp_path / "m" / "seeds.json").read_text("utf-8"))
    assert plan["settings"]["data"]["corpus"][0]["paths"] == [*map(str, corpus)]


def test_only_the_first_process_writes(
    tmp_path: Path, corpus: list[Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = ProcessGroup(rank=1, size=2)
    monkeypatch.setattr(seeds, "join_group", lambda _: nullcontext(second))
    for failures, message in ((1.0, "says why"), (0.0, "is not there on")):
        monkeypatch.setattr(ProcessGroup, "_wait", lambda *_, failures=failures: failures)
        with pytest.raises(ValueError, match=message):
            train_seeds(settings(), corpus, tmp_path / "m", 2)
    assert [*tmp_path.iterdir()] == []


def test_a_restart_by_torchrun_goes_on(
    tmp_path: Path, corpus: list[Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    results = train_seeds(settings(), corpus, tmp_path / "m", 1, quiet=True).results
    with pytest.raises(ValueError, match="holds a training already"):
        train_seeds(settings(), corpus, tmp_path / "m", 1, quiet=True)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert train_seeds(settings(), corpus, tmp_path / "m", 1, quiet=True).results == results
