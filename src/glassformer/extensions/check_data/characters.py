"""Checks of characters: broken encoding, foreign scripts, look-alike letters."""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from unicodedata import category

import numpy as np
import regex

from glassformer.text.verbatim import find_verbatim

from .ragged import Array, Block

_SCRIPTS = """
Latin Greek Cyrillic Armenian Hebrew Arabic Devanagari Bengali Gurmukhi Gujarati Oriya Tamil
Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Hangul Ethiopic Khmer Mongolian
Kana Han Adlam Balinese Bamum Batak Buginese Buhid Canadian_Aboriginal Chakma Cham Cherokee Coptic
Deseret Gothic Hanifi_Rohingya Hanunoo Javanese Kayah_Li Khojki Lepcha Limbu Lisu Mandaic
Meetei_Mayek Mende_Kikakui Miao Mro Nag_Mundari New_Tai_Lue Newa Nko Nyiakeng_Puachue_Hmong
Ol_Chiki Osage Osmanya Pahawh_Hmong Phags_Pa Rejang Samaritan Saurashtra Sora_Sompeng Sundanese
Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Thaana Tifinagh Tirhuta Toto
Vai Wancho Warang_Citi Yi
"""
SCRIPTS = _SCRIPTS.split()
KANA = r"\p{Hiragana}\p{Katakana}ー"
LAST = 0x32400  # no code point from here on is a letter
NAMES = ("none", *SCRIPTS)
LATIN, GREEK, CYRILLIC = (NAMES.index(name) for name in ("Latin", "Greek", "Cyrillic"))
Scripts = frozenset[int]  # indices into NAMES
ANY: Scripts = frozenset(range(1, len(NAMES)))
HOME = 0.2  # the least share of the letters of a side for a script to be one of its own
AT_HOME = 0.2  # the least share of a line's letters in such scripts; foreign words may be the rest

# Signs of text that was decoded wrongly: controls, surrogates, U+FFFD, a BOM, private use.
BROKEN = "0-8 B-C E-1F 7F-9F D800-DFFF E000-F8FF FEFF-FEFF FFFD-FFFF"
REMOVABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff]")
CONTROLS = re.compile("[\x80-\x9f]")  # bytes of Windows-1252 that were read as Latin-1
LOST = re.compile("[\ud800-\udfff\ufffd\ufffe\uffff\ue000-\uf8ff]")

# Mojibake, UTF-8 read as Latin-1 or Windows-1252: the characters that its bytes became.
_LATER = "\u0080-\u00bf" + "".join(
    bytes([byte]).decode("cp1252")
    for byte in range(0x80, 0xA0)
    if byte not in b"\x81\x8d\x8f\x90\x9d"
)
_LONGER = (
    f"(?:[\u00ce-\u00d1][{_LATER}]){{2,}}"
    f"|(?:[\u00e0-\u00ef][{_LATER}]{{2}}){{2,}}|\u00f0\u0178[{_LATER}]{{2}}"
)
MOJIBAKE = re.compile(f"[\u00c2-\u00c5][{_LATER}]|\u00e2[{_LATER}]{{2}}|{_LONGER}")

# Right text has marks behind these letters, too, as in “BLÅ” and “Hâlâ…”. So a line in which that
# is all has no mojibake, unless small letters are beside a capital, as in NoÃ«l and Å“uvre.
_MARKS, _SMALL, _CAPITAL = "…‹›‘’“”–—«»™®", "a-zß-öø-ÿ", "A-ZÀ-ÖØ-Þ"
SIGN = re.compile(
    f"[\u00c2-\u00c5](?![{_MARKS}])[{_LATER}]|(?<=[{_SMALL}])[\u00c2-\u00c5][{_MARKS}]"
    f"|(?<![{_CAPITAL}])[\u00c2-\u00c5][{_MARKS}](?=[{_SMALL}])|(?<![{_CAPITAL}{_MARKS}])\u00c2[«»]"
    f"|\u00e2(?![{_MARKS}]{{2}})[{_LATER}]{{2}}|{_LONGER}"
)

