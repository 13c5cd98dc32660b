"""What a model knows is left alone, and what it cannot know is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.checked import translate_checked

from glassformer.model.files.directory import SHIPPED
from glassformer.text.function_words import find_other_language
from glassformer.text.kinds import train_tokenizer
from glassformer.translate.familiarity import measure_usual
from glassformer.translate.quality_check import UNLIKE
from glassformer.translator import Translator
from tools.demo_corpus import pairs

EVERYDAY = [
    "How are you?",
    "My name is Anna.",
    "It is raining today.",
    "What time is it?",
    "They live in Paris.",
    "Call me tomorrow.",
    "The government announced new measures.",
]


@pytest.fixture(scope="module")
def demo() -> Translator:
    return Translator.load("demo", device="cpu", precision="fp32")


def kinds(translator: Translator, texts: list[str]) -> list[set[str]]:
    return [
        {each.kind for each in judged.problems} for judged in translate_checked(translator, texts)
    ]


def test_what_the_model_knows_is_left_alone(demo: Translator) -> None:
    """Sentences of its grammar that it never saw; nothing is said of any of them."""
    known = [source for source, _ in pairs("en", "fr", 100, 7, "test")]
    assert kinds(demo, known) == [set()] * len(known)


def test_what_it_cannot_know_is_said(demo: Translator) -> None:
    assert all("unsure" in found for found in kinds(demo, EVERYDAY))


def test_the_three_signs(demo: Translator) -> None:
    (unknown, foreign, known) = kinds(demo, ["猫 and 犬", "Die Katze ist alt.", "The cat is old."])
    assert "unknown" in unknown and "language" in foreign and not known
    (judged,) = translate_checked(demo, ["The cat is old. Die Katze ist alt."])
    assert {each.part for each in judged.problems} == {1}
    assert judged.confidence <= 0.2


def test_no_second_search_is_made_for_what_another_search_cannot_mend(demo: Translator) -> None:
    for judged in translate_checked(demo, [*EVERYDAY, "Die Katze ist alt."]):
        mendable = {each.kind for each in judged.problems} - UNLIKE
        assert mendable or not judged.retried


def test_the_usual_confidence_is_that_of_what_a_model_brings_along(
    demo: Translator, tmp_path: Path
) -> None:
    """A search for the same sentences finds it again."""
    golden = json.loads((SHIPPED / "demo/golden.json").read_text(encoding="utf-8"))
    texts = [line["source"] for line in golden["lines"]]
    found = translate_checked(demo, texts)
    mean = sum(each.confidence for each in found) / len(found)
    assert measure_usual(SHIPPED / "demo", demo.tokenizers) == pytest.approx(mean, abs=1e-3)
    assert measure_usual(tmp_path, demo.tokenizers) is None
    (tmp_path / "golden.json").write_text('{"lines": [{"translation": 1}]}', encoding="utf-8")
    assert measure_usual(tmp_path, demo.tokenizers) is None


@pytest.mark.parametrize(
    ("text", "own", "other"),
    [
        ("Le chat est sur la table.", "en", "fr"),
        ("Le chat est sur la table.", "fr", None),
        ("Der Hund und die Katze", "en", "de"),
        ("The dog said: der und die.", "en", None),
        ("Anna Schmidt", "en", None),
        ("die", "en", None),
        ("Le chat est ici.", "xx", None),
        ("Le chat est ici.", "", None),
        ("", "en", None),
    ],
)
def test_another_language_is_told_by_its_function_words(
    text: str, own: str, other: str | None
) -> None:
    assert find_other_language(text, own) == other


def test_characters_without_a_token_are_unknown() -> None:
    tokenizer = train_tokenizer(["the cat", "ein Bär"], 320)
    assert tokenizer.find_unknown("the B\u00e4r, the Ba\u0308r\t猫🙂猫") == [",", "猫", "🙂"]
    assert tokenizer.find_unknown("cat ein") == []


def test_a_model_without_a_language_or_folder_is_asked_less(demo: Translator) -> None:
    config = demo.config.changed(data={"source_lang": None})
    other = Translator(config, demo.tokenizers, demo.model, device="cpu")
    assert other.checker.familiarity.usual is None
    assert kinds(other, ["Die Katze ist alt. Sie ist alt."])[0] <= {"loop", "copy", "short", "long"}


def test_words_that_training_met_are_in_no_other_language() -> None:
    translator = Translator.load("everyday-en-fr", device="cpu")
    (english, portuguese) = translate_checked(
        translator,
        ["Please call me back as soon as possible.", "Não sei o que ela tem, mas não me disse."],
    )
    assert not english.problems
    assert "language" in [each.kind for each in portuguese.problems]
