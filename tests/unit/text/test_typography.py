"""Curly in, curly out: marks in the shape of the target language, where the source had them."""

from __future__ import annotations

import pytest

from glassformer.text.typography import find_quotes, shape_marks


@pytest.mark.parametrize(
    ("source", "text", "language", "shaped"),
    [
        ("It\u2019s late.", "C'est l'heure.", "fr", "C\u2019est l\u2019heure."),
        ("It's late.", "C'est l'heure.", "fr", "C'est l'heure."),
        ("\u201cYes,\u201d he said.", '"Ja", sagte er.', "de", "\u201eJa\u201c, sagte er."),
        ("\u201cYes,\u201d he said.", '"Oui", dit-il.', "fr", "\u00abOui\u00bb, dit-il."),
        ("\u201cNo\u201d", '"No" and "no"', "en", "\u201cNo\u201d and \u201cno\u201d"),
        ("a \u2014 b", "un - deux", "fr", "un \u2014 deux"),
        ("a \u2014 b", "un-deux", "fr", "un-deux"),
        ("Wait\u2026", "Attends...", "fr", "Attends\u2026"),
        ("\u2018so\u2019", "'so' it's", "en", "\u2018so\u2019 it\u2019s"),
        ("plain", '"plain"', "de", '"plain"'),
    ],
)
def test_marks_are_as_in_the_source(source: str, text: str, language: str, shaped: str) -> None:
    assert shape_marks(source, text, language) == shaped
    assert shape_marks(source, text, language, "plain") == text


@pytest.mark.parametrize(
    ("source", "text", "shaped"),
    [
        ("«\u00a0Non\u00a0», dit Tom.", '"No, Tom said.', "\u201cNo,\u201d Tom said."),
        ('"Non", dit Tom.', '"No, Tom said.', '"No," Tom said.'),
        ('"Non", dit Tom.', '"No, she, Tom said.', "No, she, Tom said."),
        ("« Viens ! » cria Marie.", "\"You're shouting for Marie.", "You're shouting for Marie."),
        ("« Il est tard », dit-il.", '"Is it late." "He said.', "\u201cIs it late.\u201d He said."),
        ("« Oui » est un mot.", '"Yes is a word.', '"Yes is a word.'),
        ("« Tom, viens ! » cria-t-il.", '"Tom, come he cried.', "Tom, come he cried."),
        ("« Oui », dit-il.", '"Yes." " He.', "\u201cYes.\u201d He."),
        ('"Oui", dit-il.', 'Yes," he said.', 'Yes," he said.'),
        ('"Oui", dit-il.', '"Yes," he said.', '"Yes," he said.'),
        ("« Non. »", '"No.', '"No.'),
        ('Il dit "oui" et part.', 'He says "yes and goes.', 'He says "yes and goes.'),
        ('"Oui, dit-il.', '"Yes, he said.', '"Yes, he said.'),
    ],
)
def test_speech_has_its_quotes_in_pairs(source: str, text: str, shaped: str) -> None:
    assert shape_marks(source, text, "en") == shaped


def test_french_is_printed_with_narrow_spaces_on_request() -> None:
    text = "Vraiment? Il dit: \"oui\"! C'est l'heure; va..."
    shaped = shape_marks("x", text, "fr", "language")
    assert shaped == (
        "Vraiment\u202f? Il dit\u00a0: \u00ab\u00a0oui\u00a0\u00bb\u202f! "
        "C\u2019est l\u2019heure\u202f; va\u2026"
    )
    assert shape_marks("x", shaped, "fr", "language") == shaped
    assert shape_marks("x", "at 10:30, http://a", "fr", "language") == "at 10:30, http://a"


def test_each_language_has_quotes() -> None:
    assert find_quotes("pt-PT") == ("\u00ab", "\u00bb")
    assert find_quotes("de-AT") == find_quotes("de")
    assert find_quotes(None) == find_quotes("en") == ("\u201c", "\u201d")
