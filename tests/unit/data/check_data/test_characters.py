"""Broken encoding, scripts, and letters that look alike."""

from __future__ import annotations

import sys
from unicodedata import category, name

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.extensions.check_data.characters import (
    NAMES,
    TO_CYRILLIC,
    TO_GREEK,
    TO_LATIN,
    count_scripts,
    find_broken,
    find_foreign,
    find_home,
    find_lookalikes,
    list_cyrillic,
    repair_encoding,
    repair_lookalikes,
    script_table,
)
from glassformer.extensions.check_data.foreign_words import is_surely_foreign
from glassformer.extensions.check_data.ragged import Block

OTHERWISE = {"HIRAGANA": "Kana", "KATAKANA": "Kana", "CJK": "Han"}


def test_letters_are_of_the_script_that_unicode_names() -> None:
    """Letters of the basic plane: none in another script, and few in none (rare extensions)."""
    table, known, missed = script_table(), 0, 0
    for code in range(0xFFFF):
        if category(chr(code)) in ("Lu", "Ll", "Lo"):
            first = name(chr(code), "").split(" ")[0]
            script = OTHERWISE.get(first, first.capitalize())
            if script in NAMES:
                known += 1
                missed += table[code] == 0
                assert table[code] in (0, NAMES.index(script)), hex(code)
    assert known > 40_000 and missed < 0.02 * known


def _garble(text: str, encoding: str) -> str:
    return text.encode("utf-8").decode(encoding)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
@pytest.mark.parametrize("text", ["café", "L'été", "Müller", "naïve", "¿Qué?", "Žluťoučký", "“so”"])
def test_mojibake_is_found_and_undone(text: str, encoding: str) -> None:
    try:
        garbled = _garble(text, encoding)
    except UnicodeDecodeError:
        pytest.skip(f"{encoding} has no such bytes")
    lines = ["fine", garbled, text]
    assert find_broken(Block(lines), lines) == [1]
    assert repair_encoding(garbled) == text


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_each_letter_of_western_europe_is_found_in_mojibake(encoding: str) -> None:
    """But for those whose bytes are no characters of this encoding."""
    for letter in map(chr, range(0xC0, 0x180)):
        garbled = f"x{letter}x".encode().decode(encoding, "ignore")
        if letter.isalpha() and len(garbled) == 4:
            assert find_broken(Block([garbled]), [garbled]) == [0], letter
            assert repair_encoding(garbled) == f"x{letter}x"


@pytest.mark.parametrize(
    "text", ["Noël", "cœur", "Œuvre", "Österreich", "miał", "«Oui»", "BLÅ“ für", "⅔ às KÖLN"]
)
def test_mojibake_that_looks_like_marks(text: str) -> None:
    garbled = text.encode().decode("cp1252")
    assert find_broken(Block([garbled]), [garbled]) == [0]
    assert repair_encoding(garbled) == text


def test_cyrillic_and_chinese_mojibake() -> None:
    for text in ("привет мир", "我喜欢学习"):
        garbled = _garble(text, "latin-1")
        assert find_broken(Block([garbled]), [garbled]) == [0]
        assert repair_encoding(garbled) == text


@pytest.mark.parametrize(
    "text",
    [
        "SÃO PAULO",
        "« Où ? »",
        "Viel Spaß“",
        "Âge, âme",
        "30 °C ± 2",
        "Ça alors…",
        "àé»",
        "TÜV",
        "señor",
        "Ñandú",
        "Ελληνικά",
        "Привет",
        "人吃苹果",
        "a\tb",
        "😀",
        "e\u0301",
        "KUÑAKARÃ’I MITÃ”",
        "”BLÅ” och ”GRÅ”",
        "»På Å«",
        "BRÅ’s report",
        "BLÅ–GUL",
        "“Hâlâ…”",
    ],
)
def test_whole_text_is_left_alone(text: str) -> None:
    assert find_broken(Block([text]), [text]) == []
    assert repair_encoding(text) == text


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("a\x00b", "ab"),
        ("a\ufeffb", "ab"),
        ("x\x85y", "x…y"),
        ("Ibi\x92s, \x93so\x94\x81", "Ibi’s, “so”"),
        ("\x1bz", "z"),
        ("a\ufffdb", None),
        ("a\ud800b", None),
        ("\ue000", None),
    ],
)
def test_broken_characters(text: str, mended: str | None) -> None:
    for lines in ([text], ["plain", text], ["größer", text]):
        assert find_broken(Block(lines), lines) == [len(lines) - 1]
    assert repair_encoding(text) == mended


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Co"), exclude_characters="\ufeff")))
def test_what_was_mended_is_whole(text: str) -> None:
    mended = repair_encoding(text)
    assert (mended is None) == any(each in "\ufffd\uffff\ufffe" for each in text) or mended != text


