"""Sources as they are typed on a phone."""

from __future__ import annotations

import pytest

from benchmarks.casual import SHARE, remove_accents, type_casually

ENGLISH = [(f"Don't you know that I'm {n}?", f"{n} ?") for n in range(3_000)]


def type_often(source: str, lang: str) -> set[str]:
    return {typed for typed, _ in type_casually([(source, "")] * 3_000, lang)}


def test_a_share_is_typed_casually() -> None:
    typed = list(type_casually(ENGLISH, "en"))
    assert 0.6 * SHARE < len(typed) / len(ENGLISH) < SHARE * 1.2
    assert typed == list(type_casually(ENGLISH, "en")) != list(type_casually(ENGLISH, "en", seed=2))
    translations = {target: source for source, target in ENGLISH}
    assert all(source != translations[target] for source, target in typed)
    sources = {source.rstrip("0123456789?") for source, _ in typed}
    assert {"Dont u know that Im ", "Dont you know that Im ", "Don't u know that I'm "} <= sources


@pytest.mark.parametrize(
    ("lang", "source", "typed"),
    [
        ("en", "You're going to see it tomorrow.", "Ur gonna see it tmrw."),
        ("fr", "S'il te plaît, viens aujourd'hui.", "Stp, viens ajd."),
        ("fr", "C'est l'été.", "C l'ete."),
        ("de", "Wie geht's dir?", "Wie gehts dir?"),
    ],
)
def test_languages(lang: str, source: str, typed: str) -> None:
    assert typed in type_often(source, lang)


@pytest.mark.parametrize(
    ("lang", "source"),
    [
        ("en", "Tom lives in Boston."),
        ("en", "He was going to Boston."),
        ("en", "We want to."),
        ("fr", "Le chat dort."),
    ],
)
def test_nothing_to_be_typed_otherwise(lang: str, source: str) -> None:
    assert not type_often(source, lang)


def test_a_part_of_another_word_stays() -> None:
    assert not [typed for typed in type_often("C'est-à-dire l'été.", "fr") if "C-" in typed]


def test_accents() -> None:
    assert remove_accents("Où êtes-vous ? À Genève, là-bas.") == "Ou etes-vous ? A Geneve, la-bas."
    assert remove_accents("мой ё 한 が œ") == "мой ё 한 が œ"
