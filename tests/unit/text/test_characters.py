"""What people type is read as characters that the model has seen, and spans lead back to it."""

from __future__ import annotations

import random
import unicodedata

import pytest
from damage.growth import is_linear
from hypothesis import example, given
from hypothesis import strategies as st

from glassformer.text.characters import CharacterMap, count_in_tokens, watch_characters
from glassformer.text.kinds import train_tokenizer

PLAIN = {"'": 90, "\u2019": 2, '"': 10, "-": 5, "\u2014": 3}
TYPED = "\u2019\u201c\u2026\u2014\u00a0\t\u200b\u00ad\ufeff\uff21\ufb01\U0001d400\u0301 ab'\"-\n"
texts = st.one_of(st.text(), st.text(alphabet=TYPED))


def make_map(counts: dict[str, int], *, is_source: bool = True, more: str = "") -> CharacterMap:
    letters = {chr(code) for code in range(33, 127)} - {*"'\"-"}
    return CharacterMap(counts, ({*counts, *letters, *more, " "}).__contains__, is_source=is_source)


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("We won\u2019t go.", "We won't go."),
        ("\u201cYes,\u201d she said\u2026", '"Yes," she said...'),
        ("\u201eJa\u201c, \u00abnon\u00bb", '"Ja", "non"'),
        ("pages 10\u201320, well\u2011known", "pages 10-20, well-known"),
        ("wait \u2015 no", "wait \u2014 no"),
        ("The cat is\u00a0on\u202fthe\tmat. ", "The cat is on the mat."),
        ("a  b \u3000 c", "a b c"),
        ("inter\u00adnatio\u200bnal\ufeff \u202etrain\u2066\x01", "international train"),
        ("\uff21\uff22\uff23\uff11\uff01", "ABC1!"),
        ("\ufb01ne \U0001d413\U0001d421\U0001d41e \u2163", "fine The IV"),
        ("a\u200db \u2600\ufe0f", "ab \u2600"),
    ],
)
def test_what_is_typed_becomes_what_training_met(typed: str, known: str) -> None:
    assert make_map(PLAIN).clean(typed) == known


def test_a_model_of_curly_text_reads_straight_marks_as_curly() -> None:
    curly = make_map({"\u2019": 50, "\u201c": 20, "\u201d": 20, "\u2014": 4})
    typed = '"It\'s ("so")" - "yes"'
    assert curly.clean(typed) == "\u201cIt\u2019s (\u201cso\u201d)\u201d - \u201cyes\u201d"
    german = make_map({"\u201e": 20, "\u201c": 20})
    assert german.clean('Er sagt "ja".') == "Er sagt \u201eja\u201c."


def test_marks_that_training_met_often_stay() -> None:
    both = make_map({"'": 50, "\u2019": 40, "\u200c": 9})
    assert both.clean("it\u2019s it's a\u200cb") == "it\u2019s it's a\u200cb"


@pytest.mark.parametrize(
    ("counts", "read"),
    [
        ({"\u02bb": 500, "\u2019": 2, "'": 3}, "qo\u02bbsh qo\u02bbsh qo\u02bbsh"),
        ({"\u02bb": 500, "\u2019": 40, "'": 90}, "qo'sh qo\u2019sh qo\u02bbsh"),
        ({"'": 500, "\u02bb": 40}, "qo'sh qo'sh qo\u02bbsh"),
        ({"'": 500, "\u02bb": 0}, "qo'sh qo'sh qo'sh"),
    ],
)
def test_an_okina_is_typed_as_an_apostrophe(counts: dict[str, int], read: str) -> None:
    assert make_map(counts).clean("qo'sh qo\u2019sh qo\u02bbsh") == read


def test_a_model_of_before_the_okina_was_counted_keeps_it() -> None:
    typed = "qo'sh qo\u2019sh qo\u02bbsh"
    assert make_map({"'": 5}, more="\u02bb").clean(typed) == "qo'sh qo'sh qo\u02bbsh"
    counts: dict[str, int] = {}
    assert list(watch_characters(["a"], counts)) and counts["\u02bb"] == 0


def test_a_target_keeps_its_own_spaces_and_rare_marks() -> None:
    target = make_map({"'": 99, "\u2019": 1, "\u202f": 4}, is_source=False)
    assert target.clean("l\u2019ami\u202f!  \u201aoui\u2018\t") == "l\u2019ami\u202f!  'oui' "


@given(texts, st.booleans())
@example("\uff40", False)  # a form of a mark that is replaced itself
def test_spans_are_in_order_and_cover_the_text(text: str, is_source: bool) -> None:
    known = make_map(PLAIN, is_source=is_source)
    cleaned, spans = known.clean_with_spans(text)
    assert cleaned == known.clean(text) == known.clean(known.clean(text))
    assert len(spans) == len(cleaned) and spans == sorted(spans)
    if cleaned:
        assert {place for span in spans for place in range(*span)} == {*range(len(text))}


@given(texts)
def test_a_source_has_single_spaces_and_nothing_invisible(text: str) -> None:
    cleaned = make_map(PLAIN).clean(text)
    assert "  " not in cleaned and cleaned == cleaned.strip(" ")
    kinds = {unicodedata.category(each) for each in cleaned}
    assert "Zs" not in {unicodedata.category(each) for each in cleaned.replace(" ", "")}
    assert not kinds & {"Zl", "Zp"} and not any(
        each in cleaned for each in "\u200b\u00ad\ufeff\x00"
    )


def test_plain_text_is_returned_as_it_is() -> None:
    text = "It's a \"plain\" - and usual - line, isn't it?"
    assert make_map(PLAIN).clean(text) is text


def test_a_long_text_takes_as_long_for_each_character() -> None:
    unit = "\u201cwon\u2019t\u201d\u00a0\u00ad\t "
    known = make_map(PLAIN)
    assert is_linear(known.clean_with_spans, lambda length: unit * (length // len(unit)))


def test_marks_are_counted_as_a_plain_loop_counts_them() -> None:
    rng = random.Random(3)
    lines = ["".join(rng.choices(TYPED, k=30)) for _ in range(200)]
    counts: dict[str, int] = {}
    assert list(watch_characters(lines, counts)) == lines
    joined = "".join(lines)
    assert counts["\u2019"] == sum(each == "\u2019" for each in joined)
    assert "a" not in counts and counts[" "[0:0] or "\t"] == joined.count("\t")


def test_a_line_is_counted_once_however_many_there_are() -> None:
    lines, counts = ["a \u2013 b"] * 25_000, dict[str, int]()
    assert list(watch_characters(lines, counts)) == lines
    assert counts["\u2013"] == 25_000


def test_the_tokens_of_a_tokenizer_point_into_the_typed_text() -> None:
    plain = train_tokenizer(['we won\'t go, "no" - or so.'] * 4, 320)
    tokenizer = plain.know_characters(None, is_source=True)
    typed = "\ufeffWe won\u2019t\u00a0go\u00ad."
    found, wanted = tokenizer.tokens(typed), plain.tokens("We won't go.")
    assert found.ids == wanted.ids == tuple(tokenizer.encode(typed))
    assert found.spans[0][0] == 0 and found.spans[-1] == (len(typed) - 2, len(typed))
    assert [typed[start:end].strip("\ufeff\u00a0\u00ad") for start, end in found.spans][-1] == "."
    assert plain.encode(typed) != plain.encode("We won't go.")
    assert count_in_tokens(plain.vocabulary)["'"] >= 1
