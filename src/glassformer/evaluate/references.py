"""Read reference translations from files with one or several references in each line."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

from ..data.files import read_lines
from ..data.tables import table_kind


def read_references(path: Path | str) -> list[list[str | None]]:
    """Return the reference sets of one file, as `quality` takes them; .gz is unpacked.

    A plain file is one set. A .tsv file has the source in its first column and references in the
    others, as many as a line has. Each such column is a set.

    Raises OSError, or ValueError that names file and line.
    """
    path = Path(path)
    if table_kind(path) != ".tsv":
        return [list(read_lines(path))]
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        references = [reference for reference in line.split("\t")[1:] if reference]
        if not references:
            raise ValueError(f"{path}, line {number}: no reference after the source and a tab")
        rows.append(references)
    return [list(references) for references in zip_longest(*rows)]
