"""Two text files in a zip."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from glassformer.data.corpus import find_data

MEMBERS = {"B.de-en.en": "a\nc\n", "B.de-en.de": "b\nd\n", "README": "read me\n"}


def _zip(path: Path, members: dict[str, str]) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text.encode())
    return path


def test_pairs(tmp_path: Path) -> None:
    inner = {f"sub/{name}": text for name, text in MEMBERS.items()}
    for number, members in enumerate((MEMBERS, inner)):
        corpus = find_data(_zip(tmp_path / f"{number}.zip", members), "en", "de").train
        for _ in range(2):
            assert list(corpus) == [("a", "b"), ("c", "d")]
            assert [list(side) for side in corpus.sides()] == [["a", "c"], ["b", "d"]]
        first, second = corpus.fingerprints()
        assert (first.name, first.lines, first.bytes) == ("B.de-en.en", 2, 4)
        assert second.sha256 == sha256(b"b\nd\n").hexdigest()
    assert list(find_data(tmp_path / "0.zip", "de", "en").train) == [("b", "a"), ("d", "c")]


def test_what_macos_adds_is_no_text(tmp_path: Path) -> None:
    added = {f"__MACOSX/sub/._{name}": "\0" for name in MEMBERS}
    added |= {"sub/._B.de-en.en": "\0", "sub/._B.de-en.de": "\0"}
    inner = {f"sub/{name}": text for name, text in MEMBERS.items()}
    corpus = find_data(_zip(tmp_path / "mac.zip", added | inner), "en", "de").train
    assert list(corpus) == [("a", "b"), ("c", "d")]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = _zip(tmp_path / "B.zip", MEMBERS)
    with pytest.raises(ValueError, match=r"B\.zip: no pairs of files ending in \.en and \.fr; it"):
        find_data(path, "en", "fr")
    with pytest.raises(ValueError, match="say which of its languages"):
        find_data(path)
    two = _zip(tmp_path / "two.zip", {**MEMBERS, "C.en": "", "C.de": ""})
    with pytest.raises(ValueError, match=r"two\.zip: 2 pairs of files"):
        find_data(two, "en", "de")
    (tmp_path / "no.zip").write_bytes(b"text")
    with pytest.raises(ValueError, match=r"no\.zip: not a \.zip file"):
        find_data(tmp_path / "no.zip", "en", "de")
    with pytest.raises(ValueError, match=r"C\.zip: no such file; did you mean B\.zip\?"):
        find_data(tmp_path / "C.zip", "en", "de")
    unequal = _zip(tmp_path / "unequal.zip", {**MEMBERS, "B.de-en.de": "b\n"})
    with pytest.raises(ValueError, match=r"B\.de-en\.en has 2 lines but .*B\.de-en\.de has 1"):
        find_data(unequal, "en", "de").train.fingerprints()


def test_a_damaged_member(tmp_path: Path) -> None:
    path = _zip(tmp_path / "B.zip", {**MEMBERS, "B.de-en.en": "some text\n" * 500})
    raw = bytearray(path.read_bytes())
    raw[50] ^= 0xFF
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"B\.zip: damaged, locked, or not a \.zip file"):
        list(find_data(path, "en", "de").train)
