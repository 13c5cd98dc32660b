"""Which language a text is in, among a few."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.extensions.serve.service.languages import detect_language

SENTENCES = {
    "en": "What do you think about the weather in this part of the country?",
    "fr": "Que pensez-vous du temps qu'il fait dans cette partie du pays ?",
    "de": "Was halten Sie von dem Wetter in diesem Teil des Landes?",
    "es": "¿Qué piensas del tiempo que hace en esta parte del país?",
    "it": "Che cosa pensi del tempo che fa in questa parte del paese?",
    "nl": "Wat vind je van het weer in dit deel van het land?",
    "pl": "Co myślisz o pogodzie w tej części kraju?",
    "ru": "Что вы думаете о погоде в этой части страны?",
    "uk": "Що ви думаєте про погоду в цій частині країни?",
    "zh": "你觉得这个地方的天气怎么样？",
    "ja": "この地方の天気についてどう思いますか？",
    "ko": "이 지역의 날씨에 대해 어떻게 생각하세요?",
    "el": "Τι γνώμη έχετε για τον καιρό εδώ;",
    "he": "מה דעתך על מזג האוויר כאן?",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_among_many_languages(code: str) -> None:
    found = detect_language(SENTENCES[code], list(SENTENCES))
    assert found[0][0] == code and found[0][1] > 0.5
    assert sum(share for _, share in found) == pytest.approx(1)


@pytest.mark.parametrize("text", ["", "12345", "?!", "😀"])
def test_without_letters_nobody_knows(text: str) -> None:
    assert {share for _, share in detect_language(text, list(SENTENCES))} == {0.0}


@pytest.mark.parametrize("text", ["你好", "Das Wetter ist heute wieder sehr schön."])
def test_a_foreign_language_is_not_claimed(text: str) -> None:
    assert detect_language(text, ["en", "fr"])[0][1] < 0.01


def test_a_language_that_is_not_known_is_what_no_other_is() -> None:
    """As Klingon stands here for one: it is taken for a text that is not English."""
    assert detect_language("Mimi ni mwanafunzi wa shule.", ["tlh", "en"])[0][0] == "tlh"
    assert detect_language("I am a student of this school.", ["tlh", "en"])[0][0] == "en"


def test_a_regional_code_is_that_of_its_language() -> None:
    assert detect_language("Eu gosto muito de aprender.", ["en", "pt-BR"])[0][0] == "pt-BR"


def test_a_long_text_is_quick() -> None:
    long = " ".join(SENTENCES["en"] for _ in range(2000))
    assert detect_language(long, list(SENTENCES))[0][0] == "en"


@pytest.mark.parametrize(("code", "file"), [("en", "fr"), ("fr", "fr"), ("de", "de"), ("zh", "zh")])
def test_short_everyday_sentences(data: Path, code: str, file: str) -> None:
    """Of four languages, and of two."""
    text = (data / f"tatoeba_en_{file}" / f"test.{code}").read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if line][:500]
    for others in (["en", "fr", "de", "zh"], ["en", file]):
        codes = list(dict.fromkeys([code, *others]))
        right = sum(detect_language(line, codes)[0][0] == code for line in lines)
        assert right / len(lines) >= 0.995
