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
        ("t.tsv", "src\ttrg\na\tb\nc\td\n"),
        ("t.tsv", "tgt\tsrc\nb\ta\nd\tc\n"),
        ("t.tsv", "score\tEnglish\tGerman\n0.9\ta\tb\n0.8\tc\td\n"),
        ("t.tsv", "deu\teng\nb\ta\nd\tc\n"),
        ("t.tsv", "id\tde_DE\ten-US\n1\tb\ta\n2\td\tc\n"),
        ("t.tsv", "src_prompt\tsrc\ttrg\tsrc_lang\nx\ta\tb\ten\nx\tc\td\ten\n"),
        ("t.tsv", "English text\tDeutsch\na\tb\nc\td\n"),
        ("t.tsv", "1.07\ta\tb\n1.03\tc\td\n"),
        ("t.tsv", "a\tb\t0.9\nc\td\t1e-5\n"),
        ("t.tsv", "news-1\ta\tb\nnews-2\tc\td\n"),
        ("t.csv", "a,b\nc,d\n"),
        ("t.csv", "a;b\nc;d\n"),
        ("t.csv", "English;German\na;b\nc;d\n"),
        ("t.csv", "a|b\nc|d\n"),
        ("t.csv", '"a","b"\r\n"c","d"\r\n'),
        ("t.csv", "\ufeffde,en\nb,a\nd,c\n"),
        ("t.jsonl", '{"en": "a", "de": "b"}\n{"de": "d", "en": "c"}\n'),
        ("t.jsonl.gz", '{"source": "a", "target": "b"}\n{"en": "c", "target": "d", "id": 7}\n'),
        ("t.jsonl", '{"translation": {"en": "a", "de": "b"}}\n{"en": "c", "de": "d"}'),
    ],
)
def test_ways_to_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    assert read(tmp_path, name, text) == [("a", "b"), ("c", "d")]


def test_texts_with_other_separators_in_them(tmp_path: Path) -> None:
    assert read(tmp_path, "t.csv", "en;de\nHello, you;Hallo, du\nNo;Nein, nein\n") == [
        ("Hello, you", "Hallo, du"),
        ("No", "Nein, nein"),
    ]
    assert read(tmp_path, "t.csv", "a;b,c\nd,e\n") == [("a;b", "c"), ("d", "e")]
    rows = [("Hello, you", "Hallo du"), ("No, I", "Nein ich")]
    assert read(tmp_path, "t.csv", "".join(f"{a};{b}\n" for a, b in rows)) == rows
    assert read(tmp_path, "t.csv", "a; b,c\nd; e,f\n") == [("a; b", "c"), ("d; e", "f")]


@pytest.mark.parametrize("text", ["1\ta\tb\n\tc\td\n", "x-1\ta\tb\n\tc\td\n", "\ta\tb\n\tc\td\n"])
def test_empty_cells_make_no_text_of_a_column(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, "t.tsv", text) == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize("pair", ["English\tEnglisch", "No\tNein", "Line\tLinie", "Cat.\tsource"])
def test_words_that_are_no_header(tmp_path: Path, pair: str) -> None:
    assert read(tmp_path, "t.tsv", f"{pair}\na\tb\n")[0] == tuple(pair.split("\t"))


def test_languages_in_the_header_alone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("English;French\na;b\n", encoding="utf-8")
    assert [*read_table(tmp_path / "t.csv", None, None)] == [("a", "b")]


def test_numbers_are_text_where_there_are_two_columns(tmp_path: Path) -> None:
    assert read(tmp_path, "t.tsv", "12\ttwelve\n13\tthirteen\n")[0] == ("12", "twelve")


@pytest.mark.parametrize(
    "header",
    ["id\tEnglish\tFrench", "en_US\ten_GB\tde", "src\ttext", "score\tone\ttwo", "de\tde\ten"],
)
def test_a_header_without_both_sides_is_refused_by_its_columns(tmp_path: Path, header: str) -> None:
    with pytest.raises(ValueError, match=r"t\.tsv: its columns are '.*which are 'en' or 'source'"):
        read(tmp_path, "t.tsv", f"{header}\nx\ty\tz\n")


def test_only_the_first_row_may_be_a_header(tmp_path: Path) -> None:
    assert read(tmp_path, "t.tsv", "a\tb\nde\ten\nc\td\n") == [("a", "b"), ("de", "en"), ("c", "d")]


def test_quotes(tmp_path: Path) -> None:
    assert read(tmp_path, "t.tsv", '"a\tb"\n') == [('"a', 'b"')]
    excel = '"He said ""no"" to me."\t"""A"" is ""B"""\n'
    assert read(tmp_path, "t.tsv", excel) == [('He said "no" to me.', '"A" is "B"')]
    assert read(tmp_path, "t.tsv", '"a"\t""\n') == [('"a"', '""')]
    assert read(tmp_path, "t.csv", '"say ""a"", b",c\n') == [('say "a", b', "c")]


def test_a_line_break_inside_a_field_is_a_space(tmp_path: Path) -> None:
    assert read(tmp_path, "t.csv", '"a\nb","c\r\nd"\n') == [("a b", "c d")]
    assert read(tmp_path, "t.jsonl", '{"en": "a\\nb", "de": "c"}\n') == [("a b", "c")]


def test_null_is_an_empty_side(tmp_path: Path) -> None:
    text = '{"en": "a", "de": null}\n{"en": "c", "de": "d"}\n'
    assert read(tmp_path, "t.jsonl", text) == [("a", ""), ("c", "d")]


def test_a_blank_line_is_an_empty_pair(tmp_path: Path) -> None:
    for name, text in (("t.tsv", "a\tb\n\n"), ("t.csv", "a,b\n\n")):
        assert read(tmp_path, name, text) == [("a", "b"), ("", "")]
    assert read(tmp_path, "t.jsonl", "\n") == [("", "")]


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("t.tsv", "a\tb\nc\n", "t.tsv, line 2: 2 columns are needed, with tabs between, "),
        ("t.csv", "a\n", "t.csv, line 1: 2 columns are needed, with commas between, and there"),
        ("t.csv", "a;b\nc\n", "t.csv, line 2: 2 columns are needed, with semicolons between, and"),
        ("t.tsv", "id\tx\ten\tde\n1\t2\t3\n", "line 2: 4 columns are needed, .* and there are 3"),
        ("t.csv", 'a,b\n"c,d\n', "t.csv, line 2: not CSV"),
        ("t.csv", "a,b\n" + "x" * 200_000 + ",c\n", "line 2: not CSV: field larger"),
        ("t.jsonl", '{"en": "a", "de": "b"}\n{"en": \n', "t.jsonl, line 2: not a line of JSON"),
        ("t.jsonl", "[" * 100_000, "line 1: not a line of JSON"),
        ("t.jsonl", '{"en": "a", "fr": "b"}', "line 1: 'en' or 'source' and 'de' or 'target' must"),
        ("t.jsonl", '{"en": "a", "de": 7}', "line 1: .* as strings"),
        ("t.jsonl", '["a", "b"]', "line 1: .* must be there, as strings; found no keys"),
        ("t.jsonl", '{"a": "b", "c": "d"}', "must be there, as strings; found 'a', 'c'"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, name: str, text: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        read(tmp_path, name, text)
