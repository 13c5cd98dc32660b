"""Signs that a network never met are read as words."""

from __future__ import annotations

import pytest

from glassformer import Translator
from glassformer.extensions.signs.signs import RARE, Signs
from glassformer.text.stand_ins import replace_parts

ENGLISH = Signs("en", {}, {" and", " at"}.__contains__)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Salt & pepper", "Salt and pepper"),
        ("Meet me @ the bar & grill.", "Meet me at the bar and grill."),
        ("I & you & he", "I and you and he"),
        ("BREAD & BUTTER", "BREAD AND BUTTER"),
        ("AT&T, a&b, me@x.org, @anna", "AT&T, a&b, me@x.org, @anna"),
        ("5 & 6", "5 & 6"),
        ("& so on &", "& so on &"),
        ("this && that & @ home", "this && that and at home"),
        (
            "Run `a & b`, {x, y & z} or [[a & b]] & go",
            "Run `a & b`, {x, y & z} or [[a & b]] and go",
        ),
        ("Tom\u00a0&\u00a0@anna", "Tom\u00a0and\u00a0@anna"),
        ("東京 & 大阪", "東京 and 大阪"),
        ("", ""),
    ],
)
def test_lone_signs(text: str, read: str) -> None:
    signs = ENGLISH.find(text)
    parts, words = [part for part, _ in signs], [word for _, word in signs]
    assert replace_parts(text, parts, words)[0] == read


def test_a_sign_is_read_if_training_knew_its_word_and_hardly_the_sign() -> None:
    words = {" and", " at", "&", " et", " und"}.__contains__
    assert Signs("en", {}, words).spoken == {"@": "at"}
    assert Signs("en-GB", {"&": RARE - 1}, words).spoken == {"&": "and", "@": "at"}
    assert Signs("en", {"&": RARE, "@": 3}, words).spoken == {"@": "at"}
    assert Signs("fr", {"a": 9}, words).spoken == {"&": "et"}
    assert not Signs("es", {}, words).spoken and not Signs("zh", {}, words).spoken
    assert not Signs(None, {}, bool).spoken


def test_tokens_come_from_the_sign() -> None:
    everyday = Translator.load("everyday-en-fr")
    text = "Meet Zorblax & me @ home."
    tokens = everyday.reader.tokenize(text)
    spans = dict(zip((each.strip() for each in tokens.texts), tokens.spans, strict=True))
    assert text[slice(*spans["at"])].strip() == "@"
    assert text[slice(*spans["home"])].strip() == "home"
