"""Days of the year are found as people write them, and written as the target language does."""

from __future__ import annotations

import re

import pytest

from glassformer.extensions.days.dates import Dates, read_day_formats
from glassformer.text.stand_ins import cut_at_stand_ins, has_each_once
from glassformer.translator import Translator


def make(source: str, target: str) -> Dates:
    return Dates((source, target), (lambda word: True, lambda word: True))


def write(source: str, target: str, text: str) -> list[str]:
    return [each.original for each in make(source, target).find(text).values()]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("She was born on 12 May 2019.", ["12 mai 2019"]),
        ("May 12, 2019 was a Sunday.", ["12 mai 2019"]),
        ("It is June 3rd.", ["3 juin"]),
        ("the 1st of January", ["1er janvier"]),
        ("From 3 April to 9 April 2020", ["3 avril", "9 avril 2020"]),
        ("On October 20th and 7 July", ["20 octobre", "7 juillet"]),
        ("I may go on 12 or in May.", []),
        ("May 45 people come in?", []),
        ("Mayor 12 and March 12:30, v2.12 May", []),
        ("120 May 2", ["2 mai"]),
        ("May 12.5 and May 20000", []),
        ("", []),
    ],
)
def test_english_days_in_french(text: str, days: list[str]) -> None:
    assert write("en", "fr", text) == days


@pytest.mark.parametrize(
    ("source", "target", "text", "day"),
    [
        ("fr", "en", "le 12 mai 2019", "May 12, 2019"),
        ("fr", "en", "le 1er août", "August 1"),
        ("en", "de", "March 8, 1990", "8. März 1990"),
        ("de", "es", "am 3. Oktober 1990", "3 de octubre de 1990"),
        ("es", "pt", "el 2 de abril de 2001", "2 de abril de 2001"),
        ("pt", "it", "4 de maio", "4 maggio"),
        ("it", "nl", "1º febbraio 2020", "1 februari 2020"),
        ("nl", "fr-CA", "5 maart", "5 mars"),
    ],
)
def test_days_of_other_languages(source: str, target: str, text: str, day: str) -> None:
    assert write(source, target, text) == [day]


@pytest.mark.parametrize(("source", "target"), [("en", "zh"), ("tr", "en"), (None, "fr")])
def test_an_unknown_language_has_none(source: str | None, target: str) -> None:
    known = (lambda word: True, lambda word: True)
    assert Dates((source, target), known).find("12 May 2019") == {}


def test_each_try_has_another_stand_in_until_there_is_none() -> None:
    dates = make("en", "fr")
    texts = [[each.text for each in dates.find("On 12 May 2019", n).values()] for n in range(9)]
    assert texts[0] == ["October 20th"] and texts[1] != texts[0] and texts[8] == []
    assert Dates(("en", "fr"), (lambda word: True, lambda word: False)).find("12 May") == {}


def test_every_language_is_whole() -> None:
    for code, language in read_day_formats().items():
        assert len(set(language.months)) == 12, code
        said = language.phrase.format(day=20, month=language.months[9])
        pattern = language.written.format(day=20, month=language.months[9])
        assert re.fullmatch(pattern, said), code
        for month in range(1, 13):
            for year in (None, "1999"):
                day = language.write(17, month, year)
                assert any(re.search(each, day) for each in language.find), (code, day)


def test_the_day_goes_where_the_network_wrote_the_frequent_one() -> None:
    (day,) = make("fr", "en").find("le 12 mai 2019").values()
    for said in ("on October 20th, he", "on the 20th of October, he", "on 20 October, he"):
        assert has_each_once(said, [day])
        cut = "".join(text + own for text, own in cut_at_stand_ins(said, [day]))
        assert cut == "on May 12, 2019, he"
    assert not has_each_once("on October 2021", [day])


@pytest.mark.parametrize(
    ("own", "target", "said", "written"),
    [
        ("7:45", "fr", "à 30 heures du matin", "à 7:45 du matin"),
        ("8:00 p.m.", "fr", "à 30 heures.", "à 20:00."),
        ("12:30 am", "de", "um 30 Uhr", "um 0:30 Uhr"),
        ("12:30 PM", "es", "a las 30 horas", "a las 12:30"),
        ("8:00 p.m", "en", "at 30", "at 8:00 p.m"),
    ],
)
def test_hours(own: str, target: str, said: str, written: str) -> None:
    stand_in = make("en", target).stand_for_time(own, "30")
    assert "".join(text + own for text, own in cut_at_stand_ins(said, [stand_in])) == written


def test_days_and_hours_of_a_whole_sentence() -> None:
    translator = Translator.load("everyday-en-fr", device="cpu")
    texts = ["She was born on 12 May 2019.", "We leave on January 7th.", "It opens at 9:30."]
    said = translator.translate(texts)
    assert "12 mai 2019" in said[0] and "7 janvier" in said[1]
    assert "9:30." in said[2] and "heures" not in said[2]
    trace = translator.see(texts[0], level="attention")
    assert "12 mai 2019" in trace.translation
