"""A training with data.context: its validation text, its resuming, and what it says of itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.config import SEPARATOR, Config
from glassformer.data.store import Store
from glassformer.extensions.bridge.ctranslate2 import export_ctranslate2
from glassformer.extensions.bridge.onnx import export_onnx
from glassformer.extensions.site.portable import pack_model
from glassformer.model.files.directory import Tokenizers
from glassformer.train import resume, train
from glassformer.train.plan.preparation import prepare_run
from glassformer.train.plan.run_folder import read_extended_valid, read_valid
from glassformer.train.publish.golden import check_golden
from glassformer.translator import Translator

from .conftest import LINES, SETTINGS

ROWS = [
    row for n, line in enumerate(LINES) for row in ([line] if n % 4 else ["", line])
]  # documents of four lines


def write(folder: Path) -> list[Path]:
    for side, lines in (("en", ROWS), ("xx", [row[::-1] for row in ROWS])):
        (folder / f"a.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [folder / "a.en", folder / "a.xx"]


def choose(**train_settings: object) -> Config:
    config = Config.read(SETTINGS).changed(train={"warmup": 2, **train_settings})
    return config.changed(data={"context": 2})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("context")
    train(choose(), write(folder), folder / "m", quiet=True)
    return folder / "m"


def test_empty_lines_are_counted_as_no_pairs(model: Path) -> None:
    counts = Store.open(model / "run" / "store").counts
    assert counts.empty == 0
    assert counts.kept + len(read_valid(model / "run")[0]) == len(LINES)
    assert SEPARATOR in Tokenizers.load(model).source.tags


def test_the_validation_text_keeps_its_context(model: Path) -> None:
    sources, _ = read_valid(model / "run")
    extended, _ = read_extended_valid(model / "run")
    for alone, source in zip(sources, extended, strict=True):
        place = ROWS.index(alone)
        first = max(n for n in range(place) if not ROWS[n]) + 1
        assert source.split("\n") == ROWS[max(first, place - 2) : place + 1]


def test_no_held_out_source_is_in_the_store(model: Path) -> None:
    held = set(read_valid(model / "run")[0])
    tokenizer, store = Tokenizers.load(model).source, Store.open(model / "run" / "store")
    (separator,) = tokenizer.find_tags([SEPARATOR])
    read = [store.source(pair, 0).tolist() for pair in range(len(store))]
    lines = [" ".join(map(str, ids)).split(f" {separator} ") for ids in read]
    texts = {tokenizer.decode(map(int, line.split())) for each in lines for line in each}
    assert texts == set(LINES) - held
    assert max(map(len, lines)) == 3


def test_a_damaged_context_is_named(model: Path, tmp_path: Path) -> None:
    for name in ("valid.source", "valid.target", "valid.context"):
        (tmp_path / name).write_bytes((model / "run" / name).read_bytes())
    for text, said in (("", "has 0 lines but valid.source"), ("[\n", "valid.context: damaged")):
        (tmp_path / "valid.context").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=said):
            read_extended_valid(tmp_path)


def test_resuming_reads_the_same(tmp_path: Path) -> None:
    paths, whole, cut = write(tmp_path), tmp_path / "whole", tmp_path / "cut"
    train(choose(), paths, whole, quiet=True)
    train(choose(steps=3), paths, cut, quiet=True)
    resume(cut, changes=["train.steps=6"], accept_changed_settings=True, quiet=True)
    last = Path("run", "checkpoints", "00000006", "weights.safetensors")
    assert (whole / last).read_bytes() == (cut / last).read_bytes()
    before = Store.open(cut / "run" / "store")
    ids = [before.source(pair, 0).tolist() for pair in range(len(before))]
    del before
    (cut / "run" / "store" / "source.0.ids").write_bytes(b"")  # made again, of the same lines
    resume(cut, changes=["train.steps=7"], accept_changed_settings=True, quiet=True)
    again = Store.open(cut / "run" / "store")
    assert [again.source(pair, 0).tolist() for pair in range(len(again))] == ids
    with pytest.raises(ValueError, match=r"data\.context was 2 and is now 1, but the store"):
        resume(cut, changes=["data.context=1"], quiet=True)


def test_pairs_from_python_are_documents(tmp_path: Path) -> None:
    rows = [(row, row[::-1]) for row in ROWS]
    train(choose(), pairs=iter(rows), out=tmp_path / "m", quiet=True)
    counts = Store.open(tmp_path / "m" / "run" / "store").counts
    assert counts.empty == 0 < counts.kept


def test_several_corpora_with_tags(tmp_path: Path) -> None:
    """Tags stand first; a document does not go on in the next corpus."""
    paths = [*map(str, write(tmp_path))]
    data = [*paths, paths[0], f"{paths[1]},weight=0.7,tag=bt,name=b"]
    train(choose(), data, tmp_path / "m", quiet=True)
    store, tokenizer = Store.open(tmp_path / "m" / "run" / "store"), Tokenizers.load(tmp_path / "m")
    bt, separator = tokenizer.source.find_tags(["<bt>", SEPARATOR])
    for pair in range(len(store)):
        ids = store.source(pair, 0).tolist()
        assert (ids[0] == bt) == (pair >= store.starts[1])
        assert bt not in ids[1:]
    assert separator not in store.source(0, 0)
    assert separator not in store.source(int(store.starts[1]), 0)


def test_limits_are_learned_from_the_sentence_alone(model: Path) -> None:
    prepared = prepare_run(model, Quiet())  # type: ignore[arg-type]
    assert prepared.config.text.split_above == max(
        len(prepared.tokenizers.source.encode(line)) for line in LINES
    )


class Quiet:
    def say(self, text: str) -> None: ...


def test_the_model_says_again_what_it_said(model: Path) -> None:
    assert check_golden(model) == []
    lines = json.loads((model / "golden.json").read_text(encoding="utf-8"))["lines"]
    assert not any("\n" in line["source"] for line in lines)


def test_validation_is_a_search_with_the_context(model: Path) -> None:
    """The loss of the last validation is that of the score of the extended sources."""
    translator = Translator.load(model, device="cpu", precision="fp32")
    assert translator.reader.context == 2
    found = translator.score(*read_extended_valid(model / "run"))
    loss = -sum(each.log_prob for each in found) / sum(len(each.token_log_probs) for each in found)
    lines = (model / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    scored = [json.loads(line)["valid loss"] for line in lines if "valid loss" in line]
    assert min(abs(loss - each) for each in scored) < 1e-3


def test_other_engines_and_pages_refuse(model: Path, tmp_path: Path) -> None:
    for export in (export_ctranslate2, export_onnx):
        with pytest.raises(ValueError, match=r"has data\.context=2, which .* does not know"):
            export(model, tmp_path / "out")
    with pytest.raises(ValueError, match="a page cannot read the sentences before a sentence"):
        pack_model(model)


def test_lines_of_a_file_are_one_document(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("".join(f"{row}\n" for row in ROWS), encoding="utf-8")
    translator = Translator.load(model, device="cpu", precision="fp32")
    wanted = translator.translate(ROWS, as_document=True, again=False)
    found = translator.search(ROWS, as_document=True)
    asked = ["translate", str(model), str(tmp_path / "text"), "--precision", "fp32", "--no-guard"]
    for chunk in ("1", "5", "1000"):
        assert main([*asked, "--json", "--chunk", chunk]) == 0
        told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [each["translation"] for each in told] == wanted
        log_probs = [best.log_prob for best, *_ in found]
        assert [each["log_prob"] for each in told] == pytest.approx(log_probs, abs=5e-6)
    alone = [best.log_prob for best, *_ in translator.search(ROWS)]
    assert alone != pytest.approx(log_probs, abs=5e-6)
    (tmp_path / "said").write_text("".join(f"{row}\n" for row in wanted), encoding="utf-8")
    assert main(["score", str(model), str(tmp_path / "text"), str(tmp_path / "said")]) == 0
    scores = [*map(float, capsys.readouterr().out.split())]
    place = ROWS.index("", 1) + 3
    source = "\n".join(ROWS[place - 2 : place + 1])
    assert scores[place] == pytest.approx(
        translator.score(source, wanted[place]).log_prob, abs=1e-3
    )


def test_empty_lines_between_documents_are_not_scored(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [*map(str, write(tmp_path))]
    assert main(["evaluate", str(model), *paths, "--json", "--worst", "99"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["worst"]) == len(LINES)
    assert {each["source"] for each in found["worst"]} == set(LINES)
