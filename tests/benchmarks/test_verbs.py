"""The tables from end to end, with the one other engine that is always there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from benchmarks.__main__ import VERBS, main
from benchmarks.train import write_demo
from benchmarks.translate import demo_texts
from glassformer.cli import main as glassformer
from glassformer.config import Config
from glassformer.model.files.directory import locate
from tools.demo_corpus.files import write_pairs

SETTINGS = """
[model]
d_model = 16
d_ff = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
[text]
vocabulary = 400
[train]
batch_tokens = 128
"""


@pytest.fixture(autouse=True)
def quick_ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have a test of their own."""
    rates = {"fp32 TFLOP/s": 1.0, "bf16 TFLOP/s": 2.0, "memory GB/s": 3.0}
    for table in ("train", "translate"):
        monkeypatch.setattr(f"benchmarks.{table}.ask_ceilings", lambda held: rates)


@pytest.mark.thorough
def test_a_training_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pairs(tmp_path / "pairs", "en", "fr", {"train": 400, "valid": 10})
    (tmp_path / "own.toml").write_text(SETTINGS, encoding="utf-8")
    words = ["train", str(tmp_path / "own.toml"), "--data", str(tmp_path / "pairs")]
    words += ["--langs", "en-fr", "--against", "torch-fp32", "--seconds", "0.05", "--rounds", "1"]
    words += ["--precision", "fp32", "--threads", "1", "--work", str(tmp_path / "work"), "--json"]
    assert main(words) == 0
    table = json.loads(capsys.readouterr().out)
    ours, theirs = table["rows"]
    assert (ours["engine"], ours["ratio"]) == ("glassformer fp32", None)
    assert (theirs["engine"], theirs["against"]) == ("torch-fp32", "glassformer fp32")
    assert theirs["ratio"] == ours["figures"]["tokens/s"] / theirs["figures"]["tokens/s"]
    assert 0 < ours["figures"]["share"] < 1 and table["machine"]


def test_a_translating_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ours alone; the same text twice is translated the same."""
    monkeypatch.chdir(tmp_path)  # paths are of this folder, whichever the sides work in
    shutil.copytree(locate("demo"), "model")
    Path("text").write_text("the cat sleeps.\n\nthe dog sleeps.\n", encoding="utf-8")
    words = ["translate", "model", "--source", "text", "--against", ""]
    words += ["--reference", "text", "--work", "work"]
    words += ["--precision", "fp32", "--threads", "1", "--rounds", "1", "--beam", "2", "--json"]
    assert main(words) == 0
    table = json.loads(capsys.readouterr().out)
    (row,) = table["rows"]
    assert table["conditions"]["sentences"] == 2, "an empty line is no sentence"
    assert row["figures"]["same"] == 1 and row["figures"]["tokens/s"] > 0
    assert row["figures"]["p99"] >= row["figures"]["p50"] > 0
    assert row["figures"]["start"] > row["figures"]["p50"] / 1000, "in seconds"
    assert row["figures"]["tokens/cpu"] > 0
    assert 0 <= row["figures"]["bleu"] <= 100


@pytest.mark.parametrize("verb", ["train", "translate"])
def test_an_unknown_engine_is_named(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [verb, "tiny" if verb == "train" else "demo", "--against", "joey"]
    words += ["--langs", "en-fr"] if verb == "train" else []
    assert main([*words, "--work", str(tmp_path)]) == 2
    assert "--against joey: one of" in capsys.readouterr().err


def test_each_verb_explains_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    listed = capsys.readouterr().out
    for verb in (name for names in VERBS.values() for name in names):
        with pytest.raises(SystemExit, match="0"):
            main([verb, "--help"])
        said = capsys.readouterr().out.splitlines()
        assert said[0].startswith(f"usage: python -m benchmarks {verb} ")
        assert any(line.startswith(f"  {verb} ") for line in listed.splitlines())
    assert main(["kernels"]) == 2


def test_the_former_verb_says_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["bench"], ["bench", "train", "tiny", "--help"]):
        assert glassformer(words) == 2
        assert "glassformer bench is now `python -m benchmarks`" in capsys.readouterr().err


def test_text_for_those_who_give_none() -> None:
    assert len(set(demo_texts("demo", 5))) == 5
    with pytest.raises(ValueError, match="give --data"):
        write_demo(Config.read({"data": {"source_lang": "en", "target_lang": "de"}}), Path())
