"""A sentence that is typed without a stop is read with one, if training text hardly lacks it."""

from __future__ import annotations

import pytest

from glassformer.text.final_stops import choose_stop, count_stops, find_usual_stop, strip_stop
from glassformer.translator import Translator


def test_lines_without_a_stop_are_counted() -> None:
    counts: dict[str, int] = {}
    count_stops(["A cat.", "A dog", "Why?", "«Oui»", "Wait:", "No! "], counts)
    count_stops(["ድመት ነው፡፡", "ድመት ነው።", "यह बिल्ली है।"], counts)
    found = {name: count for name, count in counts.items() if count}
    assert found == {
        "lines": 9,
        "lines without a stop": 1,
        ".": 1,
        "፡፡": 1,
        "።": 1,
        "।": 1,
    }


@pytest.mark.parametrize(
    ("counts", "known", "stop"),
    [
        ({"lines": 1000, "lines without a stop": 3}, ".", "."),
        ({"lines": 1000, "lines without a stop": 3}, "。", "。"),
        ({"lines": 1000, "lines without a stop": 3}, "", ""),
        ({"lines": 1000, "lines without a stop": 50}, ".", ""),
        ({}, ".", ""),
    ],
)
def test_a_stop_is_usual_where_lines_have_it(counts: dict[str, int], known: str, stop: str) -> None:
    assert find_usual_stop(counts, lambda mark: mark == known) == stop


@pytest.mark.parametrize(
    ("line", "stop"),
    [
        ("यह बिल्ली है।", "।"),
        ("ድመት ነው፡፡", "፡፡"),
        ("ဒါ ကြောင်ပါ။", "။"),
        ("ᱱᱚᱣᱟ ᱯᱩᱥᱤ ᱠᱟᱱᱟ᱾", "᱾"),
        ("འདི་བྱི་ལི་རེད།", "།"),
        ("Ku nekk dem na.", "."),
        ("Why?", ""),
    ],
)
def test_the_usual_stop_is_the_one_that_most_lines_have(line: str, stop: str) -> None:
    """Though a full stop is known, too, of numbers or abbreviations."""
    counts: dict[str, int] = {}
    count_stops([line] * 99 + ["No. 3"], counts)
    assert find_usual_stop(counts, lambda mark: True) == stop


@pytest.mark.parametrize(
    ("language", "questions", "statements"),
    [
        (
            "en",
            ("where do you live", "Is this yours", "You know him, don't you", "How old is she"),
            (
                "I live here",
                "Do it",
                "Do your best",
                "What a day",
                "When I was young I sang",
                "Have a seat",
            ),
        ),
        (
            "fr",
            ("où habites-tu", "Est-ce que tu viens", "Avez-vous faim", "Qui est là"),
            ("je vis ici", "Asseyez-vous", "Quand il pleut je lis", "Quel homme"),
        ),
        (
            "de",
            ("Wo wohnst du", "Hast du Zeit", "Können Sie mir helfen", "Wie heißt er"),
            ("ich wohne hier", "Wenn du kommst, gehe ich", "Was für ein Tag", "Setzen Sie sich"),
        ),
        ("xx", (), ("where do you live",)),
        ("hi", (), ("मैं यहाँ हूँ", "बिल्ली")),
    ],
)
def test_questions_get_a_question_mark(
    language: str, questions: tuple[str, ...], statements: tuple[str, ...]
) -> None:
    assert [choose_stop(each, ".", language) for each in questions] == ["?"] * len(questions)
    assert [choose_stop(each, ".", language) for each in statements] == ["."] * len(statements)
    assert not any(choose_stop(each, "", language) for each in (*questions, *statements))
    assert not any(choose_stop(f"{each}!", ".", language) for each in questions)


@pytest.mark.parametrize(
    ("text", "stop", "bare"),
    [
        ("Un chat.", ".", "Un chat"),
        ("Arrête !", ".", "Arrête"),
        ("Attends...", ".", "Attends..."),
        ("Qui est-ce ?", "?", "Qui est-ce"),
        ("Qui est-ce", "?", "Qui est-ce"),
        ("猫。", "。", "猫"),
        ("ድመት ነው፡፡", ".", "ድመት ነው"),
        ("यह बिल्ली है।", ".", "यह बिल्ली है"),
        ("ما هذا؟", "?", "ما هذا"),
        ("Wait..", ".", "Wait.."),
    ],
)
def test_the_translation_loses_it_again(text: str, stop: str, bare: str) -> None:
    assert strip_stop(text, stop) == bare


def test_a_model_of_sentences_reads_all_with_a_stop() -> None:
    everyday = Translator.load("everyday-en-fr", device="cpu")
    assert everyday.translate("where do you live") == "où habites-tu"
    assert (
        everyday.translate("I knew I'd seen it before") == "Je savais que je l'avais vu auparavant"
    )
    tokens = everyday.reader.tokenize("I am here")
    assert tokens.texts[-1] == "." and tokens.spans[-1] == (9, 9)
    (score,) = everyday.score(["I am here"], ["Je suis là"])
    (whole,) = everyday.score(["I am here."], ["Je suis là."])
    assert score.log_prob == pytest.approx(whole.log_prob)


def test_a_model_that_was_not_counted_reads_what_is_typed() -> None:
    demo = Translator.load("demo", device="cpu")
    assert demo.reader.tokenize("I am a student").texts[-1] == " student"