# Letters of one script that look like letters of another.
MARKED, CYRILLIC_MARKED = "ëïËÏ", "ёїЁЇ"
FEW, CYRILLIC_FEW = "əƏhöÖăĂĕĔçÇÿŸæÆ", "әӘһӧӦӑӐӗӖҫҪӳӲӕӔ"  # of Kazakh, Komi, Chuvash, Ossetian, ...
TO_LATIN = str.maketrans(
    "аеорсухіјѕԁАВЕЅІЈКМНОРСТУХ" + CYRILLIC_MARKED + CYRILLIC_FEW + "οΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdABESIJKMHOPCTYX" + MARKED + FEW + "oABEZHIKMNOPTYX",
)
TO_CYRILLIC = str.maketrans(
    "aeopcyxijsABESIJKMHOPCTYX" + MARKED + FEW,
    "аеорсухіјѕАВЕЅІЈКМНОРСТУХ" + CYRILLIC_MARKED + CYRILLIC_FEW,
)
TO_GREEK = str.maketrans("oABEZHIKMNOPTYX", "οΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
WORD = re.compile(r"[^\W\d_]{3,}")
SHORT_WORD = re.compile(r"(?<!\w)[^\W\d_]{1,2}(?!\w)")  # as i, which is "and" in Ukrainian
WORDS_OF_ONE = "aciouy"  # in small letters: capitals are numbers of kings and vitamins, too
BETWEEN_WORDS = re.compile(r"(?:^|[^\s\d]\s+|[(«„\"'])$"), re.compile(r"\s+[Ѐ-ӿ]")
Letters = Collection[str]


@cache
def script_table() -> Array:
    """Return the script of each code point, as an index into NAMES."""
    table = np.zeros(0x110000, np.uint8)
    characters = "".join(map(chr, range(LAST)))
    for number, script in enumerate(SCRIPTS, 1):
        letters = KANA if script == "Kana" else rf"\p{{{script}}}"
        for run in regex.finditer(rf"(?V1)[[{letters}]--[\p{{Nd}}\p{{P}}\p{{S}}]]+", characters):
            table[run.start() : run.end()] = number
    return table


@cache
def _broken_table() -> Array:
    """Return flags of each code point: 1 broken, 2 first and 4 later character of mojibake."""
    table = np.zeros(0x110000, np.uint8)
    _mark(table, BROKEN, 1)
    later = re.compile(f"[{_LATER}]")
    table[[code for code in range(0x80, 0x2200) if later.match(chr(code))]] |= 4
    table[0xC2:0xF1] |= 2
    return table


def _mark(table: Array, ranges: str, value: int) -> None:
    for span in ranges.split():
        first, last = (int(end, 16) for end in span.split("-"))
        table[first : last + 1] = value


@cache
def lower_table() -> Array:
    """Return each code point in lower case, if that is one code point too."""
    table = np.arange(0x110000, dtype=np.uint32)
    for code in range(0x20000):  # no code point beyond has case
        lower = chr(code).lower()
        if len(lower) == 1:
            table[code] = ord(lower)
    return table


@cache
def word_table() -> Array:
    """Return `lower_table` with a space for punctuation, symbols, separators and controls."""
    apart = [code for code in range(0x110000) if category(chr(code))[0] in "PSZC"]
    table = lower_table().copy()
    table[apart] = ord(" ")
    return table


def count_scripts(block: Block) -> Array:
    """Return how many letters of each script (columns, by NAMES) each line (rows) has."""
    key = block.line * len(NAMES) + script_table()[block.codes]
    return np.bincount(key, minlength=block.size * len(NAMES)).reshape(block.size, -1)


def find_home(counts: Array) -> Scripts:
    """Return the scripts that a side is written in."""
    letters = counts[:, 1:].sum(0)
    home = {int(each) + 1 for each in np.flatnonzero(letters > HOME * max(letters.sum(), 1))}
    return frozenset(home | ({NAMES.index("Han")} if NAMES.index("Kana") in home else set()))


def find_foreign(counts: Array, home: Scripts) -> Array:
    """Return the lines with nearly all their letters in a script that the side is not written in.

    A line with a few words of its own script is right, though most of it may be foreign names.
    """
    letters = counts[:, 1:].sum(1)
    at_home = counts[:, sorted(home)].sum(1)
    is_foreign = (letters > 1) & (at_home < AT_HOME * letters)
    return np.flatnonzero(is_foreign) if home else np.zeros(0, int)


def find_broken(block: Block, texts: list[str]) -> list[int]:
    """Return the lines whose encoding is broken."""
    if int(block.codes.max(initial=0)) < 0x7F and not REMOVABLE.search("".join(texts)):
        return []
    marks = _broken_table()[block.codes]
    halves = np.flatnonzero((marks[:-1] & 2 > 0) & (marks[1:] & 4 > 0))
    suspects = np.unique(block.line[halves]).tolist()
    garbled = {number for number in suspects if SIGN.search(texts[number])}
    return sorted(garbled | set(block.lines_with(marks & 1 > 0)))


def repair_encoding(text: str) -> str | None:
    """Return the text with its encoding repaired; None if characters are lost."""
    text = MOJIBAKE.sub(_decode_again, text) if SIGN.search(text) else text
    text = CONTROLS.sub(_decode_control, text)
    text = REMOVABLE.sub("", text)
    return None if LOST.search(text) else text


def _decode_again(match: re.Match[str]) -> str:
    raw = bytearray()
    for character in match[0]:
        raw += character.encode("latin-1" if ord(character) < 0x100 else "cp1252")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return match[0]


def _decode_control(match: re.Match[str]) -> str:
    """Return the quote or dash whose byte in Windows-1252 this control character is, if any."""
    return match[0].encode("latin-1").decode("cp1252", "ignore")


def list_cyrillic(texts: Iterable[str]) -> frozenset[str]:
    """Return the Cyrillic letters of a text."""
    return frozenset(letter for letter in set("".join(texts)) if "Ѐ" <= letter <= "ӿ")


def find_lookalikes(
    counts: Array, texts: list[str], home: Scripts = ANY, letters: Letters | None = None
) -> list[int]:
    """Return the lines with a word that mixes scripts and can be written in one."""
    foreign = counts[:, GREEK] + counts[:, CYRILLIC]
    suspects = np.flatnonzero((counts[:, LATIN] > 0) & (foreign > 0)).tolist()
    return [
        each for each in suspects if repair_lookalikes(texts[each], home, letters) != texts[each]
    ]


def repair_lookalikes(text: str, home: Scripts = ANY, letters: Letters | None = None) -> str:
    """Return the text with each such word in one script, if possible that of most letters.

    `home` are the scripts of the side. No word is written in another one, but for Latin, in which
    any text has names: a Latin word with a letter that only looks Greek does not become Greek.
    letters: the Cyrillic ones of the side; None: of any. A word of one or two letters is written in
    Cyrillic where the rest of its line is.
    """
    text = WORD.sub(lambda word: _unmix(word[0], home, letters), text)
    if CYRILLIC not in home or not _is_cyrillic(SHORT_WORD.sub(" ", text)):
        return text
    short = [word for word in SHORT_WORD.finditer(text) if _is_typed_in_latin(word, letters)]
    if not _is_cyrillic(_cut_out(text, [word.span() for word in short])):
        return text
    for word in short:
        text = text[: word.start()] + word[0].translate(TO_CYRILLIC) + text[word.end() :]
    return text


def leave_out_verbatim(text: str) -> str:
    """Return a text without what its translation repeats, as links, tags and placeholders."""
    return _cut_out(text, [(each.start, each.end) for each in find_verbatim(text)])


def _cut_out(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = f"{text[:start]} {text[end:]}"
    return text


def _is_cyrillic(text: str) -> bool:
    """Return whether a line has letters, and all are Cyrillic but for tags and the like."""
    scripts = {*script_table()[[*map(ord, leave_out_verbatim(text))]].tolist()} - {0}
    return scripts == {CYRILLIC}


def _is_typed_in_latin(word: re.Match[str], letters: Letters | None) -> bool:
    """Return whether a word of one or two letters is a Cyrillic one with a Latin letter in it."""
    pure = word[0].translate(TO_CYRILLIC)
    if pure == word[0] or not all("Ѐ" <= letter <= "ӿ" for letter in pure):
        return False
    if len(pure) > 1:
        return _has_letters(pure, letters) and any("Ѐ" <= letter <= "ӿ" for letter in word[0])
    before, after = BETWEEN_WORDS
    is_between = before.search(word.string[: word.start()]) and after.match(word.string, word.end())
    return word[0] in WORDS_OF_ONE and bool(is_between) and (letters is None or pure in letters)


def _has_letters(word: str, letters: Letters | None) -> bool:
    """Return whether a text may have a word, by those of its letters that few languages have."""
    return letters is None or all(letter in letters for letter in {*word} & {*CYRILLIC_FEW})


def _unmix(word: str, home: Scripts, letters: Letters | None) -> str:
    if word.isascii():
        return word
    scripts = script_table()[[ord(letter) for letter in word]]
    latin, greek, cyrillic = (int((scripts == each).sum()) for each in (LATIN, GREEK, CYRILLIC))
    if not latin or not greek + cyrillic:
        return word
    ways = [
        (latin, LATIN, TO_LATIN),
        (cyrillic, CYRILLIC, TO_CYRILLIC),
        (greek, GREEK, TO_GREEK),
    ]
    for _, script, table in sorted(ways, key=lambda way: -way[0]):
        pure = word.translate(table)
        is_pure = all(script_table()[ord(letter)] == script for letter in pure)
        if script in {LATIN, *home} and is_pure and _has_letters(pure, letters):
            return pure
    return word
