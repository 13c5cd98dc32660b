"""Reference files: one a line, several a line, and what is wrong with them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from glassformer.evaluate.quality import read_references, score_quality


def test_plain_file_is_one_set(tmp_path: Path) -> None:
    """Lines end at a line feed alone: other separators are text."""
    text = "\ufeffun\r\n\ndeux\u2028trois\x85\n quatre\tcinq\n"
    (tmp_path / "plain.fr").write_bytes(text.encode())
    (tmp_path / "packed.fr.gz").write_bytes(gzip.compress(text.encode()))
    expected = [["un", "", "deux\u2028trois\x85", " quatre\tcinq"]]
    assert read_references(tmp_path / "plain.fr") == expected
    assert read_references(tmp_path / "packed.fr.gz") == expected


def test_tsv_holds_as_many_as_there_are(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("hi\tsalut\nbye\tau revoir\tadieu\nyes\toui\t\n", encoding="utf-8")
    assert read_references(path) == [["salut", "au revoir", "oui"], [None, "adieu", None]]


def test_tsv_of_real_text(data: Path) -> None:
    """The first set is the plain file; more references never make a score lower."""
    folder = data / "tatoeba_en_fr"
    sets = read_references(folder / "test.multiref.tsv")
    [plain] = read_references(folder / "test.fr")
    assert sets[0] == plain
    assert all(len(lines) == 3000 for lines in sets)
    guesses = [next(line for line in reversed(lines) if line) for lines in zip(*sets, strict=True)]
    one, many = (
        score_quality(guesses, found, metrics=("BLEU",))["BLEU"] for found in ([plain], sets)
    )
    assert many.value == pytest.approx(100) and one.value < 90
    assert many.signature.startswith("nrefs:var|")


def test_what_is_wrong_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("hi\tsalut\nbye\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.tsv, line 2: no reference"):
        read_references(tmp_path / "a.tsv")
    (tmp_path / "b.fr").write_bytes(b"un\n\xe9t\xe9\n")
    with pytest.raises(ValueError, match=r"b\.fr, line 2: not UTF-8"):
        read_references(tmp_path / "b.fr")
    with pytest.raises(OSError, match=r"c\.fr"):
        read_references(tmp_path / "c.fr")
