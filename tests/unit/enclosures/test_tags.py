"""Tags in plain text are no part of what a network reads, and stand around the right words."""

from __future__ import annotations

import re

import pytest
from damage.growth import is_linear

from glassformer.extensions.enclosures.tags import TAG, pair_tags
from glassformer.translator import Translator


def find_parts(text: str) -> list[tuple[int, int]]:
    return [each.span() for each in TAG.finditer(text)]


@pytest.fixture(scope="module")
def everyday() -> Translator:
    return Translator.load("everyday-en-de", device="cpu")


@pytest.mark.parametrize(
    ("text", "enclosed"),
    [
        ("Your <b>order</b> is ready.", ["<b>order</b>"]),
        ("<p>The <B id='x'>man</b></p>", ["<B id='x'>man</b>", "<p>The <B id='x'>man</b></p>"]),
        ("<i>a <b>b</i> c</b>", ["<i>a <b>b</i>"]),  # none that crosses another
        ("<b></b> and <b> <i></i> </b>", []),
        ("a</b> <b>c", []),
        ("<i><b>a</b></i>", ["<b>a</b>", "<i><b>a</b></i>"]),
        ("one<br>two<br/>three", []),
    ],
)
def test_pairs_of_tags(text: str, enclosed: list[str]) -> None:
    assert [text[each.start : each.end] for each in pair_tags(text, find_parts(text))] == enclosed


def test_tags_are_paired_in_linear_time() -> None:
    for part in ("<b>", "<b>a</b>", "<b><i>a</b>", "</b>", "<b a='"):
        assert is_linear(lambda text: pair_tags(text, find_parts(text)), part.__mul__)
    assert is_linear(
        lambda text: pair_tags(text, find_parts(text)), lambda n: "<b>" * n + "a" + "</b>" * n
    )


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Your <b>order</b> is ready.", "Your order is ready."),
        ('Click <a href="/x" title="Tom Jones">here</a>.', "Click here."),
        ("I like <i>red</i> apples.<br>", "I like red apples."),
        ("We know that 2 < 3 > 1.", "We know that 2 < 3 > 1."),
    ],
)
def test_a_network_reads_no_tags(everyday: Translator, text: str, read: str) -> None:
    assert everyday.reader.prepare(text).text.removesuffix(".") == read.removesuffix(".")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Your <b>order</b> is ready.", r"Ihre <b>Bestellung</b> ist"),
        ("The <b>old</b> man and the <i>young</i> woman are here.", r"<b>alte</b> .*<i>junge</i>"),
        ("<strong>I don't know.</strong>", r"^<strong>.*\.</strong>$"),
        ('<a href="/x" title="Tom">Anna</a> likes apples.', r'<a href="/x" title="Tom">Anna</a>'),
        ("Dear <your name>, thank you for your letter.", r"<your name>,"),
        ("I like <b>(404)</b> <i>apples</i>.", r"<b>.*</b>"),
        ("Please <b>do</b> <i>tell</i> <u>me</u>.", r"<b>.*</b>.*<i>.*</i>.*<u>.*</u>"),
        ("<br>", r"^<br>$"),
        ("<b></b>", r"^<b></b>$"),
    ],
)
def test_tags_stand_around_the_words_that_they_stood_around(
    everyday: Translator, text: str, kept: str
) -> None:
    translation = everyday.translate(text)
    assert re.search(kept, translation), translation
    assert TAG.findall(translation) == TAG.findall(text)
