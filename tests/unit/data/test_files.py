"""Lines as they lie in files."""

from __future__ import annotations

import gzip
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from glassformer.data import files
from glassformer.data.files import Fingerprint, count_lines, read_lines, take_fingerprint


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\n", ["a", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", ["a", "\ufeffb"]),
        ("a\u2028b\x0bc\x85d\re\n".encode(), ["a\u2028b\x0bc\x85d\re"]),
        ("né\n".encode(), ["né"]),
    ],
)
def test_lines(tmp_path: Path, raw: bytes, lines: list[str]) -> None:
    for name, stored in (("f.en", raw), ("f.en.gz", gzip.compress(raw))):
        path = tmp_path / name
        path.write_bytes(stored)
        assert list(read_lines(path)) == lines
        assert count_lines(path) == len(lines)
        assert take_fingerprint(path) == Fingerprint(
            name, len(lines), len(stored), sha256(stored).hexdigest()
        )


@pytest.mark.parametrize("name", ["f.en", "f.en.gz", "f.zip/f.en"])
def test_a_line_without_end_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A .gz of 3 MB may have one of 3 GB."""
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 20)
    raw = b"a\n" + b"b" * ((1 << 20) - 1) + b"\n"
    for more, is_fine in ((b"", True), (b"c" * (1 << 20) + b"c\n", False)):
        path = tmp_path / name
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(raw + more))
        elif path.parent.suffix == ".zip":
            with ZipFile(path.parent, "w") as archive:
                archive.writestr(path.name, raw + more)
        else:
            path.write_bytes(raw + more)
        for read in (lambda path: len([*read_lines(path)]), count_lines):
            if is_fine:
                assert read(path) == 2
            else:
                with pytest.raises(ValueError, match="line 3: no text: it is longer than 1 MiB"):
                    read(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "f.en"
    path.write_bytes(b"fine\nna\xefve\n")
    with pytest.raises(ValueError, match=r"f\.en, line 2: not UTF-8 \(byte 0xEF\)"):
        list(read_lines(path))


@pytest.mark.parametrize("bom", ["\ufeff", ""])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_what_windows_calls_unicode_is_named(tmp_path: Path, encoding: str, bom: str) -> None:
    path = tmp_path / "f.en"
    path.write_bytes(f"{bom}naïve\n".encode(encoding))
    with pytest.raises(ValueError, match=r"f\.en, line 1: not UTF-8") as error:
        list(read_lines(path))
    assert str(error.value).endswith("this is UTF-16, save it as UTF-8") == bool(bom)
    assert "UTF-16" in str(error.value) and "Latin" not in str(error.value)


def test_line_ends_of_the_first_macs_are_named(tmp_path: Path) -> None:
    path = tmp_path / "f.en"
    path.write_bytes(b"one\rtwo\rthree\r")
    with pytest.raises(ValueError, match=r"f\.en: its lines end with CR alone"):
        list(read_lines(path))


@pytest.mark.parametrize("damage", [lambda packed: packed[:-9], lambda packed: b"plain text"])
def test_a_damaged_gz(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    path = tmp_path / "f.en.gz"
    path.write_bytes(damage(gzip.compress(b"a\n" * 1000)))
    with pytest.raises(ValueError, match=r"f\.en\.gz: damaged, or not a \.gz file"):
        list(read_lines(path))
