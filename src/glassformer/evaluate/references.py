"""Reference translations from files: one a line, or several a line."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

from ..data.files import read_lines
from ..data.tables import table_kind


def read_references(path: Path | str) -> list[list[str | None]]:
    """Reference sets from one file, as `quality` wants them; .gz is unpacked.

    A plain file is one set. A .tsv file has the source in its first column and after it as many
    references as there are for that line: one set for each such column.

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
