"""The built-in corpus as files."""

from __future__ import annotations

from pathlib import Path

from glassformer.data.corpus import find_data
from tools.demo_corpus import split_of
from tools.demo_corpus.files import write_pairs


def test_the_files_are_read_like_anybodys(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs", "en", "zh", {"train": 60, "valid": 20})
    found = find_data([tmp_path / "pairs"], "en", "zh")
    assert found.valid is not None
    train, valid = list(found.train), list(found.valid)
    assert len(train) == 60 and len(valid) == 20
    assert {split_of(source, "en") for source, _ in train} == {"train"}
    assert {split_of(target, "zh") for _, target in valid} == {"valid"}
    assert b"\r" not in (tmp_path / "pairs/train.zh").read_bytes()
