"""The phrasebook: three languages that say the same, and lines that a model can learn from."""

from __future__ import annotations

import re
from collections import Counter
from itertools import permutations

import pytest

from tools.phrasebook import LANGUAGES, SLOT, expand, read_phrases, read_slots

ROWS = read_phrases()
TEXTS = [(language, text) for row in ROWS for language in LANGUAGES for text in row[language]]
PAIRS = list(permutations(LANGUAGES, 2))


def list_slots(text: str) -> Counter[tuple[str, str]]:
    return Counter((slot[1], slot[2]) for slot in SLOT.finditer(text))


def test_a_row_has_three_texts() -> None:
    assert len(ROWS) >= 900
    assert all(tuple(row) == LANGUAGES for row in ROWS)
    assert not [text for _, text in TEXTS if not text.strip() or text != text.strip()]
    assert not [text for _, text in TEXTS if re.search(r"  |[\t|@’\u00a0\u202f]", text)]


def test_texts_of_a_cell_match_those_of_the_others() -> None:
    for row in ROWS:
        counts = {len(row[language]) for language in LANGUAGES}
        assert len(counts - {1}) <= 1, row
        assert all(len(set(texts)) == len(texts) for texts in row.values()), row


def test_english_rows_are_distinct() -> None:
    english = Counter(text for row in ROWS for text in row["en"])
    assert not [text for text, count in english.items() if count > 1]


def test_slots_agree_among_languages() -> None:
    for row in ROWS:
        slots = {frozenset(list_slots(text)) for texts in row.values() for text in texts}
        assert len(slots) == 1, row
        assert not re.search(r"[{}]", SLOT.sub("", str(list(row.values()))))


@pytest.mark.parametrize("kind", read_slots())
def test_a_slot_has_the_forms_that_are_asked_for(kind: str) -> None:
    asked = {
        f"{language}.{slot[3]}" if slot[3] else language
        for language, text in TEXTS
        for slot in SLOT.finditer(text)
        if slot[1] == kind
    }
    for value in read_slots()[kind]:
        assert asked == set(value)
        assert all(said or form == "fr.e" for form, said in value.items())
    assert len({value["en"] for value in read_slots()[kind]}) == len(read_slots()[kind])


def test_german_genitives_of_names_take_an_s() -> None:
    names = {value["de"] for kind in ("name", "man", "woman") for value in read_slots()[kind]}
    assert not [name for name in names if name[-1] in "sxzß"]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_expansion(source: str, target: str) -> None:
    lines = expand(source, target, seed=1, most=6)
    assert lines == expand(source, target, seed=1, most=6)
    assert lines != expand(source, target, seed=2, most=6)
    assert len({said for said, _ in lines}) == len(lines) > 2_000
    assert len(expand(source, target, seed=1, most=1)) < len(lines)
    for line in lines:
        assert all(line) and not re.search(r"[{}~|\t\n]|  |(?<!\.)\.\.(?!\.)", "".join(line)), line
        assert all(text[0] == text[0].upper() for text in line)
        assert end(line[0]) == end(line[1]), line


def end(text: str) -> str:
    return text[-1] if text[-1] in ".?!,:;" else ""


def test_french_puts_a_space_before_high_punctuation() -> None:
    lines = {text for text, _ in expand("fr", "en", seed=1, most=6)}
    assert not [text for text in lines if re.search(r"[^ ?!][?!;:]", text)]
    others = {text for pair in expand("en", "de", seed=1, most=6) for text in pair}
    assert not [text for text in others if re.search(r" [?!;:.,]", text)]


def test_french_elides_before_vowels() -> None:
    lines = {text for text, _ in expand("fr", "en", seed=1, most=300)}
    assert {"C'est la maison d'Anna.", "C'est la maison de David.", "J'habite à Lyon."} <= lines
    unelided = re.compile(r"(?<!-)\b([dlmnst]e|que|je) (?!oui)[aeiouéèêâîô]", re.IGNORECASE)
    assert not [text for text in lines if unelided.search(text)]
    article = re.compile(r"\b(à|de) les? (?!\w+(er|ir|re)\b)")  # "de les croire" has no article
    assert not [text for text in lines if article.search(text)]


@pytest.mark.parametrize(
    ("source", "target", "pair"),
    [
        ("fr", "en", ("Je m'appelle David.", "My name is David.")),
        ("en", "fr", ("I'm from Japan.", "Je viens du Japon.")),
        ("en", "fr", ("It's raining; take an umbrella.", "Il pleut ; prends un parapluie.")),
        ("en", "de", ("I'm from Turkey.", "Ich komme aus der Türkei.")),
        ("de", "en", ("Sie ist Ärztin.", "She is a doctor.")),
        ("en", "fr", ("The meeting is at 2:30 p.m.", "La réunion est à 14 h 30.")),
        ("en", "fr", ("I'm calling David.", "J'appelle David.")),
        ("fr", "en", ("Vous êtes prêts ?", "Are you ready?")),
    ],
)
def test_pairs_that_are_expanded(source: str, target: str, pair: tuple[str, str]) -> None:
    assert pair in expand(source, target, seed=1, most=300)
