"""Symbols that a model does not know are no part of a sentence and stand around its translation."""

from __future__ import annotations

import pytest

from glassformer.checks.quality_check import search_checked
from glassformer.see.sentences import choose_sentence, translate_whole
from glassformer.text.sentences import cut_spans
from glassformer.text.spacing import join_sentences
from glassformer.text.symbols import find_moved_marks, strip_symbols
from glassformer.translator import Translator

FAMILY, FLAG, SCOTLAND = (
    "👨‍👩‍👧‍👦",
    "🇫🇷",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
)


@pytest.fixture(scope="module")
def everyday() -> Translator:
    return Translator.load("everyday-en-fr", device="cpu")


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("🙂 A cat 🎉!", "A cat"),
        ("A cat 🎉", "A cat"),
        ("A cat! 🎉", "A cat!"),
        ("A cat 🎉! 🙂", "A cat"),
        ("A cat👍🏽.", "A cat"),
        (f"{FAMILY} {FLAG}{SCOTLAND} A cat {FAMILY}?!", "A cat"),
        ("1️⃣ A cat #️⃣", "A cat"),
        ("→ A cat ★★★ ✓", "A cat"),
        ("I ❤️ cats.", "I ❤️ cats."),
        ("A 🎉, b", "A 🎉, b"),
        ("1 cat", "1 cat"),
        ("It is 20 °C, ≥ 5 ©", "It is 20 °C, ≥ 5 ©"),
        ("① A cat", "① A cat"),
        ("🙂 🙂  A cat  🎉 🎉 !", "A cat"),
        ("A cat 🎉!!!!", "A cat 🎉!!!!"),
    ],
)
def test_symbols_at_the_edges_are_left_out(text: str, bare: str) -> None:
    assert text[slice(*strip_symbols(text, lambda run: True))] == bare
    assert strip_symbols(text, lambda run: False) == (0, len(text))


@pytest.mark.parametrize("text", ["🙂", f"{FAMILY}{FLAG} 👍🏽", "1️⃣", "🎉! 🎉!"])
def test_nothing_but_symbols_stays_as_it_is(everyday: Translator, text: str) -> None:
    assert everyday.split(text) == [] and everyday.translate(text) == text
    assert choose_sentence(everyday, text, 0).text == text


def test_marks_are_translated_with_the_sentence_and_written_once() -> None:
    text, spans = "A 🙂! B 🎉?! 🙂", [(0, 1), (5, 6)]
    assert cut_spans(text, spans) == ["A!", "B?!"]
    joined, places = join_sentences(text, spans, ["Un !", "Deux ?!"])
    assert joined == "Un ! 🙂 Deux ?! 🎉 🙂"
    assert [joined[slice(*place)] for place in places] == ["Un !", "Deux ?!"]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("A! 🙂!", [(0, 2)]),
        ("A, b", [(0, 1)]),
        ("A 🙂!", [(0, 1), (2, 4)]),  # parts of a long sentence
        ("A 🙂", [(0, 1)]),
        ("", []),
    ],
)
def test_other_marks_stay(text: str, spans: list[tuple[int, int]]) -> None:
    assert all(start == end for start, end in find_moved_marks(text, spans))


@pytest.mark.parametrize(
    ("text", "bare", "lead", "trail"),
    [
        ("🙂 I am happy 🎉!", "I am happy!", "🙂 ", " 🎉"),
        ("I am happy! 👍🏽", "I am happy!", "", " 👍🏽"),
        (f"{FAMILY}{FLAG} Thank you.", "Thank you.", f"{FAMILY}{FLAG} ", ""),
        ("1️⃣ Wash your hands.", "Wash your hands.", "1️⃣ ", ""),
        ("★★★ It is very good →", "It is very good", "★★★ ", " →"),
    ],
)
def test_a_sentence_is_translated_as_without_symbols(
    everyday: Translator, text: str, bare: str, lead: str, trail: str
) -> None:
    said = everyday.translate(bare)
    (judged,) = search_checked(everyday, [text])
    best = judged.best[0]
    (part,) = best.parts
    assert best.text == f"{lead}{said}{trail}" and not judged.problems
    assert best.text[slice(*part.target)] == said
    assert text[slice(*part.source)] == bare.removesuffix("!") + "!" * ("! " in text)
    excerpt = choose_sentence(everyday, text, 0)
    assert excerpt.text == bare
    whole = translate_whole(everyday, text, excerpt, said, None, 0)
    assert whole and (whole.text, whole.translation) == (text, best.text)


def test_each_sentence_has_its_symbols(everyday: Translator) -> None:
    found = everyday.translate("I am happy 🎉! 🙂 You are sad. 😢")
    happy, sad = everyday.translate(["I am happy!", "You are sad."])
    assert found == f"{happy} 🎉 🙂 {sad} 😢"


def test_a_long_sentence_is_measured_without_its_symbols(everyday: Translator) -> None:
    text = "I am happy " + "🎉" * 300 + "!"
    assert everyday.split(text) == [(0, 10)]
    many = "🙂 " + "I am very happy, " * 200 + "you are sad 🎉!!!"
    sentences = cut_spans(many, everyday.split(many))
    assert len(sentences) > 1 and sentences[-1].endswith("!!!")
    assert max(len(everyday.read(each).ids) for each in sentences) < everyday.longest
    assert not any("🙂" in each or "🎉" in each for each in sentences)
