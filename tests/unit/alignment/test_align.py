"""`glassformer align`, in this process, on the shipped models."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.extensions.alignment.aligner import Aligner
from glassformer.model.files.directory import locate
from tools.demo_corpus import pairs

Run = Callable[..., tuple[int, str, str]]
TEXTS = pairs("en", "fr", 40, 3, "test")


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    for name in ("demo", "demo-fr-en"):
        shutil.copytree(locate(name), tmp_path / name)
        (tmp_path / name / "alignment.json").unlink(missing_ok=True)
    for side, name in enumerate(("s", "t")):
        lines = "".join(f"{text[side]}\n" for text in TEXTS)
        (tmp_path / name).write_text(lines, encoding="utf-8", newline="\n")

    def run(*arguments: object) -> tuple[int, str, str]:
        files = ["--source", str(tmp_path / "s"), "--target", str(tmp_path / "t")]
        code = main(["align", str(tmp_path / "demo"), *files, *map(str, arguments)])
        return code, *capfd.readouterr()

    return run


def test_pharaoh_and_json_say_the_same(run: Run) -> None:
    code, out, _ = run()
    lines = out.splitlines()
    assert code == 0 and len(lines) == len(TEXTS)
    shown = [json.loads(line) for line in run("--json")[1].splitlines()]
    for line, found, text in zip(lines, shown, TEXTS, strict=True):
        assert line == " ".join(f"{each['source']}-{each['target']}" for each in found["links"])
        assert (found["source"], found["target"]) == text
        for each in found["links"]:
            for side, words in zip(("source", "target"), map(str.split, text), strict=True):
                start, end = each[f"{side}_span"]
                assert found[side][start:end] == words[each[side]]


def test_gold_is_scored_and_its_choice_remembered(run: Run, tmp_path: Path) -> None:
    """A head's own links as gold: it is found again, with no error, and used from then on."""
    _, out, _ = run("--layer", 2, "--head", 3, "--row", "predicts")
    assert not (tmp_path / "demo" / "alignment.json").exists()
    turned = "\n".join(
        " ".join(
            f"{int(j) + 1}-{int(i) + 1}" for i, j in (each.split("-") for each in line.split())
        )
        for line in out.splitlines()
    )
    (tmp_path / "gold").write_text(turned, encoding="utf-8")
    code, again, err = run("--gold", tmp_path / "gold", "--gold-order", "target-source")
    assert (code, again) == (0, out)
    assert "layer 2, head 3, in the row that predicts a word, chosen by gold" in err
    assert "AER 0.0%, precision 100.0%, recall 100.0%" in err
    assert not (tmp_path / "demo" / "alignment.json").exists(), "measuring changes nothing"
    gold = ("--gold", tmp_path / "gold", "--gold-order", "target-source")
    assert run(*gold, "--save")[:2] == (0, out)
    kept = json.loads((tmp_path / "demo" / "alignment.json").read_text(encoding="utf-8"))
    assert (kept["layer"], kept["head"], kept["row"]) == (2, 3, "predicts")
    assert run()[1] == out


def test_two_directions(run: Run, tmp_path: Path) -> None:
    reverse = ("--reverse", tmp_path / "demo-fr-en")
    found = {
        how: [set(line.split()) for line in run(*reverse, "--join", how)[1].splitlines()]
        for how in ("intersection", "grow-diag", "union")
    }
    for small, middle, large in zip(*found.values(), strict=True):
        assert small <= middle <= large
    assert any(a < b for a, b in zip(found["intersection"], found["union"], strict=True))
    assert not [*tmp_path.glob("*/alignment.json")], "measuring changes nothing"
    assert run(*reverse, "--save")[0] == 0
    for name in ("demo", "demo-fr-en"):
        kept = json.loads((tmp_path / name / "alignment.json").read_text(encoding="utf-8"))
        assert kept["chosen_by"] == "agreement" and kept["score"] > 0.5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--layer", 0, "--row", "read"], "--row read: one of reads, predicts"),
        (["--head", 1], "--head has no effect without --layer"),
        (["--join", "union"], "--join has no effect without --reverse or --engine"),
        (["--learn-from", "a.tsv"], "--learn-from has no effect without --engine"),
        (["--engine", "fast"], "--engine fast: one of eflomal"),
        (["--reverse", "demo", "--join", "or"], "one of intersection, union, grow-diag"),
        (["--gold-first", 0], "--gold-first has no effect without --gold"),
        (["--gold", "none", "--gold-first", 2], "words count from 0 or 1"),
        (["--gold", "no-such-file"], "no-such-file: No such file"),
        (["--layer", 6], "layer 6 is out of range: 0 to 5"),
        (["--layer", -7], "layer -7 is out of range: 0 to 5, or -1"),
        (["--layer", 0, "--head", 8], "head 8 is out of range: 0 to 7"),
        (["--reverse", "demo-en-zh"], "not the other way round"),
    ],
    ids=str,
)
def test_bad_input_is_one_sentence(run: Run, arguments: list[object], said: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "") and said in err and err.count("\n") == 1


def test_a_line_that_is_too_long_is_named(run: Run, tmp_path: Path) -> None:
    lines = (tmp_path / "s").read_text(encoding="utf-8").splitlines()
    lines[4] = "cat " * 3000
    (tmp_path / "s").write_text("\n".join(lines) + "\n", encoding="utf-8")
    code, out, err = run("--layer", 0)
    assert code == 0 and out.splitlines()[4] == "" and "line 5 is too long" in err


def test_models_of_the_package_stay_as_they_are(run: Run, tmp_path: Path) -> None:
    files = ["--source", str(tmp_path / "s"), "--target", str(tmp_path / "t")]
    before = {path: path.stat().st_mtime_ns for path in locate("demo").iterdir()}
    with pytest.raises(ValueError, match="demo is a model of the package: copy it first"):
        next(Aligner.load("demo", TEXTS, device="cpu").remember(), None)
    assert main(["align", "demo", *files, "--save", "--reverse", "demo-fr-en"]) == 2
    assert {path: path.stat().st_mtime_ns for path in locate("demo").iterdir()} == before


def test_eflomal_beats_lines_of_words_in_order(
    tmp_path: Path, data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """On hand-made links, and it needs no model."""
    pytest.importorskip("eflomal", reason="eflomal is not installed")
    files = [str(data / f"align_gold/enfr.{lang}") for lang in ("en", "fr")]
    gold = ["--gold", str(data / "align_gold/enfr.gold")]
    assert main(["align", *files, "--engine", "eflomal", *gold]) == 0
    out, err = capfd.readouterr()
    assert out.count("\n") == 447
    found = re.search(r"AER ([\d.]+)%", err)
    assert found and float(found[1]) < 22


def test_empty_files_are_refused_without_a_model_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / name for name in ("s", "t")]
    for file in files:
        file.touch()
    assert main(["align", *map(str, files), "--engine", "eflomal"]) == 2
    assert f"{files[0]}: the file is empty" in capfd.readouterr().err


def test_without_eflomal_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "eflomal", None)
    (tmp_path / "s").write_text("a b\n", encoding="utf-8")
    (tmp_path / "t").write_text("c d\n", encoding="utf-8")
    assert main(["align", str(tmp_path / "s"), str(tmp_path / "t"), "--engine", "eflomal"]) == 2
    assert "pip install 'glassformer[eflomal]'" in capfd.readouterr().err
