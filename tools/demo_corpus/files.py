"""Write the corpus to files: two line-aligned files for each split."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from glassformer.extensions.demo import corpus as demo

from . import Split, pairs

SEED = 1


def write_pairs(folder: Path, source: str, target: str, counts: Mapping[Split, int]) -> None:
    """Write `counts` pairs of each split to a new folder, as train.en, train.fr and so on."""
    drawn = {split: pairs(source, target, count, SEED, split) for split, count in counts.items()}
    demo.write_pairs(folder, (source, target), drawn)
