"""Words in quotes and brackets whose marks a model hardly knows are read without them."""

from __future__ import annotations

import pytest
from damage.growth import is_linear

from glassformer.extensions.enclosures.enclosures import Enclosures
from glassformer.text import train_tokenizer
from glassformer.text.symbols import set_aside
from glassformer.text.typography import close_quote, open_quote
from glassformer.translator import Translator

EMPHASIS = {"star", "line", "wave"}


@pytest.fixture(scope="module")
def everyday() -> Translator:
    return Translator.load("everyday-en-fr", device="cpu")


@pytest.fixture(scope="module")
def finder(everyday: Translator) -> Enclosures:
    return everyday.reader.enclosures


@pytest.mark.parametrize(
    ("text", "enclosed"),
    [
        ("We went to “Paris” last year.", ["“Paris”"]),
        ("We went to „Paris“, »Paris« and «Paris».", ["„Paris“", "»Paris«", "«Paris»"]),
        ("The 'best' solution isn't the dogs' one.", ["'best'"]),
        ("My friend (a doctor) lives here.", ["(a doctor)"]),
        ("Press [Enter] (or “Paris”).", ["[Enter]", "(or “Paris”)", "“Paris”"]),
        ("(It was raining. It was late.)", ["(It was raining. It was late.)"]),
        ('"I am tired," she said.', []),  # "I" is the same token behind the mark
        ("“Paris is big. I like it,” he said.", []),  # a sentence of its own
        ("“Paris is as big as he had always said” is true.", []),  # too long for a quotation
        ("f(x) and apple(s) and 5'2\" and 'tis", []),
        ("This is *very* _very_ ~good~ *I love it*", ["*very*", "_very_", "~good~", "*I love it*"]),
        ("The **old** dog", ["**old**", "*old*"]),
        ("* bread, 2 * 3 * 4, snake_case_name, a_b_c", []),
        ("( Paris ) or “ Paris ” or () or “”", []),
        ('a (big "Paris) house"', ['(big "Paris)']),  # none that crosses another
    ],
)
def test_it_finds_what_marks_enclose(finder: Enclosures, text: str, enclosed: list[str]) -> None:
    assert [text[each.start : each.end] for each in finder.find(text)] == enclosed


def test_only_the_marks_are_set_aside(finder: Enclosures) -> None:
    text = "My friend (a doctor) went to “Paris”."
    aside = set_aside(text, lambda character: False, enclosures=finder.find(text))
    assert aside and aside.text == "My friend, a doctor, went to Paris."


def test_a_model_that_met_the_marks_reads_them() -> None:
    tokenizer = train_tokenizer(['He (a "b") [c], d.'] * 9, 300)
    known = tokenizer.know_characters({",": 100, '"': 50, "(": 10}, is_source=True)
    assert Enclosures(known, known).rare == EMPHASIS
    rare = tokenizer.know_characters({",": 100, '"': 5}, is_source=True)
    assert Enclosures(rare, rare).rare == EMPHASIS | {"double", "single", "round", "square"}


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("We went to “Paris” last year.", "Nous sommes allés à « Paris » l'année dernière."),
        ("My brother (a doctor) lives in Paris.", "Mon frère (un médecin) habite à Paris."),
        ("(It was raining.)", "(Il pleuvait.)"),
        ("“I love you,” she said.", "« Je t'aime », dit-elle."),
    ],
)
def test_a_translation_has_the_marks(everyday: Translator, text: str, translation: str) -> None:
    assert everyday.translate(text) == translation


def test_marks_of_the_target_go_around_words_that_moved() -> None:
    german = Translator.load("everyday-en-de", device="cpu")
    assert german.translate('We went to "Paris" last year.') == (
        "Wir sind letztes Jahr nach „Paris“ gefahren."
    )


def test_tokens_point_into_the_sentence_that_was_typed(everyday: Translator) -> None:
    text = "My friend (a doctor) lives in “Paris”."
    tokens = everyday.reader.tokenize(text)
    own = [text[start:end] for start, end in tokens.spans]
    assert [pair for pair in zip(tokens.texts, own, strict=True) if pair[0].strip() == ","] == [
        (",", "("),
        (",", ")"),
    ]
    assert " Paris" in tokens.texts and own[tokens.texts.index(" Paris")].strip(" “") == "Paris"


@pytest.mark.parametrize(
    ("source", "text", "opened"),
    [
        ("“I go,” he said.", "Je vais », dit-il.", "« Je vais », dit-il."),
        ('"I go," he said.', "Ich gehe“, sagte er.", "„Ich gehe“, sagte er."),
        ('"I go," he said.', 'Je vais", dit-il.', '"Je vais", dit-il.'),
        ('"I go," he said.', '"Je vais", dit-il.', '"Je vais", dit-il.'),
        ('"I go," he said.', "Je vais, dit-il.", "Je vais, dit-il."),
        ("I go.", "Je vais ».", "Je vais »."),
    ],
)
def test_a_quote_that_is_closed_is_opened(source: str, text: str, opened: str) -> None:
    assert open_quote(source, text) == opened


@pytest.mark.parametrize("unit", ["“a ", "(a ", "“a” ", "[(“a”)] ", "'a "])
def test_it_takes_linear_time(finder: Enclosures, unit: str) -> None:
    assert is_linear(
        lambda text: list(finder.find(text)), lambda length: unit * (length // len(unit))
    )


@pytest.mark.parametrize(
    ("source", "text", "closed"),
    [
        ('"Are you tired?"', "„Bist du müde?", "„Bist du müde?“"),
        ("“Are you tired?”", "« Es-tu fatigué ?", "« Es-tu fatigué ? »"),
        ("« Es-tu là ? »", "“Are you there?", "“Are you there?”"),
        ('He said, "No."', '"Non", dit-il. "Non.', '"Non", dit-il. "Non."'),
        ('"Are you tired?"', "„Bist du müde?“", "„Bist du müde?“"),
        ('"Are you tired?"', "Bist du müde?", "Bist du müde?"),
        ("Are you tired?", "„Bist du müde?", "„Bist du müde?"),
        ('I like "Dune".', "Ich mag „Dune.", "Ich mag „Dune“."),
        ("He said, 'No.'", "Il a dit : « Non.", "Il a dit : « Non. »"),
        ('Say "no"!', "Dis « non !", "Dis « non » !"),
        ('"I go," he said.', "„Ich gehe, sagte er.", "„Ich gehe, sagte er."),
        ('"I go"', "", ""),
    ],
)
def test_a_quote_that_is_opened_is_closed(source: str, text: str, closed: str) -> None:
    assert close_quote(source, text) == closed
