"""A training of several corpora and languages, from the paths to the translation."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from glassformer import Translator
from glassformer.config import Config
from glassformer.extensions.serve.service.model_pool import ModelPool
from glassformer.extensions.short_list.shortlisting import make_shortlist
from glassformer.extensions.site.portable import pack_model
from glassformer.foundation.shared_library import load_library
from glassformer.model.files.directory import SHORTLIST
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


def test_the_server_has_each_source_of_a_target(model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(model, tmp_path / "many", ignore=shutil.ignore_patterns("run"))
    config = Config.load(copy / "config.toml")
    first = config.data.corpus[0].model_dump(exclude_none=True)
    other = {**first, "name": "de", "source_lang": "de", "target_lang": "xx"}
    config = config.changed(data={"corpus": [first, other]})
    (copy / "config.toml").write_text(config.to_toml(), "utf-8")
    pool = ModelPool([f"{copy}@xx"])
    assert [(each.source, each.target) for each in pool.models.values()] == [
        ("en", "xx"),
        ("de", "xx"),
    ]
    for each in pool.models.values():
        assert pool.load(each).config.data.source_lang == each.source
    (only,) = ModelPool([f"{copy}@de-xx"]).models.values()
    assert only.source == "de"
    with pytest.raises(ValueError, match="no translation to fr was trained"):
        ModelPool([f"{copy}@fr"])


@pytest.mark.skipif(load_library("engine") is None, reason="no library here")
def test_a_short_list_is_of_one_pair(model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(model, tmp_path / "both", ignore=shutil.ignore_patterns("run"))
    pairs = [("the cat runs", "the cat runs")] * 5
    with pytest.raises(ValueError, match="several languages were trained"):
        make_shortlist(copy, pairs)
    assert not (copy / SHORTLIST).exists()
    assert make_shortlist(f"{copy}@xx", pairs).lines
    assert (copy / SHORTLIST).is_file()
    to = Translator.load(f"{copy}@xx", device="cpu", precision="int8")
    back = to.with_settings(Config.load(copy / "config.toml").narrow("xx-en"))
    listed = {"shortlist": True}
    assert to.search("the cat", decode=listed)
    with pytest.raises(ValueError, match="short-list is for another target language"):
        back.search("the cat", decode=listed)
    assert back.search("the cat")


def test_a_page_has_one_pair_and_its_tag(model: Path) -> None:
    with pytest.raises(ValueError, match=r"model: several languages were trained, en-xx, xx-en"):
        pack_model(model)
    for pair, wanted in (("xx", ("en", "xx", "<2xx>")), ("xx-en", ("xx", "en", "<2en>"))):
        file = pack_model(f"{model}@{pair}")
        head = json.loads(file[8 : 8 + int.from_bytes(file[:8], "little")])
        described = json.loads(head["__metadata__"]["model"])
        (tag,) = described["tags"]
        result = (
            described["source"],
            described["target"],
            described["tokenizers"][0]["vocabulary"][tag],
        )
        assert (result, described["id"]) == (wanted, f"model@{pair}")


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
    (tmp_path / "m" / "run" / "run.json").unlink()
    with pytest.raises(ValueError, match="holds a model already"):
        train(Config.read(SETTINGS), pairs={"other": rows}, out=tmp_path / "m")
    assert not (tmp_path / "m" / "run" / "pairs" / "other.jsonl").exists()
    alone = Config.read(SETTINGS).changed(train={"rdrop_alpha": 1}, model={"dropout": 0})
    with pytest.raises(ValueError, match="rdrop_alpha has no effect"):
        train(alone, pairs=rows, out=tmp_path / "n")
    assert not (tmp_path / "n").exists()


@pytest.mark.parametrize("context", [0, 1])
def test_validation_lines_without_room_are_left_out(
    tmp_path: Path, corpus: list[Path], capsys: pytest.CaptureFixture[str], context: int
) -> None:
    """They would end the training at its first validation."""
    long = " ".join(["cat"] * 90)
    for place, line in ((0, long), (1, "short")):
        lines = [path.read_text(encoding="utf-8").splitlines()[0] for path in corpus]
        text = [f"{line}\n{lines[0]}\n{long}\n", f"{long}\n{lines[1]}\n{line}\n"][place]
        (tmp_path / f"valid.{('en', 'xx')[place]}").write_text(text, encoding="utf-8")
    valid = [tmp_path / "valid.en", tmp_path / "valid.xx"]
    config = Config.read({**SETTINGS, "data": {"context": context}})
    config = config.changed(model={"positions": {"max_positions": 64}})
    assert train(config, corpus, tmp_path / "m", valid=valid).progress.scored_sentences == 1
    assert "valid.xx: 2 lines too long for model.positions.max_pos" in capsys.readouterr().err
    for path in valid:
        path.write_text(f"{long}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"no whole pair to validate on \(1 line too long"):
        train(config, corpus, tmp_path / "n", valid=valid, quiet=True)
    assert not (tmp_path / "n").exists()


def test_the_limit_that_leaves_pairs_out_is_named(
    tmp_path: Path, corpus: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for path in corpus:
        lines = path.read_text(encoding="utf-8") + " ".join(["cat"] * 90) + "\n"
        (tmp_path / path.name).write_text(lines, encoding="utf-8")
    data = [tmp_path / path.name for path in corpus]
    for changes, limit in (
        (
            {"model": {"positions": {"max_positions": 64}}},
            "model.positions.max_positions=64 allows",
        ),
        ({"data": {"max_length": 63}}, "data.max_length=63 tok"),
    ):
        config = Config.read(SETTINGS).changed(**changes)
        train(config, data, tmp_path / limit, valid=corpus)
        assert f"5% of the pairs are longer than {limit}" in capsys.readouterr().err
