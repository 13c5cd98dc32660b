"""Tokens of a translation and their places in it."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from glassformer.model.files.directory import open_model
from glassformer.see.tokens import name_invisible, read_target


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("\u200b", "U+200B"),
        (" \u200bab\u00ad", " U+200BabU+00AD"),
        ("▁\u200c", "▁U+200C"),
        ("می\u200cخ", "می\u200cخ"),
        (" a\n", " a\n"),
    ],
)
def test_what_cannot_be_seen_has_a_name(text: str, named: str) -> None:
    assert name_invisible(text) == named


@pytest.mark.parametrize("seed", range(4))
def test_each_token_is_where_the_text_of_all_before_it_ends(seed: int) -> None:
    """Any tokens, some of which are bytes that share a character, or that are none."""
    tokenizer, random = open_model("demo")[1].target, Random(seed)
    text = "".join(random.choices("ab é猫😀 .", k=150))
    ids = [*tokenizer.encode(text), *random.choices(range(len(tokenizer)), k=random.randint(0, 99))]
    spelled = [tokenizer.decode(ids[:count]) for count in range(len(ids) + 1)]
    written = spelled[-1].strip()
    left = len(spelled[-1]) - len(spelled[-1].lstrip())
    found = read_target(tokenizer, ids, written, False)[1]
    assert [token.id for token in found] == ids
    for token, (before, after) in zip(found, pairwise(map(len, spelled)), strict=True):
        start = before - (before == after) - left
        expected = [min(max(place, 0), len(written)) for place in (start, after - left)]
        assert [token.start, token.end] == expected
