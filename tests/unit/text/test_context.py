"""Documents that are read line by line, and extended sources."""

from __future__ import annotations

import pytest

from glassformer.text.context import (
    PrecedingLines,
    count_context,
    count_own,
    cut_source,
    extend_source,
    find_lines,
    has_empty_line,
    join_ids,
    list_contexts,
)


def test_a_document_keeps_its_last_lines_until_an_empty_one() -> None:
    lines = ["a", "b", "c", " ", "d", "", "e"]
    assert [*list_contexts(lines, PrecedingLines(2))] == ["", "a", "a\nb", "b\nc", "", "d", ""]
    assert [*list_contexts(lines, PrecedingLines(0))] == [""] * 7


def test_a_document_goes_on_where_another_list_begins() -> None:
    document = PrecedingLines(2)
    found = [*list_contexts(["a", "b"], document), *list_contexts(["c", "d"], document)]
    assert found == ["", "a", "a\nb", "b\nc"]


@pytest.mark.parametrize("context", ["", "a", "a\nb b"])
def test_extending_and_cutting(context: str) -> None:
    assert cut_source(extend_source(context, "so it is")) == (context, "so it is")


def test_a_sentence_is_on_one_line_and_an_empty_one_reads_nothing() -> None:
    assert extend_source("a", "b\nc") == "a\nb c"
    assert extend_source("a", "") == ""


@pytest.mark.parametrize(
    ("text", "most", "lines"),
    [
        ("a\nb\nc", 1, ["b", "c"]),
        ("a\nb\nc", 9, ["a", "b", "c"]),
        ("a\nb\nc", 0, ["c"]),
        ("a\n\nb\nc\n", 9, ["b", "c"]),
        (" \nc", 3, ["c"]),
        ("", 3, [""]),
    ],
)
def test_lines_that_are_read(text: str, most: int, lines: list[str]) -> None:
    assert [text[begin:end] for begin, end in find_lines(text, most)] == lines


def test_empty_lines_within_a_text() -> None:
    assert [has_empty_line(text) for text in ("\n", " \n ", "\n\n", "\n \n", "a\n\t\r\nb", "")] == [
        False,
        False,
        True,
        True,
        True,
        False,
    ]


def test_tokens_of_the_sentence_alone() -> None:
    assert count_own([5, 6, 9, 7, 2], 9) == 1
    assert count_own([9, 5, 9, 7, 8, 2], 9) == 2
    assert count_own([5, 6, 2], 9) == 2


@pytest.mark.parametrize(("room", "count"), [(99, 3), (9, 3), (8, 2), (6, 2), (5, 1), (3, 0)])
def test_the_nearest_sentences_are_read_first(room: int, count: int) -> None:
    rows = [[1, 1], [2], [3], [4, 4]]  # with a separator each, but for the last
    assert count_context([*map(len, rows)], room) == count
    read = [[1, 1, 0, 2, 0, 3, 0, 4, 4], [2, 0, 3, 0, 4, 4], [3, 0, 4, 4], [4, 4]]
    assert join_ids(rows, 0, room) == read[3 - count]
