"""A training lists the words of its sources, unless they are too many for a list."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassformer.model.files.known_words import (
    WORDS,
    WordCollector,
    check_known_words,
    copy_known_words,
    cut_words,
    find_unknown_words,
    read_known_names,
    read_known_words,
)
from glassformer.text.characters import CharacterMap

PAIRS = [("It's a dog, a DOG.", "ignored"), ("中文 ok", "x"), ("", "y")]
KNOWN = {"it's", "a", "dog", "中", "文", "ok"}


@pytest.mark.parametrize("at_once", [1, 1000])
def test_pairs_pass_unchanged_and_their_words_are_noted(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.model.files.known_words.AT_ONCE", at_once)
    collector = WordCollector()
    assert list(collector.watch(PAIRS)) == PAIRS
    collector.write(tmp_path)
    assert read_known_words(tmp_path) == KNOWN
    folder = tmp_path / "model"
    folder.mkdir()
    copy_known_words(tmp_path, folder)
    assert read_known_words(folder) == KNOWN


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("मैंने रामायण पढ़ी", ["मैंने", "रामायण", "पढ़ी"]),
        ("ކަންތައް މި", ["ކަންތައް", "މި"]),
        ("ශ්\u200dරී ලංකා", ["ශ්\u200dරී", "ලංකා"]),
        ("ไปบ้าน ok", ["ไ", "ป", "บ้", "า", "น", "ok"]),
        ("ខ្ញុំ។ l’eau", ["ខ្", "ញុំ", "l'eau"]),
        ("中文 g̃uarani_x", ["中", "文", "g̃uarani", "x"]),
    ],
)
def test_combining_marks_go_on_a_word(text: str, words: list[str]) -> None:
    assert cut_words(text) == words
    assert find_unknown_words(frozenset(words[1:]), text) == words[:1]


def test_turkish_words_are_known_in_both_cases(tmp_path: Path) -> None:
    collector = WordCollector(language="tr")
    list(collector.watch([("İzinler IŞIK", "x")]))
    collector.write(tmp_path)
    assert (tmp_path / WORDS).read_text(encoding="utf-8") == "izinler\nışık\n"
    known = read_known_words(tmp_path) or frozenset()
    assert find_unknown_words(known, "izinler İZİNLER Işık zor") == ["zor"]
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    (earlier / WORDS).write_text("i̇zinler\nişığı\nişik\nyarın\n", encoding="utf-8")
    known = read_known_words(earlier) or frozenset()
    assert find_unknown_words(known, "izinler ışığı IŞIK yarın zor") == ["zor"]
    (earlier / WORDS).write_text("i̇stanbul\nin\n", encoding="utf-8")
    assert read_known_words(earlier) == {"istanbul", "in"}


def test_words_are_judged_as_the_model_reads_them() -> None:
    read = CharacterMap({"\u02bb": 9}, set("USBabco\u02bb").__contains__, is_source=True)
    known = frozenset(["usb", "bo\u02bba"])
    assert find_unknown_words(known, "ＵＳＢ bo'a bo‘c", read) == ["bo‘c"]


def test_names_are_what_translations_repeat(tmp_path: Path) -> None:
    pairs = [
        ("Darwin saw Tokyo's Chinese bill, and Bill Rose.", "Darwin vit Tokyo, Bill, Rosemonde."),
        ("In Tokyo NASA-Leute ran.", "A Tokyo, NASA-Leute."),
        ("Seattle. Seattle. Seattle. Seattle. Seattle.", "Seattle."),
        ("Rome! Rome! Rome! Rome!", "Rome."),
        ("Rome.", "Roma."),
        ("Tokio. Tokio.", "Tokio."),
        ("Tokio.", "Tokyo."),
    ]
    collector = WordCollector()
    assert [*collector.watch(pairs)] == pairs
    collector.write(tmp_path)
    assert read_known_names(tmp_path) == {"Darwin", "Tokyo", "NASA-Leute", "Seattle", "Rome"}
    assert {"tokio", "bill", "rose"} < read_known_words(tmp_path)  # type: ignore[operator]
    assert not read_known_words(tmp_path) & read_known_names(tmp_path)  # type: ignore[operator]
    assert read_known_names(tmp_path / "nowhere") == set()
    check_known_words(tmp_path)


def test_too_many_words_are_no_list(tmp_path: Path) -> None:
    (tmp_path / WORDS).write_text("old\n", encoding="utf-8")
    collector = WordCollector(most=3)
    assert list(collector.watch(PAIRS)) == PAIRS
    collector.write(tmp_path)
    assert read_known_words(tmp_path) is None
    copy_known_words(tmp_path, tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        (b"a\nb\xff\nc\n", "not UTF-8 at byte 3"),
        (b"a\nb\0\nc\n", "line 2: damaged"),
        (b"a\nc\nb\n", "line 3: damaged"),
        (b"a\n\nb\n", "line 2: damaged"),
        (b"a\nb\nb\n", "line 3: damaged"),
        (b"a\nb", "cut short"),
        (b"", ""),
        (b"a\nb\n", ""),
    ],
)
def test_damage_is_named(tmp_path: Path, damaged: bytes, said: str) -> None:
    check_known_words(tmp_path)
    (tmp_path / WORDS).write_bytes(damaged)
    if not said:
        return check_known_words(tmp_path)
    with pytest.raises(ValueError, match=said) as raised:
        check_known_words(tmp_path)
    assert WORDS in str(raised.value)
