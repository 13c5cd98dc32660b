"""What the phrasebook adds to the training text of an everyday model."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from benchmarks.everyday import (
    add_options,
    describe_origin,
    has_phrases,
    mix_phrases,
    read_lines,
)

HELD_OUT = ("I'm hungry.", "Ich bin hungrig.")


def make_options(tmp_path: Path, *arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(["--data", str(tmp_path), "--out", str(tmp_path / "runs"), *arguments])


@pytest.fixture
def pairs(tmp_path: Path) -> dict[str, list[Path]]:
    texts = {"train": ("A dog barks.", "Ein Hund bellt."), "valid": HELD_OUT}
    texts["test"] = ("Out of order.", "Ja.")
    files = {split: [tmp_path / f"{split}.{lang}" for lang in ("en", "de")] for split in texts}
    for split, paths in files.items():
        for path, line in zip(paths, texts[split], strict=True):
            path.write_text(line + "\n", encoding="utf-8")
    return files


def test_the_text_ends_with_the_phrasebook(tmp_path: Path, pairs: dict[str, list[Path]]) -> None:
    options = make_options(tmp_path, "--target", "de")
    assert options.phrases == 3
    sources, targets = map(read_lines, mix_phrases(options, pairs))
    mixed = list(zip(sources, targets, strict=True))
    assert mixed[0] == ("A dog barks.", "Ein Hund bellt.")
    assert mixed.count(("I'm thirsty.", "Ich habe Durst.")) == 3
    assert not {"I'm hungry.", "Out of order."} & set(sources)
    assert "Ja." not in targets
    options.phrases = 1
    assert len(read_lines(mix_phrases(options, pairs)[0])) < len(sources)


def test_the_card_names_the_phrasebook(tmp_path: Path) -> None:
    said = "and of our own phrasebook"
    assert said in describe_origin(make_options(tmp_path))
    without = make_options(tmp_path, "--phrases", "0")
    assert said not in describe_origin(without) and "--phrases 0" in describe_origin(without)
    assert not has_phrases(make_options(tmp_path, "--target", "zh"))
