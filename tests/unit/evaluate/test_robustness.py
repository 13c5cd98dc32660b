"""What a model loses on text as people write it, measured with translators whose loss is known."""

from __future__ import annotations

import pytest
import sacrebleu

from glassformer.extensions.lab.robustness import (
    Robustness,
    curl_quotes,
    is_sound,
    list_variants,
    measure_robustness,
    read_short_inputs,
)

LINES = [
    "The old man didn't cross the street today.",
    "My sister lives in a small house near the sea.",
    'She said "no" and closed the door behind her.',
    "We won't go to the cinema with your friends.",
] * 3


def read_rows(table: Robustness) -> dict[str, tuple[float | None, float | None, float | None]]:
    return {row.name: (row.bleu, row.loss, row.kept) for row in table.rows}


def test_who_copies_loses_nothing_where_the_target_changes_alike() -> None:
    rows = read_rows(measure_robustness(lambda lines: lines, LINES, LINES, ("en", "en")))
    assert rows["as it is"] == (pytest.approx(100), pytest.approx(0), None)
    for name in ("CAPITALS", "small letters", "curly quotes and apostrophes", "no final stop"):
        assert rows[name][1] == pytest.approx(0), name
    assert rows["a planted name"][1:] == (pytest.approx(0), 1)
    assert rows["two sentences a line"][1] == pytest.approx(0)
    assert rows["200 short inputs"][2] == 1


def test_the_loss_is_the_share_of_bleu_that_is_gone() -> None:
    known = {*LINES, *map(curl_quotes, LINES)}

    def translate(lines: list[str]) -> list[str]:
        return [line if line in known else "The old man didn't know." for line in lines]

    rows = read_rows(measure_robustness(translate, LINES, LINES, ("en", "en")))
    assert rows["curly quotes and apostrophes"][1] == pytest.approx(0)
    upper = ["the old man didn't know."] * len(LINES)
    wanted = sacrebleu.corpus_bleu(upper, [[line.lower() for line in LINES]]).score
    assert rows["CAPITALS"][:2] == (pytest.approx(wanted), pytest.approx(1 - wanted / 100))
    assert rows["a planted link or placeholder"][2] == 0


def test_no_share_of_a_score_near_zero_is_lost() -> None:
    rows = measure_robustness(lambda lines: ["zi zi"] * len(lines), LINES, LINES, ("en", "en")).rows
    assert rows[0].bleu is not None and rows[0].bleu < 1
    changed = ("as it is", "CAPITALS", "small letters", "typing errors")
    assert [row.loss for row in rows if row.name in changed] == [None] * len(changed)


def test_changes_are_the_same_each_time_and_change_something() -> None:
    one, other = (list_variants(LINES, "en") for _ in range(2))
    assert [each.sources for each in one] == [each.sources for each in other]
    assert all(each.sources != LINES for each in one[1:])


def change(text: str, language: str | None = None) -> dict[str, str]:
    return {each.name: each.sources[0] for each in list_variants([text], language)}


def test_a_case_is_that_of_the_language_and_changes_no_placeholder() -> None:
    texts = change("Bir ışık için %.2lf ve https://ist.org/a", "tr")
    assert texts["CAPITALS"] == "BİR IŞIK İÇİN %.2lf VE https://ist.org/a"
    assert texts["Title Case"] == "Bir Işık İçin %.2lf Ve https://ist.org/a"
    assert change("IŞIK İÇİN", "az")["small letters"] == "ışık için"
    assert change("ein i", "de")["CAPITALS"] == "EIN I"
    assert change("ήταν άλλο", "el")["Title Case"] == "Ήταν Άλλο"


def test_capitals_of_turkish_translations_are_not_errors() -> None:
    def translate(lines: list[str]) -> list[str]:
        return [line.replace("i", "İ").upper() if line.isupper() else line for line in lines]

    lines = ["bir kedi için iyi bir ışık"] * 3
    rows = read_rows(measure_robustness(translate, lines, lines, ("tr", "tr")))
    assert rows["CAPITALS"][1] == pytest.approx(0)


def test_a_script_without_capitals_has_no_row_of_them() -> None:
    sources = ["%.2lf کیلۆبایت", "پەڕەی HTML", "ناوی بەکارهێنەر"]
    names = [each.name for each in list_variants(sources, "ckb")]
    assert not {"CAPITALS", "Title Case", "small letters"}.intersection(names)
    assert "no final stop" in names


@pytest.mark.parametrize("stop", ["።", "။", "។", "۔", "᱾", "།", "։", "！"])
def test_the_final_stops_of_all_scripts_are_taken_off(stop: str) -> None:
    bare, named = (
        next(each for each in list_variants([f"ab{stop}"], "xx") if each.name == name).sources[0]
        for name in ("no final stop", "a planted name")
    )
    assert bare == "ab" and named.endswith(stop)


@pytest.mark.parametrize(
    ("source", "translation", "sound"),
    [
        ("OK.", "D'accord.", True),
        ("OK.", "Bien bien.", False),
        ("no no", "non non", True),
        ("Hello!", "", False),
        ("Yes.", "Oui, je pense que c'est bien vrai aujourd'hui.", False),
        ("42", "42", True),
        ("\U0001f642", "sourire", False),
        ("Grandpa!", "\u0926\u093e\u0926\u093e!", True),  # a vowel sign ends no word
    ],
)
def test_short_inputs_have_no_doubled_or_invented_words(
    source: str, translation: str, sound: bool
) -> None:
    assert is_sound(source, translation) == sound


@pytest.mark.parametrize("language", ["en-GB", "fr", "de"])
def test_there_are_200_short_inputs(language: str) -> None:
    lines = read_short_inputs(language)
    assert len(lines) == len({*lines}) == 200


def test_for_other_languages_there_are_those_without_words() -> None:
    assert 0 < len(read_short_inputs("az")) == len(read_short_inputs(None)) < 50


def test_sides_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="2 sources but 1 references"):
        measure_robustness(list, ["a", "b"], ["a"], (None, None))
