"""Lines of megabytes, a million lines of nothing, and bytes that text should not have."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import pytest
from damage.ledger import Ledger
from damage.trainings import LINES, SETTINGS

from glassformer.cli import main
from glassformer.config import Config
from glassformer.text import clean
from glassformer.text.kinds import load_tokenizer
from glassformer.text.sentences import split_sentences
from glassformer.train import train

TABLE = "Bad input"
MEGABYTES = [1, pytest.param(10, marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    for name, lines in (("a.en", LINES), ("a.xx", [line[::-1] for line in LINES])):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    raw = {**SETTINGS, "train": {**SETTINGS["train"], "steps": 2, "validate_every": 2}}
    train(Config.read(raw), [folder / "a.en", folder / "a.xx"], folder / "m", quiet=True)
    return folder / "m"


def translate(
    model: Path, data: bytes, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    capfd.readouterr()
    code = main(["translate", str(model), "--search", "greedy", "--max-extra", "2"])
    return code, *capfd.readouterr()


@pytest.mark.parametrize("megabytes", MEGABYTES)
@pytest.mark.parametrize("unit", ["the old cat ", "x", "。猫", "😀", " ", "\u0301", "1. ", '"'])
def test_one_long_line(model: Path, ledger: Ledger, megabytes: int, unit: str) -> None:
    """The time grows with the length, and no faster."""
    tokenizer = load_tokenizer(model / "tokenizer.json")

    def take(size: int) -> float:
        text = unit * (size // len(unit.encode()))
        began = time.process_time()
        assert tokenizer.decode(tokenizer.encode(text)) == clean(text)
        list(split_sentences(text, "en"))
        return time.process_time() - began

    short = take(megabytes * 50_000)
    assert take(megabytes * 1_000_000) < 20 * 6 * max(short, 0.01)
    ledger.note(TABLE, f"a line of {megabytes} MB", "cut into tokens and sentences, in linear time")


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_empty_lines(
    model: Path,
    ledger: Ledger,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = translate(model, b"\n" * count, monkeypatch, capfd)
    assert code == 0 and out == "\n" * count
    ledger.note(TABLE, f"{count:,} empty lines through translate", "as many empty lines")


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"\xef\xbb\xbfthe cat\n", 1),
        (b"the cat\r\nthe dog\n", 2),
        (b"the cat\rthe dog\n", 1),
        (b"the cat\0 runs\n", 1),
        (b"the \xed\xa0\x80 cat\n", 1),
        ("the\u2028cat\x85runs\x0c\n".encode(), 1),
        (b"the cat", 1),
        (b"", 0),
        (b"\xff\xfet\0h\0e\0\n\0", -1),
        (b"the \xe9t\xe9\n", -1),
    ],
    ids=["BOM", "CRLF", "CR", "NUL", "surrogate", "breaks", "no end", "empty", "UTF-16", "Latin-1"],
)
def test_odd_bytes(
    model: Path,
    ledger: Ledger,
    data: bytes,
    lines: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    code, out, err = translate(model, data, monkeypatch, capfd)
    if lines < 0:
        assert code == 2 and "standard input, line 1: not UTF-8" in err
    else:
        assert code == 0 and out.count("\n") == lines and "\ufeff" not in out
    happened = "a line out for each line in, or the number of the line that is no UTF-8"
    ledger.note(TABLE, "BOM, CRLF, CR, NUL, surrogates, UTF-16, Latin-1", happened)
