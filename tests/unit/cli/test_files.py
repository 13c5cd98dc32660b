"""Files without the names of options, and "-" for the standard input."""

from __future__ import annotations

import io
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer import train as training
from glassformer.cli import main
from glassformer.cli.train import name_languages, part_words
from glassformer.config import Config
from tools.demo_corpus import pairs

Run = Callable[..., tuple[int, str, str]]
FP32 = "--precision fp32"
SEARCH = "--set decode.search=beam --set decode.beam=2"


@pytest.fixture(autouse=True)
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Four sentences in a working directory; ours.fr differs from test.fr in one line."""
    english, french = zip(*pairs("en", "fr", 4, 1), strict=True)
    ours = (french[1], *french[1:])
    found = {"test.en": english, "test.fr": french, "ours.fr": ours}
    for name, lines in found.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rows = "".join(f"{one}\t{other}\n" for one, other in zip(english, french, strict=True))
    (tmp_path / "pairs.tsv").write_text(rows, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return {name: (tmp_path / name).read_bytes() for name in found}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    def run(command: str, text: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        capfd.readouterr()
        code = main(shlex.split(command))
        return code, *capfd.readouterr()

    return run


def without_time(out: str) -> Any:
    found = json.loads(out)
    found.pop("seconds", None)
    return found


SAME = [
    (
        f"evaluate demo test.en test.fr --beam 2 --json {FP32}",
        f"evaluate demo --source test.en --reference test.fr --json {SEARCH} {FP32}",
    ),
    (
        "evaluate ours.fr test.fr --json",
        "evaluate --hypothesis ours.fr --reference test.fr --json",
    ),
    (
        "evaluate ours.fr test.fr ours.fr --json",
        "evaluate --hypothesis ours.fr --reference test.fr --reference ours.fr --json",
    ),
    (
        "evaluate test.fr --hypothesis ours.fr --json",
        "evaluate --hypothesis ours.fr --reference test.fr --json",
    ),
    (
        "check-data test.en test.fr --source-lang en --target-lang fr --json",
        "check-data --data test.en --data test.fr --source-lang en --target-lang fr --json",
    ),
]


@pytest.mark.parametrize(("short", "long"), SAME)
def test_files_are_told_by_their_order(run: Run, short: str, long: str) -> None:
    code, out, _ = run(short)
    assert code == 0
    assert without_time(out) == without_time(run(long)[1])


def test_score_and_align_take_a_pair(run: Run, texts: dict[str, bytes]) -> None:
    code, out, _ = run("score demo test.en test.fr")
    assert code == 0 and out.count("\n") == 4
    for given in ("--source test.en --target test.fr", "test.en --target test.fr"):
        assert run(f"score demo {given}")[1] == out
    assert run("score demo - test.fr", texts["test.en"])[1] == out
    assert run("score demo test.en -", texts["test.fr"])[1] == out
    links = run("align demo test.en test.fr")[1]
    assert links.count("\n") == 4
    assert run("align demo test.en -", texts["test.fr"])[1] == links


@pytest.mark.parametrize(
    ("from_file", "from_input", "name"),
    [
        ("evaluate ours.fr test.fr --json", "evaluate - test.fr --json", "ours.fr"),
        ("evaluate ours.fr test.fr --json", "evaluate ours.fr - --json", "test.fr"),
        (
            "evaluate ours.fr test.fr --against ours.fr --json",
            "evaluate ours.fr test.fr --against - --json",
            "ours.fr",
        ),
        (
            f"evaluate demo test.en test.fr --json {FP32}",
            f"evaluate demo - test.fr --json {FP32}",
            "test.en",
        ),
        ("check-data test.en test.fr --json", "check-data test.en - --json", "test.fr"),
        (
            f"translate demo test.en --prefix-file test.fr {FP32}",
            f"translate demo test.en --prefix-file - {FP32}",
            "test.fr",
        ),
    ],
)
def test_the_standard_input_is_a_file(
    run: Run, texts: dict[str, bytes], from_file: str, from_input: str, name: str
) -> None:
    code, out, err = run(from_input, texts[name])
    assert (code, err) == (0, "")
    expected = run(from_file)[1]
    if "--json" in from_file:
        assert without_time(out) == without_time(expected)
    else:
        assert out == expected


def test_translations_on_the_standard_output_are_alone_there(run: Run) -> None:
    code, out, err = run(f"evaluate demo test.en test.fr -o - --json {FP32}")
    assert code == 0 and "BLEU" in json.loads(err)["scores"]
    assert out == run(f"translate demo test.en {FP32} --no-guard --no-split")[1]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("evaluate - -", "- is the standard input: it can stand for one file only"),
        ("check-data - -", "- is the standard input: it can stand for one file only"),
        ("score demo - -", "- is the standard input: it can stand for one file only"),
        ("score demo test.en", "name two files: SOURCE and TARGET"),
        ("score demo test.en test.fr ours.fr", "name two files: SOURCE and TARGET"),
        ("evaluate nosuch test.en test.fr", "nosuch is neither a file nor a model that is there"),
        ("evaluate ours.fr", "to score ours.fr, give a file of references too"),
        ("evaluate demo test.en", "to score demo, give a file of references too"),
        ("evaluate ours.fr test.fr --beam 2", "--beam has no effect without a MODEL"),
        ("evaluate ours.fr nosuch.fr", "nosuch.fr: No such file"),
        ("evaluate demo test.en test.fr --top-k 2 --beam 3", "give one of the two"),
        ("check-data test.en --data test.fr", "give the data in one of these ways"),
        ("train test.en test.fr", "train needs --out"),
        ("train test.en test.fr --data pairs.tsv --out x", "give the data in one of these"),
        ("train nosuch.en test.fr --out x", "nosuch.en: no such file"),
        ("train tset.en test.fr --out x", "tset.en: no such file; did you mean test.en?"),
    ],
)
def test_what_does_not_fit_is_said(run: Run, command: str, sentence: str) -> None:
    code, _, err = run(command)
    assert code == 2 and sentence in err


@pytest.mark.parametrize(
    ("words", "given", "recipe", "files"),
    [
        ("", "", None, ""),
        ("tiny", "", "tiny", ""),
        ("test.en test.fr", "", None, "test.en test.fr"),
        ("tiny test.en test.fr", "", "tiny", "test.en test.fr"),
        ("mine.toml test.en test.fr", "", "mine.toml", "test.en test.fr"),
        ("test.en ours.fr test.fr", "", "test.en", "ours.fr test.fr"),
        ("test", "", None, "test"),  # a prefix: test.en and test.fr
        ("pairs.tsv", "", None, "pairs.tsv"),
        ("-", "", None, "-"),
        (".", "", None, "."),
        ("test.en", "pairs.tsv", "test.en", ""),  # with --data it can only be a recipe
        ("smal", "", "smal", ""),  # nothing of that name: said to be no size
    ],
)
def test_train_tells_its_recipe_from_its_data(
    words: str, given: str, recipe: str | None, files: str
) -> None:
    data = [Path(name) for name in given.split()]
    expected = recipe, [Path(name) for name in files.split()]
    assert part_words(words.split(), data) == expected


def test_a_training_gets_its_files_in_order(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Source first, as they were named, with a recipe before them or not."""
    begun: list[tuple[str | None, list[Path]]] = []

    def begin(config: Config, data: list[str], out: Path, **how: object) -> None:
        begun.append((config.size, [Path(each) for each in data]))
        raise ValueError("begun")

    monkeypatch.setattr(training, "train", begin)
    for words in (
        "test.en test.fr",
        "small test.en test.fr",
        "small --data test.en --data test.fr",
    ):
        assert run(f"train {words} --out m")[::2] == (2, "glassformer: begun\n")
    files = [Path("test.en"), Path("test.fr")]
    assert begun == [("auto", files), ("small", files), ("small", files)]


@pytest.mark.parametrize(
    ("files", "languages"),
    [
        (["a.en", "b.fr"], ("en", "fr")),
        (["a.fo.gz", "b.da"], ("fo", "da")),
        (["a.en", "b.en"], (None, None)),
        (["a.txt", "b.fr"], (None, None)),
        (["a.xx", "b.fr"], (None, None)),
        (["a.tsv"], (None, None)),
    ],
)
def test_files_name_the_languages(files: list[str], languages: tuple[str | None, ...]) -> None:
    data = name_languages(Config(), files).data
    assert (data.source_lang, data.target_lang) == languages
    named = Config().changed(data={"source_lang": "de"})
    assert name_languages(named, files) == named