def test_look_alikes_are_written_in_one_script() -> None:
    for mixed, pure in [
        ("capitаl", "capital"),
        ("Mоsсоw", "Moscow"),
        ("мoсква", "москва"),
        ("Aθήνα", "Αθήνα"),
        ("ΤEST", "TEST"),
    ]:
        assert mixed != pure and repair_lookalikes(f"({mixed}), x") == f"({pure}), x"
        lines = ["plain", f"so {mixed} it"]
        assert find_lookalikes(count_scripts(Block(lines)), lines) == [1]


@pytest.mark.parametrize(
    ("mixed", "pure"),
    [
        ("Кот i собака, бо iх двое", "Кот і собака, бо іх двое"),
        ("Ён прыйшоў цi не?", "Ён прыйшоў ці не?"),
        ("<b>кава</b> i %d чаю", "<b>кава</b> i %d чаю"),
        ("кава i чай, %s", "кава і чай, %s"),
        ("А что c ним", "А что с ним"),
        ("ещë наïвний", "ещё наївний"),
        ("hәм бəйге, Öнö", "һәм бәйге, Ӧнӧ"),
        ("Пётр I и витамин C", "Пётр I и витамин C"),
        ("ось x, то есть a", "ось x, то есть a"),
        ("через 5 c после", "через 5 c после"),
        ("он i Windows", "он i Windows"),
    ],
)
def test_short_words_and_marked_letters_are_cyrillic_in_cyrillic_lines(
    mixed: str, pure: str
) -> None:
    home = frozenset({NAMES.index("Cyrillic")})
    letters = list_cyrillic(["іәһөӧӦс", "Кот"])
    assert repair_lookalikes(mixed, home, letters) == pure
    lines = [mixed]
    alike = find_lookalikes(count_scripts(Block(lines)), lines, home, letters)
    assert alike == [0] * (mixed != pure)


def test_no_letter_is_written_that_a_language_has_not() -> None:
    home, russian = (
        frozenset({NAMES.index("Cyrillic")}),
        list_cyrillic(["Это русский текст с ними"]),
    )
    for text in ("вектор i равен", "слово hаш", "его Mæрия"):
        assert repair_lookalikes(text, home, russian) == text
    assert repair_lookalikes("его Mæрия", home, russian | {"ӕ"}) == "его Мӕрия"
    assert repair_lookalikes("Zoё, bәlkә, cəm", frozenset()) == "Zoë, bəlkə, cəm"


def test_words_of_several_scripts_that_are_meant() -> None:
    for text in ("the Москва river", "μm and kΩ", "T恤", "Windowsを使う", "βcarotene"):
        assert repair_lookalikes(text) == text
        assert find_lookalikes(count_scripts(Block([text])), [text]) == []


def test_look_alikes_are_letters_of_both_scripts() -> None:
    scripts = script_table()
    for table, to in ((TO_LATIN, "Latin"), (TO_CYRILLIC, "Cyrillic"), (TO_GREEK, "Greek")):
        assert all(scripts[code] == NAMES.index(to) for code in table.values())
        assert all(scripts[code] != NAMES.index(to) for code in table)


