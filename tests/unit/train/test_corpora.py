"""A training of several corpora and languages, from the paths to the translation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glassformer import Translator
from glassformer.config import Config
from glassformer.extensions.serve.service.model_pool import ModelPool
from glassformer.train import resume, train
from glassformer.train.publish.golden import check_golden

from .conftest import SETTINGS


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, corpus: list[Path]) -> Path:
    out = tmp_path_factory.mktemp("several") / "model"
    source, target = map(str, corpus)
    data = [source, f"{target},langs=en-xx", target, f"{source},langs=xx-en,weight=1.5,name=back"]
    how = {"source_lang": "en", "target_lang": "xx"}
    train(Config.read({**SETTINGS, "data": how}), data, out, quiet=True)
    return out


def test_one_folder_translates_every_pair(model: Path) -> None:
    with pytest.raises(ValueError, match="several languages were trained, en-xx, xx-en"):
        Translator.load(model)
    to, back = Translator.load(f"{model}@xx"), Translator.load(model, to="xx-en")
    tags = [
        each.tokenizers.source.token(each.reader.encode(["the cat"])[0][0]) for each in (to, back)
    ]
    assert tags == ["<2xx>", "<2en>"]
    assert "<2" not in to.translate("the cat runs")
    assert to.reader.tokenize("the cat").spans[:2] == ((0, 0), (0, 3))
    other = to.with_settings(back.config)
    assert other.weights is to.weights
    assert other.search("the red cat")[0].log_prob == back.search("the red cat")[0].log_prob
    assert check_golden(model) == []


def test_the_server_has_each_pair_and_one_copy_of_the_weights(model: Path) -> None:
    pool = ModelPool([model])
    first, second = pool.find_pair("en", "xx"), pool.find_pair("xx", "en")
    assert first and second and first.id != second.id
    assert pool.load(first).weights is pool.load(second).weights
    assert pool.load(first).reader.tags != pool.load(second).reader.tags
    (only,) = ModelPool([f"{model}@xx"]).models.values()
    assert (only.source, only.target) == ("en", "xx")


def test_each_corpus_is_scored_and_counted(model: Path) -> None:
    lines = (model / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    scored = [found for line in lines if "pairs" in (found := json.loads(line))]
    assert scored[-1]["pairs"].keys() == {"a", "back"}
    assert {f"valid {name} loss" for name in ("a", "back")} <= scored[-1].keys()


def test_resuming_reads_the_same_pairs(tmp_path: Path, corpus: list[Path]) -> None:
    data = [f"{corpus[0]}", f"{corpus[1]}", f"{corpus[0]}", f"{corpus[1]},weight=0.7,tag=bt"]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    config = Config.read(SETTINGS).changed(train={"warmup": 2})
    train(config, data, whole, quiet=True)
    train(config.changed(train={"steps": 3}), data, cut, quiet=True)
    resume(cut, changes=["train.steps=6"], accept_changed_settings=True, quiet=True)
    last = Path("run", "checkpoints", "00000006", "weights.safetensors")
    assert (whole / last).read_bytes() == (cut / last).read_bytes()
    assert "paths" not in (cut / "config.toml").read_text(encoding="utf-8")


def test_pairs_from_memory_are_found_again(tmp_path: Path) -> None:
    rows = [(f"the cat number {n}", f"le chat numéro {n}") for n in range(60)]
    train(Config.read(SETTINGS), pairs=iter(rows), out=tmp_path / "m", quiet=True)
    resume(tmp_path / "m", changes=["train.steps=8"], accept_changed_settings=True, quiet=True)
    assert (tmp_path / "m" / "run" / "pairs" / "pairs.jsonl").is_file()
    for data, said in ((["x"], "give one of them"), ([], "pairs is empty")):
        with pytest.raises(ValueError, match=said):
            train(Config.read(SETTINGS), data, tmp_path / "n", pairs={} if not data else rows)
