"""Stages of a curriculum: what each update reads, also after a stop, and what is counted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from glassformer.config import Config
from glassformer.data.batches import Batches
from glassformer.data.store import Store
from glassformer.extensions.ideas.curriculum import add_stages, count_pairs
from glassformer.model.files.directory import Tokenizers
from glassformer.train import resume, train

from .conftest import SETTINGS

STAGES = [{"corpora": ["a"], "until": 0.5}, {"corpora": ["b"], "until": 0.8}]


@pytest.fixture(scope="module")
def data(corpus: list[Path], other_corpus: list[Path]) -> list[str]:
    return [str(path) for path in (*corpus, *other_corpus)]


def configure(*stages: dict[str, Any], **changes: Any) -> Config:
    raw = {**SETTINGS, "data": {"stage": list(stages)}}
    return Config.read(raw).changed(train={"steps": 10, "checkpoint_every": 4, **changes})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, data: list[str]) -> Path:
    out = tmp_path_factory.mktemp("staged") / "model"
    train(configure(*STAGES, gradient_accumulation=2), data, out, quiet=True)
    return out


def stage(model: Path) -> Batches:
    config, store = Config.load(model / "run" / "config.toml"), Store.open(model / "run" / "store")
    sides = Tokenizers.load(model)
    batches = Batches(store, batch_tokens=64, seed=1, pad_to=4)
    add_stages(batches, config, store, (sides.source, sides.target), [1.0, 1.0])
    batches.share = lambda step: step / 10
    return batches


def test_each_update_reads_the_corpora_of_its_stage(model: Path) -> None:
    """Read by hand: the rows of each update belong to one corpus, and after the last to both."""
    batches, read = stage(model), []
    first = batches.mixture.starts[1]
    for step in range(10):
        now = batches.at(step)
        rows = [row for place in now.places(step, 2) for row in now.batch(*place).rows.tolist()]
        read.append(rows)
        assert all(row < first for row in rows) or step >= 5
        assert all(row >= first for row in rows) or not 5 <= step < 8
    assert {row >= first for rows in read[8:] for row in rows} == {True, False}
    for step in (0, 3, 5, 7, 10):
        rows = [row for rows in read[:step] for row in rows]
        wanted = [sum(row < first for row in rows), sum(row >= first for row in rows)]
        assert count_pairs(batches, step, 2) == wanted


def test_the_log_has_the_pairs_of_each_corpus(model: Path) -> None:
    lines = (model / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    logged = {line["step"]: line["pairs"] for line in map(json.loads, lines) if "pairs" in line}
    assert logged[3]["b"] == 0 < logged[3]["a"]
    assert logged[9]["b"] > 0
    counted = dict(zip("ab", count_pairs(stage(model), 9, 2), strict=True))
    assert logged[9] == counted


def test_a_stop_changes_nothing(tmp_path: Path, model: Path) -> None:
    cut, last = tmp_path / "cut", Path("run", "checkpoints", "00000010")
    shutil.copytree(model, cut)
    shutil.rmtree(cut / last)
    resume(cut, quiet=True)
    weights = last / "weights.safetensors"
    assert (model / weights).read_bytes() == (cut / weights).read_bytes()


def test_without_stages_all_is_read(tmp_path: Path, data: list[str]) -> None:
    """The first update of a training without stages reads both; so the stages change weights."""
    train(configure(gradient_accumulation=2), data, tmp_path / "m", quiet=True)
    lines = (tmp_path / "m" / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    logged = {line["step"]: line["pairs"] for line in map(json.loads, lines) if "pairs" in line}
    assert min(logged[3].values()) > 0


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ([{"corpora": ["c"]}], "no corpus is called c; a, b are"),
        ([{"corpora": ["a"]}, {"corpora": ["b"]}], "ends after the one before it"),
        ([{"corpora": ["a"], "until": 2}], "until"),
        ([{"corpora": []}], "corpora"),
    ],
)
def test_refused(tmp_path: Path, data: list[str], stages: list[Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        train(configure(*stages), data, tmp_path / "m", quiet=True)


def test_one_corpus_has_no_stages(tmp_path: Path, corpus: list[Path]) -> None:
    with pytest.raises(ValueError, match="there is only one"):
        train(configure(*STAGES[:1]), corpus, tmp_path / "m", quiet=True)
    assert not (tmp_path / "m").exists()
