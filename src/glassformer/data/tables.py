"""Reading of sentence pairs from one file: TSV, CSV, JSONL or TMX, each also gzipped."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .files import read_lines
from .tmx import read_tmx

Pair = tuple[str, str]
Names = tuple[list[str], list[str]]  # the possible names of the source column, and the target's

KINDS = (".tsv", ".csv", ".jsonl", ".tmx")
SHOWN = 8  # keys of an object that a message lists


def table_kind(path: Path) -> str | None:
    """Return the kind of a table, one of KINDS; None for any other file."""
    suffix = Path(path.name.removesuffix(".gz")).suffix
    return suffix if suffix in KINDS else None


def read_table(path: Path, source_lang: str | None, target_lang: str | None) -> Iterator[Pair]:
    """Yield the pairs of a table.

    The columns or keys are named like the languages, or "source" and "target"; in a .tsv or .csv
    without such a header row, they are the first two columns, numbers before them apart. A line
    break inside a field becomes a space; a blank line is an empty pair. A .tmx names its languages
    itself. ValueError names file and line.
    """
    if table_kind(path) == ".tmx":
        yield from read_tmx(path, source_lang, target_lang)
        return
    names = name_sides(source_lang, target_lang)
    read = _read_objects if table_kind(path) == ".jsonl" else _read_columns
    for source, target in read(path, names):
        yield re.sub(r"\r?\n", " ", source), re.sub(r"\r?\n", " ", target)


def name_sides(source_lang: str | None, target_lang: str | None) -> Names:
    """Return the names that a column of each side may have."""
    return (
        [name.casefold() for name in (source_lang, "source") if name],
        [name.casefold() for name in (target_lang, "target") if name],
    )


def pick_sides(row: Any, names: Names, where: str) -> Pair:
    """Return the texts of an object, which may be under "translation". ValueError without them."""
    if isinstance(row, Mapping):
        row = row.get("translation", row)  # as data sets of Hugging Face have it
    keys = list(row) if isinstance(row, Mapping) else []
    found = _find_both(keys, names)
    pair = [row[keys[place]] for place in found or ()]
    if not pair or not all(isinstance(side, str) for side in pair):
        wanted = " and ".join(" or ".join(map(repr, side)) for side in names)
        there = ", ".join(map(repr, keys[:SHOWN])) or "no keys"
        raise ValueError(f"{where}: {wanted} must be there, as strings; found {there}")
    return pair[0], pair[1]


def _read_columns(path: Path, names: Names) -> Iterator[Pair]:
    source, target = 0, 1
    for row_number, (line_number, row) in enumerate(_read_rows(path)):
        header = _find_both(row, names) if row_number == 0 else None
        if header:
            source, target = header
            continue
        if row_number == 0 and _has_numbers(row):
            source, target = 1, 3
        if len(row) > max(source, target):
            yield row[source], row[target]
        elif any(row):
            between = "tabs" if table_kind(path) == ".tsv" else "commas"
            raise ValueError(
                f"{path}, line {line_number}: {max(source, target) + 1} columns are needed, with "
                f"{between} between, and there are {len(row)}"
            )
        else:
            yield "", ""


def _has_numbers(row: Sequence[str]) -> bool:
    """Return whether each of two texts has a number before it, as in Tatoeba's exports."""
    are_numbers = [cell.strip().isdigit() for cell in row]
    return are_numbers == [True, False, True, False]


def _read_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number where each row ends, and its cells. TSV has no quoting."""
    if table_kind(path) == ".tsv":
        for number, line in enumerate(read_lines(path), 1):
            yield number, line.split("\t")
        return
    reader = csv.reader((line + "\n" for line in read_lines(path)), strict=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: not CSV: {error}") from None


def _read_objects(path: Path, names: Names) -> Iterator[Pair]:
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            yield "", ""
            continue
        try:
            row: Any = json.loads(line)
        except (ValueError, RecursionError):
            raise ValueError(f"{path}, line {number}: not a line of JSON") from None
        yield pick_sides(row, names, f"{path}, line {number}")


def _find_both(cells: Sequence[str], names: Names) -> tuple[int, int] | None:
    """Return the indices of source and target in `cells`, if both are named there; else None."""
    known = [cell.strip().casefold() for cell in cells]
    source, target = (
        next((known.index(name) for name in side if name in known), None) for side in names
    )
    return None if source is None or target is None else (source, target)
