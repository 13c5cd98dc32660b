"""Pairs in one file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from glassformer.data.tables import read_table


def read(folder: Path, name: str, text: str) -> list[tuple[str, str]]:
    path = folder / name
    raw = text.encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return list(read_table(path, "en", "de"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.tsv", "a\tb\nc\td\n"),
        ("t.tsv.gz", "a\tb\nc\td\n"),
        ("t.tsv", "a\tb\tmore\r\nc\td"),
        ("t.tsv", "en\tde\na\tb\nc\td\n"),
        ("t.tsv", "id\tDE\tEN\n1\tb\ta\n2\td\tc\n"),
        ("t.tsv", "target\tsource\nb\ta\nd\tc\n"),
        ("t.tsv", "12\ta\t907\tb\n13\tc\t45\td\n"),
        ("t.csv", "a,b\nc,d\n"),
        ("t.csv", '"a","b"\r\n"c","d"\r\n'),
        ("t.csv", "\ufeffde,en\nb,a\nd,c\n"),
        ("t.jsonl", '{"en": "a", "de": "b"}\n{"de": "d", "en": "c"}\n'),
        ("t.jsonl.gz", '{"source": "a", "target": "b"}\n{"en": "c", "target": "d", "id": 7}\n'),
        ("t.jsonl", '{"translation": {"en": "a", "de": "b"}}\n{"en": "c", "de": "d"}'),
    ],
)
def test_ways_to_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    assert read(tmp_path, name, text) == [("a", "b"), ("c", "d")]


def test_only_the_first_row_may_be_a_header(tmp_path: Path) -> None:
    assert read(tmp_path, "t.tsv", "a\tb\nde\ten\nc\td\n") == [("a", "b"), ("de", "en"), ("c", "d")]


def test_quotes(tmp_path: Path) -> None:
    assert read(tmp_path, "t.tsv", '"a\tb"\n') == [('"a', 'b"')]
    assert read(tmp_path, "t.csv", '"say ""a"", b",c\n') == [('say "a", b', "c")]


def test_a_line_break_inside_a_field_is_a_space(tmp_path: Path) -> None:
    assert read(tmp_path, "t.csv", '"a\nb","c\r\nd"\n') == [("a b", "c d")]
    assert read(tmp_path, "t.jsonl", '{"en": "a\\nb", "de": "c"}\n') == [("a b", "c")]


def test_a_blank_line_is_an_empty_pair(tmp_path: Path) -> None:
    for name, text in (("t.tsv", "a\tb\n\n"), ("t.csv", "a,b\n\n")):
        assert read(tmp_path, name, text) == [("a", "b"), ("", "")]
    assert read(tmp_path, "t.jsonl", "\n") == [("", "")]


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("t.tsv", "a\tb\nc\n", "t.tsv, line 2: 2 columns are needed, with tabs between, "),
        ("t.csv", "a;b\n", "t.csv, line 1: 2 columns are needed, with commas between, and there"),
        ("t.tsv", "id\tx\ten\tde\n1\t2\t3\n", "line 2: 4 columns are needed, .* and there are 3"),
        ("t.csv", 'a,b\n"c,d\n', "t.csv, line 2: not CSV"),
        ("t.csv", "a,b\n" + "x" * 200_000 + ",c\n", "line 2: not CSV: field larger"),
        ("t.jsonl", '{"en": "a", "de": "b"}\n{"en": \n', "t.jsonl, line 2: not a line of JSON"),
        ("t.jsonl", "[" * 100_000, "line 1: not a line of JSON"),
        ("t.jsonl", '{"en": "a", "fr": "b"}', "line 1: 'en' or 'source' and 'de' or 'target' must"),
        ("t.jsonl", '{"en": "a", "de": null}', "line 1: .* as strings"),
        ("t.jsonl", '["a", "b"]', "line 1: .* must be there, as strings; found no keys"),
        ("t.jsonl", '{"a": "b", "c": "d"}', "must be there, as strings; found 'a', 'c'"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, name: str, text: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        read(tmp_path, name, text)