def test_foreign_scripts() -> None:
    lines = ["Das ist gut."] * 20 + ["Это хорошо.", "Tom heißt Том.", "123", "", "很好", "β"]
    counts = count_scripts(Block(lines))
    home = find_home(counts)
    assert [NAMES[each] for each in home] == ["Latin"]
    assert find_foreign(counts, home).tolist() == [20, 24]
    japanese = count_scripts(Block(["これはペンです。", "日本語を話します。", "東京"]))
    assert {NAMES[each] for each in find_home(japanese)} == {"Kana", "Han"}
    nothing = count_scripts(Block(["12", "", "!"]))
    assert find_foreign(nothing, find_home(nothing)).tolist() == []


@pytest.mark.parametrize(
    ("text", "partner"),
    [
        ("URL៖ $1", "URL: $1"),
        ("VESA: %s", "VESA: %s"),
        ("%d × %d, %B", "%d × %d, %b"),
        ("WPA2", "WPA2"),
        ("%.2lf Mb/s", "%.2lf Mb/s"),
        ("[//www.mediawiki.org/wiki/Special:MyLanguage/Help ទំព័រ]", "[//www.a.org/wiki/B page]"),
        ("{{PLURAL:$1|Contributor|អ្នករួមចំណែក}}", "{{PLURAL:$1|Contributor|Contributors}}"),
        ('<a href="https://wordpress.org/documentation/">ឯកសារ</a>', "<a>Documents</a>"),
        ('<span class="screen-reader-text">បិទ</span>', "<b>Close</b>"),
    ],
)
def test_markup_and_acronyms_of_both_sides_are_in_no_foreign_script(
    text: str, partner: str
) -> None:
    assert not is_surely_foreign(text, partner, frozenset({NAMES.index("Khmer")}))


def test_words_that_were_not_translated_are_in_a_foreign_script() -> None:
    home = frozenset({NAMES.index("Khmer")})
    for text, partner in (("Scroll Lock", "Scroll Lock"), ("DNS", "Names"), ("<b>Close</b>", "x")):
        assert is_surely_foreign(text, partner, home)


def test_a_line_with_words_of_its_own_script_is_not_foreign() -> None:
    """Though most of its letters are those of a name, or of a loan word."""
    lines = ["Откройте это окно."] * 20 + ["Открой Windows Server.", "Windows Server starten"]
    counts = count_scripts(Block(lines))
    assert find_foreign(counts, find_home(counts)).tolist() == [21]


@pytest.mark.parametrize(
    ("script", "letters"),
    [
        ("Cherokee", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ"),
        ("Canadian_Aboriginal", "ᐃᓄᒃᑎᑐᑦ"),
        ("Nko", "ߒߞߏ"),
        ("Adlam", "𞤀𞤁𞤂𞤃"),
    ],
)
def test_scripts_of_few_people(script: str, letters: str) -> None:
    counts = count_scripts(Block([letters] * 40 + ["How are you?"]))
    home = find_home(counts)
    assert [NAMES[each] for each in home] == [script]
    assert find_foreign(counts, home).tolist() == [40]


def test_no_word_is_written_in_a_script_that_its_side_has_not() -> None:
    """Mossi is written with a Latin iota, for which some type the Greek one."""
    line, latin, greek = ["Yιι a ye"], {NAMES.index("Latin")}, {NAMES.index("Greek")}
    counts = count_scripts(Block(line))
    assert find_lookalikes(counts, line, frozenset(latin)) == []
    assert repair_lookalikes(line[0], frozenset(latin)) == line[0]
    assert find_lookalikes(counts, line, frozenset(greek)) == [0]
    assert repair_lookalikes("capitаl", frozenset(greek)) == "capital"


def test_every_code_point_can_be_looked_up() -> None:
    lines = ["".join(map(chr, range(start, start + 4096))) for start in range(0, 0x110000, 4096)]
    assert count_scripts(Block(lines)).sum() == sum(map(len, lines)) + 2 * len(lines)
    assert len(script_table()) == sys.maxunicode + 1
