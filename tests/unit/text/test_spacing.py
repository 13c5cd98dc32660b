"""White space of Chinese and Japanese, and putting translations into the place of sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.text import spacing
from glassformer.text.function_words import name_language
from glassformer.text.spacing import (
    close_up,
    close_up_with_spans,
    is_eastern,
    is_unspaced,
    join_sentences,
    name_base,
    read_language_names,
    word_pattern,
)

MIXED = st.text(st.sampled_from("我爱ア。，「Aa1 \t\u3000\u00a0\u2028한ü"))


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("我 喜欢 学习 编程 。", "我喜欢学习编程。"),
        ("我 爱 AI 和 Python 3", "我爱 AI 和 Python 3"),
        ("すし　と\u00a0 ラーメン", "すしとラーメン"),
        (" 我 ", " 我 "),
        ("안녕 하세요", "안녕 하세요"),
        ("a b", "a b"),
        ("", ""),
    ],
)
def test_close_up(text: str, closed: str) -> None:
    assert close_up(text) == closed


@given(MIXED)
def test_only_white_space_between_eastern_characters_goes(text: str) -> None:
    kept = []
    for at, character in enumerate(text):
        before, after = text[:at].rstrip(), text[at:].lstrip()
        inside = before and after and is_eastern(before[-1]) and is_eastern(after[0])
        if not (character.isspace() and inside):
            kept.append(character)
    assert close_up(text) == "".join(kept)


@given(MIXED)
def test_spans_lead_back(text: str) -> None:
    closed, spans = close_up_with_spans(text)
    assert closed == close_up(text)
    assert [text[start:end].lstrip() or text[start:end] for start, end in spans] == [
        c if not c.isspace() else text[start:end]
        for c, (start, end) in zip(closed, spans, strict=True)
    ]
    assert [start for start, _ in spans] == [0, *(end for _, end in spans)][: len(spans)]
    assert not spans or spans[-1][1] == len(text)


def test_languages_are_named_by_any_code_of_iso_639() -> None:
    codes = {"eng": "en", "fre": "fr", "hau_NG": "ha", "pcm": "pcm", "xyz": "xyz", None: ""}
    assert {code: name_base(code) for code in codes} == codes
    names = {"hau": "Hausa", "ha": "Hausa", "pcm": "Nigerian Pidgin", "fra": "French", "xyz": "xyz"}
    assert {code: name_language(code) for code in names} == names


def test_each_code_of_a_language_is_there_once() -> None:
    text = Path(spacing.__file__).with_name("languages.txt").read_text(encoding="utf-8")
    rows = [re.fullmatch(r"((?:[a-z]{2,3} )+)([A-Z].+)", line) for line in text.splitlines()]
    codes = [code for row in rows if row for code in row[1].split()]
    assert all(rows) and len(codes) == len({*codes}) == len(read_language_names())


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("zh", True),
        ("zh-CN", True),
        ("ZH_hant", True),
        ("jpn", True),
        ("ja", True),
        ("ko", False),
        ("en", False),
        ("", False),
        (None, False),
        ("zhx", False),
        ("eng", False),
        ("zho-Hans", True),
    ],
)
def test_languages(language: str | None, expected: bool) -> None:
    assert is_unspaced(language) == expected


@pytest.mark.parametrize(
    ("word", "text", "places"),
    [
        ("it", "it is a bit of it.", [0, 15]),
        (".", "tired. so.", [5, 9]),
        ("动物", "大动物很累", [1]),
        ("cat", "猫cat猫", [1]),
        ("❤", "I ❤️", [2]),
        ("राम", "रामायण राम", [7]),
        ("कम", "कमी कम", [4]),
        ("ކަން", "ކަންތައް ކަން", [9]),
        ("ផ្ទះ", "ក្នុងផ្ទះ", [5]),
        ("ផ្ទះ", "នៅផ្ទះនេះ", [2]),
        ("บ้าน", "ฉันไปบ้านแล้ว", [5]),
        ("ที", "ที่นี่", []),
        ("มา", "เมา มาแล้ว", [4]),
    ],
)
def test_words_are_found_where_they_are_no_part_of_others(
    word: str, text: str, places: list[int]
) -> None:
    assert [match.start() for match in word_pattern(word).finditer(text)] == places


def test_words_are_found_in_any_case_or_as_beginnings() -> None:
    assert word_pattern("ärger", any_case=True).search("Kein Ärger.")
    assert not word_pattern("ärger").search("Kein Ärger.")
    assert word_pattern("राम", may_go_on=True).search("रामायण")


@pytest.mark.parametrize(
    ("text", "spans", "translations", "joined"),
    [
        (" A.\t B. ", [(1, 3), (5, 7)], ["Un.", "Deux."], " Un.\t Deux. "),
        ("我来。你走。", [(0, 3), (3, 6)], ["I come.", "You go."], "I come. You go."),
        ("我来。 你走。", [(0, 3), (4, 7)], ["I come.", "You go."], "I come. You go."),
        ("我来。你走。", [(0, 3), (3, 6)], ["来ます。", "行く。"], "来ます。行く。"),
        ("A. B.", [(0, 2), (3, 5)], ["甲。", "乙。"], "甲。 乙。"),
        ("xyxy", [(0, 2), (2, 4)], ["ab", "cd"], "abcd"),  # a word too long, cut
        ("A. B.", [(0, 2), (3, 5)], ["", "b"], " b"),
        ("  ", [], [], "  "),
    ],
)
def test_join(
    text: str, spans: list[tuple[int, int]], translations: list[str], joined: str
) -> None:
    found, places = join_sentences(text, spans, translations)
    assert found == joined
    assert [found[start:end] for start, end in places] == translations
