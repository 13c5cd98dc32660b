"""A clause that is translated alone keeps the mark of its source, and gets none of its own."""

from __future__ import annotations

import pytest

from glassformer.text.clause_marks import find_clauses, restore_mark
from glassformer.text.spacing import join_sentences

ROWS = [
    ("Although it rained,", "Bien qu'il ait plu.", "Bien qu'il ait plu,"),
    ("Although it rained,", "Bien qu'il ait plu,", "Bien qu'il ait plu,"),
    ("and the old man", "et le vieil homme.", "et le vieil homme"),
    ("and the old man", "et le vieil homme", "et le vieil homme"),
    ("they said:", "ils ont dit...", "ils ont dit:"),
    ("one;", "un!", "un;"),
    ("one,", "", ""),
    ("one,", "...", "..."),
    ("if it rains,", "如果下雨。", "如果下雨，"),
    ("下雨，", "It rains.", "It rains,"),
    ("苹果、", "apples.", "apples,"),
]


@pytest.mark.parametrize(("source", "translation", "wanted"), ROWS)
def test_the_mark_is_that_of_the_source(source: str, translation: str, wanted: str) -> None:
    assert restore_mark(source, translation, translation[:1] > "\u3000") == wanted


def test_only_what_goes_on_is_a_clause() -> None:
    text = "If it rains, we stay. Do you? (Yes.) And\nno 🙂 more"
    spans = [(0, 12), (13, 21), (22, 29), (30, 36), (37, 40), (41, 43), (46, 50)]
    assert [text[slice(*span)] for span in spans][-2:] == ["no", "more"]
    assert [*find_clauses(text, spans)] == [True, False, False, False, False, False, False]
    assert [*find_clauses("", [])] == []


def test_clauses_are_joined_without_new_marks() -> None:
    text = "If it rains, we stay. Fine."
    said = ["S'il pleut.", "nous restons.", "Bien."]
    spans = [(0, 12), (13, 21), (22, 27)]
    joined, places = join_sentences(text, spans, said)
    assert joined == "S'il pleut, nous restons. Bien."
    assert [joined[slice(*place)] for place in places] == ["S'il pleut,", "nous restons.", "Bien."]
