"""NFC, and the way back to the characters that were given."""

from __future__ import annotations

import re
import sys
from unicodedata import combining, decomposition, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.text.unicode import clean, clean_with_spans, count_surrogates

EVERYTHING = map(chr, range(sys.maxunicode + 1))
TOUCHY = [c for c in EVERYTHING if combining(c) or normalize("NFD", c) != c]
SECONDS = {normalize("NFD", c)[-1] for c in TOUCHY}  # what composes with something before it
tricky = st.text(st.sampled_from([*sorted(SECONDS), *TOUCHY[::97], *"aAeoß<", "가", "ᆨ", "\ud800"]))
anything = st.one_of(st.text(st.characters()), tricky)


@given(anything)
def test_clean_is_nfc_without_surrogates(text: str) -> None:
    assert clean(text) == normalize("NFC", re.sub(r"[\ud800-\udfff]", "\ufffd", text))
    assert count_surrogates(text) == sum("\ud800" <= c <= "\udfff" for c in text)
    clean(text).encode("utf-8")


@given(anything)
def test_spans_are_in_order_and_cover_the_text(text: str) -> None:
    cleaned, spans = clean_with_spans(text)
    assert cleaned == clean(text)
    assert len(spans) == len(cleaned)
    assert spans == sorted(spans)
    assert sorted({place for span in spans for place in range(*span)}) == list(range(len(text)))


@given(anything)
def test_a_cluster_normalises_to_its_characters(text: str) -> None:
    cleaned, spans = clean_with_spans(text)
    for span in set(spans):
        whole = "".join(c for c, where in zip(cleaned, spans, strict=True) if where == span)
        assert whole == clean(text[slice(*span)])


def test_every_character_that_composes_finds_its_partner() -> None:
    for character in TOUCHY:
        parts = normalize("NFD", character)
        for text in (character, parts, "x" + parts + "y", parts + "\u0301", character * 2):
            assert clean_with_spans(text)[0] == normalize("NFC", text), [hex(ord(c)) for c in text]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("", []),
        ("né", [(0, 1), (1, 2)]),
        ("ne\u0301e", [(0, 1), (1, 3), (3, 4)]),
        ("\u1112\u1161\u11ab!", [(0, 3), (3, 4)]),  # three jamo, one syllable
        ("a\u0301\ud800b", [(0, 2), (2, 3), (3, 4)]),
        ("q\u0307\u0323z", [(0, 3), (0, 3), (0, 3), (3, 4)]),  # the two marks change places
        ("\u0958", [(0, 1), (0, 1)]),  # one character that NFC takes apart
    ],
)
def test_spans_of(text: str, spans: list[tuple[int, int]]) -> None:
    assert clean_with_spans(text)[1] == spans


def test_the_trap_is_real() -> None:
    """Starters that compose with a starter before them: combining classes alone do not tell."""
    assert [c for c in SECONDS if not combining(c) and not decomposition(c)]
