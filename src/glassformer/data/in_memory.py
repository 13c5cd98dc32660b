"""Sentence pairs that are in memory: lists, generators, and data sets of Hugging Face."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..foundation.disk import PARTIAL
from .columns import name_sides
from .tables import pick_sides

Rows = Iterable[Any]  # each a pair of texts, or an object with the texts by language
NAMES = {"validation": "valid", "dev": "valid"}


def keep_pairs(
    folder: Path, pairs: Rows | Mapping[str, Rows], langs: tuple[str | None, str | None]
) -> dict[str, Path]:
    """Write pairs to a .jsonl for each name in `pairs`, or "pairs"; return the files by name.

    So a training that is resumed finds them again. A row is a source and a target, or has them
    under its languages, "source" and "target", or within "translation". The splits of a
    `DatasetDict` are corpora by that name, "validation" being "valid". ValueError names a bad row.
    """
    named = pairs if isinstance(pairs, Mapping) else {"pairs": pairs}
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Path] = {}
    for kind, rows in named.items():
        name = NAMES.get(kind, kind)
        if not name or Path(name).name != name:
            raise ValueError(f"pairs: {kind!r} cannot be the name of a corpus")
        results[name] = path = folder / f"{name}.jsonl"
        partial = path.with_name(path.name + PARTIAL)
        with partial.open("w", encoding="utf-8") as file:
            for number, row in enumerate(rows, 1):
                source, target = _read_row(row, f"{kind}, row {number}", langs)
                line = {"source": source, "target": target}
                file.write(json.dumps(line, ensure_ascii=True) + "\n")
        partial.replace(path)
    return results


def _read_row(row: Any, name: str, langs: tuple[str | None, str | None]) -> tuple[str, str]:
    if isinstance(row, Mapping):
        return pick_sides(row, name_sides(*langs), name)
    if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 2:
        raise ValueError(f"{name}: a pair is a source and a target, two texts; got {row!r:.80}")
    source, target = row
    if not (isinstance(source, str) and isinstance(target, str)):
        raise ValueError(f"{name}: both sides are texts; got {row!r:.80}")
    return source, target
