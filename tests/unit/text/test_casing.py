"""A sentence in capitals, as a title or in small letters is read in its usual case, and back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from glassformer.text.casing import (
    Case,
    capitalize,
    find_case,
    has_capital,
    is_small,
    is_usual,
    lower_first,
    put_case_back,
    to_small,
    truecase,
    write_capitals,
)

# The tokens of a model that has often read these words; what it never read is cut into letters.
OFTEN = """I the The cat is Tom London on mat not like do that you a of TV My name We won't go and
won\u2019t I'm"""
FREQUENT = {word: 10 * place + 300 for place, word in enumerate(OFTEN.split())}


def cut(words: Sequence[str]) -> list[list[int]]:
    return [[FREQUENT[word]] if word in FREQUENT else [ord(c) for c in word] for word in words]


@pytest.mark.parametrize(
    ("typed", "case", "read"),
    [
        ("THE CAT IS ON THE MAT.", "upper", "The cat is on the mat."),
        ("I LIKE TOM. DO YOU?", "upper", "I like Tom. do you?"),
        ("WE WON\u2019T GO!", "upper", "We won\u2019t go!"),
        ("The Cat Is On The Mat", "title", "The cat is on the mat"),
        ("i like tom and london", "lower", "I like Tom and London"),
        ("I do NOT like that.", "words", "I do not like that."),
    ],
)
def test_a_sentence_is_read_in_its_usual_case(typed: str, case: Case, read: str) -> None:
    assert find_case(typed, cut, "en") == case
    found = truecase(typed, case, cut)
    assert found == read
    assert len(found) == len(typed)


@pytest.mark.parametrize(
    "text",
    [
        "The cat is on the mat.",
        "I like Tom.",
        "Tom Smith is in London.",
        "Do you like TV?",
        "Kowalski",
        "the cat",
        "Mary Young",
        "42!",
        "\u732b\u304c\u3044\u308b",
        "\u0627\u0644\u0642\u0637\u0629",
        "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ᏓᏆᏙᎥ ᎠᏯ.",
        "ეს ჩვენი პატარა სახლია.",
        "",
        "A",
    ],
)
def test_usual_sentences_stay(text: str) -> None:
    assert find_case(text, cut, "en") is None


def test_names_that_nobody_knows_keep_a_capital() -> None:
    known = {"the", "cat", "is"}
    assert truecase("THE CAT IS KOWALSKI", "upper", cut, known) == "The cat is Kowalski"
    assert truecase("the cat is kowalski", "lower", cut, known) == "The cat is Kowalski"


def test_only_a_sentence_with_one_capital_in_front_is_usual() -> None:
    assert is_usual("The cat is on the mat.")
    assert not any(map(is_usual, ("the cat", "The Cat", "THE", "T", "", "42", "I am Tom")))


@pytest.mark.parametrize(
    ("language", "text", "capitals"),
    [
        ("fr", "L'été où ça va", "L'ÉTÉ OÙ ÇA VA"),
        ("de", "Straße", "STRASSE"),
        ("tr", "iyi bir kış", "İYİ BİR KIŞ"),
        ("az-AZ", "ırı", "IRI"),
        ("el", "Καλημέρα όλοι", "ΚΑΛΗΜΕΡΑ ΟΛΟΙ"),
        (None, "ok", "OK"),
    ],
)
def test_capitals_follow_the_language(language: str | None, text: str, capitals: str) -> None:
    assert write_capitals(text, language) == put_case_back(text, "upper", language) == capitals


def test_scripts_that_are_written_in_one_case() -> None:
    """Unicode calls the letters of Cherokee capitals, and those of Georgian small."""
    assert write_capitals("ეს NATO-ს და ბაზაა", "ka") == "ეს NATO-ს და ბაზაა"
    assert write_capitals("ეს nato-ს, ᏣᎳᎩ too", "ka") == "ეს NATO-ს, ᏣᎳᎩ TOO"
    assert lower_first("Ꭰ is a letter", cut) == "Ꭰ is a letter"
    assert has_capital("Cat") and not has_capital("cat") and not has_capital("ᏣᎳᎩ")
    assert is_small("c") and not is_small("C") and not is_small("ს") and not is_small("")


def test_only_english_writes_titles_with_capitals() -> None:
    assert put_case_back("the lord of the rings", "title", "en") == "The Lord of the Rings"
    assert put_case_back("Le seigneur des anneaux", "title", "fr") == "Le seigneur des anneaux"
    assert put_case_back("Das Haus", "lower", "de") == "Das Haus"


def test_turkish_has_two_letters_i_in_both_cases() -> None:
    typed, read = "GECE IŞIĞI, İZİN", "Gece ışığı, izin"
    known = {"gece", "ışığı", "izin"}
    words = ["Gece", "gece", "ışığı", "izin"]

    def cut_turkish(forms: Sequence[str]) -> list[list[int]]:
        return [[words.index(form)] if form in words else [*map(ord, form)] for form in forms]

    assert truecase(typed, "upper", cut_turkish, known, "tr") == read
    assert lower_first("İzin", cut_turkish, "az") == "izin"
    assert lower_first("Işığı", cut_turkish, "tr") == "ışığı"
    assert capitalize("izin", "tr") == "İzin" and capitalize("izin", "en") == "Izin"
    assert to_small("IŞIK", "tr") == "ışık" and to_small("İstanbul") == "istanbul"


def test_a_translation_begins_small_unless_with_a_name() -> None:
    assert lower_first("The cat", cut) == "the cat"
    assert lower_first("Tom is", cut) == "Tom is"
    assert lower_first("TV is", cut) == "TV is"
    assert lower_first("I'm late", cut) == "I'm late"
    assert lower_first("L'homme est l\u00e0", cut) == "l'homme est l\u00e0"
    assert lower_first("\u00ab ", cut) == "\u00ab "
