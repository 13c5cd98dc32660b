"""A training writes the list of the words that it met, and its mean of checkpoints has the same."""

from __future__ import annotations

from pathlib import Path

from glassformer.extensions.averaging.averaging import average
from glassformer.model.files.known_words import cut_words, read_known_words

from .conftest import LINES


def test_a_training_lists_its_source_words(parent: Path, tmp_path: Path) -> None:
    known = read_known_words(parent)
    assert known is not None and {"the", "cat", "dog", "runs"} <= known
    assert known <= {word.lower() for line in LINES for word in cut_words(line)}
    average(parent, tmp_path / "mean", 1, device="cpu")
    assert read_known_words(tmp_path / "mean") == known
