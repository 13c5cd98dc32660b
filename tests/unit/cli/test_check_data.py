"""glassformer check-data"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from glassformer.cli import main
from tools.demo_corpus import pairs

Run = Callable[[str], tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source, target = map(list, zip(*pairs("en", "fr", 1200, 2), strict=True))
    target[7] = ""
    target[1100] = source[1100]
    for name, part in (("train", slice(0, 1150)), ("test", slice(1100, 1200))):
        for lang, side in (("en", source), ("fr", target)):
            text = "".join(line + "\n" for line in side[part])
            (tmp_path / f"{name}.{lang}").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(folder)

    def run(options: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["check-data", *shlex.split(options)])
        return code, *capfd.readouterr()

    return run


LANGUAGES = ("en", "fr")
LANGS = "--source-lang en --target-lang fr"


def test_a_table_with_examples(run: Run) -> None:
    code, out, err = run(f"--data train {LANGS} --test test")
    assert (code, err) == (0, "")
    assert out.startswith("1,150 pairs\n")
    assert "\nempty, line 8\n" in out and "-> never trained on" in out
    assert "\nleak, line " in out and "(test)" in out


def test_strict(run: Run, folder: Path) -> None:
    """For scripts: 1 where something serious is found, which is named."""
    assert run(f"--data train {LANGS} --strict")[0] == 0
    code, out, err = run(f"--data train {LANGS} --test test --strict --json")
    assert (code, err) == (1, "glassformer: serious: leak\n")
    assert [each["kind"] for each in json.loads(out)["findings"] if each["is_serious"]] == ["leak"]
    lines = (folder / "train.fr").read_bytes().splitlines(keepends=True)
    (folder / "train.fr").write_bytes(b"".join([*lines[:500], *lines[501:], lines[500]]))
    code, out, err = run(f"--data train {LANGS} --strict")
    assert (
        code == 1
        and "misaligned" in err
        and "misaligned, line 501 (line 501 of train.en without" in out
    )


def test_json_and_reports(run: Run, folder: Path) -> None:
    code, out, _ = run(f"--data train {LANGS} --json --report r.json --quick")
    found = json.loads(out)
    assert code == 0 and not found["thorough"] and found["languages"] == ["en", "fr"]
    assert [each["lines"] for each in found["findings"] if each["kind"] == "empty"] == [[8]]
    assert json.loads((folder / "r.json").read_text(encoding="utf-8")) == found
    assert run(f"--data train.en --data train.fr --report r.txt {LANGS}")[0] == 0
    assert "empty: 1 pair " in (folder / "r.txt").read_text(encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "test", ["--test test", "--test test.en --test test.fr", "--valid test --test test.tsv"]
)
def test_mended_files_have_nothing_left(run: Run, folder: Path, test: str) -> None:
    lines = [(folder / f"test.{lang}").read_text("utf-8").split("\n") for lang in ("en", "fr")]
    table = "\n".join(map("\t".join, zip(*lines, strict=True)))
    (folder / "test.tsv").write_text(table, encoding="utf-8")
    code, out, _ = run(f"--data train {LANGS} {test} --fix clean")
    assert code == 0 and "pairs are in clean.en and clean.fr" in out
    _, again, _ = run(f"--data clean {LANGS} {test} --json")
    kinds = {each["kind"] for each in json.loads(again)["findings"]}
    assert not kinds & {"empty", "leak", "duplicate", "copy"}
    counts = {
        len((folder / f"clean.{lang}").read_text("utf-8").split("\n")) for lang in ("en", "fr")
    }
    assert len(counts) == 1 and counts.pop() > 900


def test_fix_drops_nothing_on_a_guess(run: Run, folder: Path) -> None:
    """Wrong partners are left out only where their kind is named; the report has all of them."""
    lines = (folder / "train.fr").read_text("utf-8").splitlines()
    lines[100:160] = lines[101:160] + lines[100:101]
    moved = [lines[n] for n in range(300, 1000, 7)]
    lines[300:1000:7] = moved[1:] + moved[:1]
    (folder / "train.fr").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def fix(options: str) -> set[str]:
        assert run(f"--data train {LANGS} --report r.json --fix clean {options}")[0] == 0
        return {*(folder / "clean.fr").read_text("utf-8").splitlines()}

    sure = fix("")
    findings = json.loads((folder / "r.json").read_text("utf-8"))["findings"]
    mismatch = next(each for each in findings if each["kind"] == "mismatch")
    assert len(mismatch["lines"]) == mismatch["count"] > 60
    assert mismatch["is_guess"] and not mismatch["is_serious"]
    noted = {lines[n - 1] for n in mismatch["lines"]}
    assert len(noted & sure) > 0.9 * len(noted)
    assert len(noted & fix("--fix-kinds all")) < 0.1 * len(noted)
    assert fix("--fix-kinds mismatch") - sure, "duplicates and empty lines are kept"
    code, _, err = run(f"--data train {LANGS} --fix clean --fix-kinds mismach")
    assert code == 2 and "no kind of finding 'mismach'; there are all, sure, sides" in err
    assert run(f"--data train {LANGS} --fix-kinds all")[0] == 2, "without --fix"


@pytest.mark.thorough
def test_lost_lines_are_mended_and_shuffled_sides_are_not(run: Run, folder: Path) -> None:
    lines = {lang: (folder / f"train.{lang}").read_text("utf-8").splitlines() for lang in LANGUAGES}
    pairs = set(zip(*lines.values(), strict=True))
    for source, target in ((slice(0, -1), slice(1, None)), (slice(1, None), slice(0, -1))):
        for lang, part in zip(LANGUAGES, (source, target), strict=True):
            text = "\n".join(lines[lang][part]) + "\n"
            (folder / f"shifted.{lang}").write_text(text, encoding="utf-8")
        assert run(f"--data shifted {LANGS} --fix mended")[0] == 0
        mended = [(folder / f"mended.{lang}").read_text("utf-8").splitlines() for lang in LANGUAGES]
        assert {*zip(*mended, strict=True)} <= pairs and len(mended[0]) > 1000
    assert run("--data shifted.en --data shifted.fr --fix named")[0] == 0
    assert (folder / "named.fr").read_bytes() == (folder / "mended.fr").read_bytes()
    code, _, err = run(f"--data shifted {LANGS} --fix quick --quick")
    assert code == 2 and "without --quick, a shift of the lines is found and repaired" in err
    (folder / "shifted.fr").write_text("\n".join(sorted(lines["fr"][:-1])), encoding="utf-8")
    code, out, err = run(f"--data shifted {LANGS} --fix quick")
    assert code == 2 and "\nunrelated, line 1\n" in out
    assert err.count("\n") == 1 and "--fix wrote nothing: the sides are unrelated" in err
    assert not [*folder.glob("quick*")]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--data nosuch", "nosuch: no parallel text there"),
        ("--data train.en --data trian.fr", "trian.fr: no such file; did you mean train.fr?"),
        ("--data train.en --data test.fr", "train.en has 1,150 lines but test.fr has 100: each"),
        ("--data train.en --data short.fr", "; line 601 of train.en without partner in short.fr"),
        ("--data train.en --data binary.fr", "binary.fr, line 1: not UTF-8 (byte 0xFF)"),
        ("--data train.en --data empty.fr", "empty.fr: the file is empty"),
        ("--data train.en --data train.en --fix x", "--fix names its files by --source-lang"),
        (f"--data train {LANGS} --test nosuch", "nosuch: no parallel text there"),
        (f"--data train {LANGS} --report no/such", "no/such: No such file"),
        ("--data train.zip --source-lang en --target-lang fr", "train.zip: no such file"),
    ],
)
def test_bad_input_is_one_sentence(run: Run, folder: Path, options: str, sentence: str) -> None:
    lines = (folder / "train.fr").read_bytes().splitlines(keepends=True)
    (folder / "short.fr").write_bytes(b"".join(lines[:600] + lines[601:]))
    (folder / "binary.fr").write_bytes(b"\xff\x00\x01" * 100)
    (folder / "empty.fr").write_bytes(b"")
    code, _, err = run(options)
    assert code == 2 and sentence in err and err.count("\n") == 1


def test_odd_characters_are_shown_as_what_they_are(run: Run, folder: Path) -> None:
    (folder / "odd.jsonl").write_text(
        '{"source": "half \\ud800 \\u001b[2J", "target": "b"}\n', encoding="utf-8"
    )
    for options in ("", "--json"):
        code, out, _ = run(f"--data odd.jsonl {options}")
        assert code == 0 and "\x1b" not in out and "ud800" in out
        assert options or out.startswith("1 pair\n")


def test_a_training_says_what_is_wrong(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    small = (
        "model.d_model=16 model.heads=2 model.encoder_layers=1 model.decoder_layers=1 "
        "text.vocabulary=400 train.steps=1 decode.beam=2 decode.max_extra=5"
    )
    sets = " ".join(f"--set {change}" for change in small.split())
    files = "--data train.en --data train.fr --valid test.en --valid test.fr"
    assert main(["train", "tiny", *shlex.split(f"{files} {LANGS} {sets} --out m")]) == 0
    err = capfd.readouterr().err
    assert "pairs, from line 1,101 on: target is a copy of the source\n" in err
    assert "is in the text to validate or test on" in err
    assert "glassformer check-data shows which" in err


def write_sides(names: tuple[str, str]) -> None:
    """Write English and French text into files of these names."""
    for name, side in zip(names, zip(*pairs("en", "fr", 400, 5), strict=True), strict=True):
        Path(name).write_text("".join(f"{line}\n" for line in side), encoding="utf-8")


@pytest.mark.parametrize("names", [("a.en", "a.fr"), ("a.fr", "a.en"), ("a.fr.txt", "a.en.txt")])
def test_files_named_by_the_wrong_language_are_found(
    names: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By their endings, if these are languages."""
    monkeypatch.chdir(tmp_path)
    write_sides(names)
    assert main(["check-data", *names, "--quick"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    is_told = "the source looks English, not French; the target looks French, not English" in said
    assert is_told == (names[0] == "a.fr"), "other endings name no language"


@pytest.mark.parametrize("names", [("a.en", "a.fr"), ("a.src", "a.tgt"), ("a.txt", "b.txt")])
def test_the_languages_of_files_with_any_ending_are_identified(
    names: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_sides(names)
    assert main(["check-data", *names, "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["languages"] == ["en", "fr"]
