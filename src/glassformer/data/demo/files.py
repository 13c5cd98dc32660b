"""Writing of the built-in corpus to files: two line-aligned files for each split."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from glassformer.data.demo import Split, pairs

SEED = 1


def write_pairs(folder: Path, source: str, target: str, counts: Mapping[Split, int]) -> None:
    """Write `counts` pairs of each split to a new folder, as train.en, train.fr and so on."""
    found = {split: pairs(source, target, count, SEED, split) for split, count in counts.items()}
    folder.mkdir(parents=True)
    for split, drawn in found.items():
        for language, lines in zip((source, target), zip(*drawn, strict=True), strict=True):
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8", newline="\n")
