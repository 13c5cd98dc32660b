"""Which language a text is in, among a few."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.serve.detect import Detector

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


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector({code: () for code in SENTENCES})


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_among_many_languages(detector: Detector, code: str) -> None:
    found = detector.detect(SENTENCES[code])
    assert found[0][0] == code and found[0][1] > 0.5
    assert sum(share for _, share in found) == pytest.approx(1)


@pytest.mark.parametrize("text", ["", "12345", "?!", "😀"])
def test_without_letters_nobody_knows(detector: Detector, text: str) -> None:
    assert {share for _, share in detector.detect(text)} == {0.0}


def test_a_foreign_script_is_not_claimed() -> None:
    assert Detector({"en": (), "fr": ()}).detect("你好")[0][1] == 0


def test_a_language_without_a_list_is_learned_from_sentences() -> None:
    swahili = ["Paka yuko juu ya mkeka.", "Mimi ni mwanafunzi.", "Mbwa amechoka sana."]
    found = Detector({"sw": swahili, "en": ()}).detect("Mimi ni paka.")
    assert found[0][0] == "sw"


def test_a_long_text_is_quick(detector: Detector) -> None:
    assert detector.detect(" ".join(SENTENCES["en"] for _ in range(2000)))[0][0] == "en"


@pytest.mark.parametrize(("code", "file"), [("en", "fr"), ("fr", "fr"), ("de", "de"), ("zh", "zh")])
def test_short_everyday_sentences(data: Path, code: str, file: str) -> None:
    """Of four languages, and of two."""
    text = (data / f"tatoeba_en_{file}" / f"test.{code}").read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if line][:500]
    for others, least in ((["en", "fr", "de", "zh"], 0.97), (["en", file], 0.98)):
        found = Detector({each: () for each in dict.fromkeys([code, *others])})
        right = sum(found.detect(line)[0][0] == code for line in lines)
        assert right / len(lines) >= least
