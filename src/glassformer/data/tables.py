"""Reading of sentence pairs from one file: TSV, CSV, JSONL or TMX, each also gzipped."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from .columns import Names, find_columns, name_sides
from .files import read_lines
from .tmx import read_tmx

Pair = tuple[str, str]
Row = tuple[int, list[str]]  # the number of its last line, and its cells

KINDS = (".tsv", ".csv", ".jsonl", ".tmx")
SHOWN = 8  # keys of an object that a message lists
FIRST_ROWS = 100  # from which columns and their separator are told
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
NUMBER = re.compile(r"[-+]?\d+([.,:]\d+)*(e-?\d+)?%?", re.IGNORECASE)
EXCEL = re.compile(r'"(?:[^"]|"")*""(?:[^"]|"")*"')  # a quoted cell with quotes, which are doubled


def table_kind(path: Path) -> str | None:
    """Return the kind of a table, one of KINDS; None for any other file."""
    suffix = Path(path.name.removesuffix(".gz")).suffix
    return suffix if suffix in KINDS else None


def read_table(path: Path, source_lang: str | None, target_lang: str | None) -> Iterator[Pair]:
    """Yield the pairs of a table.

    The columns or keys have the names that `SideNames` knows: a code or name of the language, or
    "source" and "target". In a .tsv or .csv without such a header row, they are the first two
    columns, apart from those of numbers, as scores, and of one word that is always the same. A .csv
    may have semicolons. A line break inside a field becomes a space; a blank line is an empty pair,
    and null an empty side. A .tmx names its languages itself. ValueError names file and line.
    """
    if table_kind(path) == ".tmx":
        yield from read_tmx(path, source_lang, target_lang)
        return
    names = name_sides(source_lang, target_lang)
    read = _read_objects if table_kind(path) == ".jsonl" else _read_columns
    for source, target in read(path, names):
        yield re.sub(r"\r?\n", " ", source), re.sub(r"\r?\n", " ", target)


def pick_sides(row: Any, names: Names, where: str) -> Pair:
    """Return the texts of an object, which may be under "translation". ValueError without them."""
    if isinstance(row, Mapping) and isinstance(row.get("translation"), Mapping):
        row = row["translation"]  # as data sets of Hugging Face have it
    keys = list(row) if isinstance(row, Mapping) else []
    sides = [side.find(keys) for side in names]
    pair = [row[keys[result[0]]] for result in sides if result]
    if len(pair) != 2 or not all(side is None or isinstance(side, str) for side in pair):
        text = " and ".join(side.shown for side in names)
        there = ", ".join(map(repr, keys[:SHOWN])) or "no keys"
        raise ValueError(f"{where}: {text} must be there, as strings; found {there}")
    return pair[0] or "", pair[1] or ""


def _read_columns(path: Path, names: Names) -> Iterator[Pair]:
    rows = _read_rows(path)
    first = list(islice(rows, FIRST_ROWS))
    header = find_columns(first[0][1], names, str(path)) if first else None
    source, target = header or _choose_columns([row for _, row in first])
    for line_number, row in chain(first[bool(header) :], rows):
        if len(row) > max(source, target):
            yield row[source], row[target]
        elif any(row):
            raise ValueError(
                f"{path}, line {line_number}: {max(source, target) + 1} columns are needed, with "
                f"{_name_separator(path)} between, and there are {len(row)}"
            )
        else:
            yield "", ""


def _choose_columns(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return the first two columns of text in rows without a header."""
    rows = [row for row in rows if any(row)]
    columns = range(min(map(len, rows), default=2))
    texts = [column for column in columns if _is_text([row[column] for row in rows])]
    return (texts[0], texts[1]) if len(columns) > 2 and len(texts) > 1 else (0, 1)


def _is_text(cells: Sequence[str]) -> bool:
    """Return whether a column holds text: no numbers or names, and not always the same word."""
    cells = [cell for cell in cells if cell.strip()]
    is_number = all(NUMBER.fullmatch(cell.strip()) for cell in cells)
    is_name = all(re.search(r"\d|/", cell) and not re.search(r"\s", cell) for cell in cells)
    is_constant = len(cells) > 2 and len({*cells}) == 1 and " " not in cells[0]
    return bool(cells) and not (is_number or is_name or is_constant)


def _read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows. A cell of a TSV has no quotes around it but those that Excel writes."""
    if table_kind(path) == ".tsv":
        for number, line in enumerate(read_lines(path), 1):
            yield number, [_unquote(cell) for cell in line.split("\t")]
        return
    reader = csv.reader(
        (line + "\n" for line in read_lines(path)), strict=True, delimiter=_find_separator(path)
    )
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: not CSV: {error}") from None


def _unquote(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if '""' in cell and EXCEL.fullmatch(cell) else cell


def _find_separator(path: Path) -> str:
    """Return what separates the columns of a .csv: what gives most of its first rows as many.

    Of equals it is what gives two, with no space behind it as a comma in a text has.
    """
    lines = [line + "\n" for line in islice(read_lines(path), FIRST_ROWS)]
    shares = dict[str, tuple[float, bool]]()
    for separator in SEPARATORS:
        try:
            rows = [row for row in csv.reader(lines, delimiter=separator) if row]
        except csv.Error:
            continue
        (size, count), *_ = Counter(map(len, rows)).most_common(1) or [(0, 0)]
        if size > 1:
            is_tight = size == 2 and not any(cell[:1] == " " for row in rows for cell in row[1:])
            shares[separator] = count / len(rows), is_tight
    return max(shares, key=lambda each: shares[each], default=",")


def _name_separator(path: Path) -> str:
    return SEPARATORS["\t" if table_kind(path) == ".tsv" else _find_separator(path)]


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
