"""Cutting a sentence that is too long: where, how long, and that nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.text import Tokenizer
from glassformer.text.clauses import split_clauses

TEXTS = st.one_of(
    st.text(min_size=1),
    st.lists(st.sampled_from(["the cat", "学习编程", *",，—.é😀 ", ", ", "e\u0301"])).map("".join),
)


def cut(tokenizer: Tokenizer, text: str, most: int) -> list[str]:
    return [text[a:b] for a, b in split_clauses(text, most, tokenizer.tokens)]


@given(text=TEXTS.map(str.strip).filter(bool), most=st.integers(4, 30))
def test_no_part_is_too_long_and_all_that_fits_is_in_one(
    tokenizer: Tokenizer, text: str, most: int
) -> None:
    spans = split_clauses(text, most, tokenizer.tokens)
    at = 0
    for start, end in [*spans, (len(text), len(text))]:
        part = text[start:end]
        # a token of the whole may have more alone: the space before it, and its bytes in any form
        is_one = len(tokenizer.tokens(part).ids) <= 1 + len(part.encode("utf-8", "replace")) <= 14
        assert len(tokenizer.encode(part)) <= most or is_one
        assert not part or part[0].strip()
        for left_out in text[at:start].split():  # with the bytes of each accent it is too long
            assert len(tokenizer.encode(left_out)) > most
        at = end


def test_a_letter_with_a_thousand_accents_is_left_out(tokenizer: Tokenizer) -> None:
    letter = "e" + "\u0301" * 1000
    text = f"the cat is on the mat, {letter} the dog is here"
    parts = cut(tokenizer, text, 12)
    assert "".join(parts).replace(" ", "") == text.replace(letter, "").replace(" ", "")


@given(text=TEXTS.map(str.strip).filter(bool))
def test_what_is_short_enough_stays_whole(tokenizer: Tokenizer, text: str) -> None:
    most = len(tokenizer.encode(text))
    assert split_clauses(text, most, tokenizer.tokens) == [(0, len(text))]
    if most > 12 and not text.isascii():
        assert len(split_clauses(text, most - 1, tokenizer.tokens)) > 1


CLAUSES = ["the cat sat,", "two dogs chase;", "they said:", "the hat is on it –", "yes (here),"]


@pytest.mark.parametrize("most", [10, 14, 20, 30])
def test_clauses_come_before_spaces(tokenizer: Tokenizer, most: int) -> None:
    longest = max(len(tokenizer.encode(clause)) for clause in CLAUSES)
    assert longest <= 10
    parts = cut(tokenizer, " ".join(CLAUSES * 3), most)
    assert len(parts) > 1
    assert all(part.endswith(tuple(",;:–")) for part in parts)


def test_parts_are_about_equally_long(tokenizer: Tokenizer) -> None:
    text = " ".join(["the cat,"] * 40)
    lengths = [len(tokenizer.encode(part)) for part in cut(tokenizer, text, 50)]
    assert len(lengths) == 3 and max(lengths) - min(lengths) <= 3


def test_without_a_clause_spaces_and_without_a_space_anything(tokenizer: Tokenizer) -> None:
    for part in cut(tokenizer, "the " * 29 + "the", 7):
        assert set(part.split(" ")) == {"the"}
    assert "".join(cut(tokenizer, "x" * 50, 7)) == "x" * 50
    clauses = ["我喜欢学习编程，", "我喜欢吃苹果"]
    most = len(tokenizer.encode("".join(clauses))) - 1
    assert cut(tokenizer, "".join(clauses), most) == clauses


def test_numbers_keep_their_points_and_titles_their_names(tokenizer: Tokenizer) -> None:
    parts = cut(tokenizer, "they said 10,000.5 " * 10 + "to Dr. x", 20)
    assert all("10,000.5" in part for part in parts)


def test_a_hundred_thousand_characters(tokenizer: Tokenizer) -> None:
    """Each token is read a few times, whatever the length of the whole."""
    read = 0

    def count(text: str) -> object:
        nonlocal read
        read += len(text)
        return tokenizer.tokens(text)

    text = "the cat sat on the mat " * 4000 + "x" * 8000
    parts = split_clauses(text.strip(), 40, count)  # type: ignore[arg-type]
    assert len(parts) > 500 and read < 5 * len(text)
