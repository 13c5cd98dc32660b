"""Lines as they lie in files."""

from __future__ import annotations

import gzip
from hashlib import sha256
from pathlib import Path

import pytest

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
