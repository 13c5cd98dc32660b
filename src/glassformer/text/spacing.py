"""White space around Chinese and Japanese text, which is written without spaces."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from unicodedata import category

from .clause_marks import find_clauses, restore_mark
from .patterns import LazyPattern
from .symbols import find_moved_marks
from .unicode import Span

UNSPACED = {"zh", "yue", "wuu", "lzh", "ja"}

# Chinese characters, kana, bopomofo, their punctuation and full-width forms, without white space.
EAST = "\u2e80-\u2fff\u3001-\u312f\u3190-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff9f"
EAST += "\U00020000-\U0003ffff"
# Thai, Lao, Burmese and Khmer, without spaces between words, too. Of them, what belongs to the
# letter after it, and the vowels that belong to the letter before them but are no combining marks.
SOUTH_EAST = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# Scripts whose words or particles touch what is beside them: these, Tibetan and Korean.
TOUCHING = rf"{EAST}{SOUTH_EAST}\u0f00-\u0fff\u1100-\u11ff\u3130-\u318f\uac00-\ud7ff"
LEADING, FOLLOWING = "\u0e40-\u0e44\u0ec0-\u0ec4\u1039\u17d2", "\u0e30-\u0e33\u0e45\u0eb0-\u0eb3"
_EASTERN = LazyPattern(f"[{EAST}]")
_IDLE = LazyPattern(rf"(?<=[{EAST}])\s++(?=[{EAST}])")


def is_unspaced(language: str | None) -> bool:
    """Return whether a language, named like zh, zh-CN or jpn, is written without spaces."""
    return name_base(language) in UNSPACED


def name_base(language: str | None) -> str:
    """Return the base of the name of a language: zh for zh-CN or zh_CN; en for eng, of ISO 639."""
    base = (language or "").replace("_", "-").partition("-")[0].lower()
    return read_language_names().get(base, (base, ""))[0] if len(base) == 3 else base


@cache
def read_language_names() -> dict[str, tuple[str, str]]:
    """Return the usual code and the English name of each language that we have one of, by code."""
    text = Path(__file__).with_name("languages.txt").read_text(encoding="utf-8")
    rows = (re.match(r"((?:[a-z]{2,3} )+)(.*)", line) for line in text.splitlines())
    named = ((row[1].split(), row[2]) for row in rows if row)
    return {code: (codes[0], name) for codes, name in named for code in codes}


def looks_unspaced(text: str) -> bool:
    """Return whether most letters of a text are Chinese or Japanese."""
    letters = [character for character in text if character.isalpha()]
    return 2 * sum(map(is_eastern, letters)) > len(letters)


def is_eastern(character: str) -> bool:
    return bool(_EASTERN.match(character))


def word_pattern(words: str, *, any_case: bool = False, may_go_on: bool = False) -> re.Pattern[str]:
    """Return a pattern that finds words wherever they are not part of others.

    Chinese words are written without spaces, so they are found everywhere, as marks are; Thai ones
    wherever they cut no syllable. `may_go_on`: the last one may be the beginning of a word.
    ValueError for white space alone.
    """
    if not words.strip():
        raise ValueError(f"{words!r} is no word: name one")
    before = _border("?<!", words[0], LEADING)
    after = "" if may_go_on else _border("?!", words[-1], FOLLOWING + list_combining())
    # Around the words, where case makes no difference, it would take long to compile.
    return re.compile(f"{before}(?{'i' * any_case}:{re.escape(words)}){after}")


def _border(look: str, character: str, tied: str) -> str:
    """Return a pattern by which nothing goes on a word beyond its first or last character."""
    if re.match(f"[{SOUTH_EAST}]", character):
        return f"({look}[{tied}])"
    letter = rf"(?:[^\W{EAST}{SOUTH_EAST}]|[{list_combining()}])"
    return f"({look}{letter})" if re.match(letter, character) else ""


@cache
def list_combining() -> str:
    """Return the combining marks, which go on a word, for a pattern; and the joiner among them."""
    kinds = "".join(category(chr(code))[0] for code in range(0x20000))
    runs = (run.span() for run in re.finditer("M+", kinds))
    return "\u200d" + "".join(f"{chr(start)}-{chr(end - 1)}" for start, end in runs)


def close_up(text: str) -> str:
    """Return `text` without the white space between Chinese or Japanese characters."""
    return _IDLE.sub("", text)


def close_up_with_spans(text: str) -> tuple[str, list[Span]]:
    """Return `close_up(text)`, and for each of its characters the span of `text` that it came from.

    White space that is removed belongs to the character after it.
    """
    spans: list[Span] = []
    at = 0
    for idle in _IDLE.finditer(text):
        spans += [(i, i + 1) for i in range(at, idle.start())]
        at = idle.end() + 1
        spans.append((idle.start(), at))
    spans += [(i, i + 1) for i in range(at, len(text))]
    return close_up(text), spans


def join_sentences(
    text: str, spans: Sequence[Span], translations: Sequence[str]
) -> tuple[str, list[Span]]:
    """Return `text` with each span replaced by its translation, and the spans of the translations.

    The spans are in order; the text around them stays, but for marks that were translated with the
    sentence before them: see `symbols`. Where nothing separates two spans because
    the text is Chinese or Japanese, translations in other scripts are separated by a space.
    """
    places: list[Span] = []
    written: list[str] = []
    at, before, marks = 0, 0, (0, 0)
    moved, clauses = find_moved_marks(text, spans), find_clauses(text, spans)
    columns = zip(spans, translations, moved, clauses, strict=True)
    for span, translation, behind, is_clause in columns:
        if is_clause:
            translation = restore_mark(
                text[slice(*span)], translation, is_eastern(translation.rstrip(". ")[-1:])
            )
        gap = text[before : marks[0]] + text[marks[1] : span[0]]
        if written and not gap and _needs_space(text, span[0], written[-1], translation):
            gap = " "
        written += [gap, translation]
        places.append((at + len(gap), at + len(gap) + len(translation)))
        at, before, marks = places[-1][1], span[1], behind
    return "".join([*written, text[before : marks[0]], text[marks[1] :]]), places


def _needs_space(text: str, cut: int, left: str, right: str) -> bool:
    was_unspaced = is_eastern(text[cut - 1]) or is_eastern(text[cut])
    is_unspaced = is_eastern(left[-1:]) or is_eastern(right[:1])
    return was_unspaced and not is_unspaced
