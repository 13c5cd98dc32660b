"""Fonts for every script: those of the system are searched for each character.

A character that no font has is written as its code point. Nothing here changes the settings of
matplotlib: each text gets the font families that it needs.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

from matplotlib.font_manager import FontProperties, findfont, findSystemFonts, fontManager, get_font
from matplotlib.textpath import text_to_path

SANS, MONO = "Inter", "JetBrains Mono"  # cut to what pictures write; licences beside them
for _font in files(__package__).joinpath("typefaces").iterdir():
    if _font.name.endswith(".ttf"):
        fontManager.addfont(str(_font))
PREFERRED = (
    "DejaVu Sans",  # comes with matplotlib
    "DejaVu Sans Mono",
    "Noto Sans CJK SC",
    "Source Han Sans SC",
    "Noto Sans SC",
    "PingFang SC",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Hiragino Sans GB",
    "SimHei",
    "Noto Sans",
)
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
LEFT_TO_RIGHT = "\u200e"  # has no width, and counts as a left-to-right letter
BITMAPS = ("Noto Color", "Apple Color", "Twitter Color")
PACKAGES = {
    "CJK": "fonts-noto-cjk",
    "HIRAGANA": "fonts-noto-cjk",
    "KATAKANA": "fonts-noto-cjk",
    "HANGUL": "fonts-noto-cjk",
    "IDEOGRAPHIC": "fonts-noto-cjk",
    "FULLWIDTH": "fonts-noto-cjk",
}


@cache
def _read_characters(path: str) -> frozenset[int]:
    return frozenset(get_font(path).get_charmap())


@cache
def _list_fonts() -> tuple[tuple[str, str], ...]:
    """Return name and file of all fonts of this machine, the preferred ones first.

    The list of matplotlib is a cache, which may be older than the last installed font.
    """
    known = {entry.fname for entry in fontManager.ttflist}
    for path in findSystemFonts():
        if path not in known:
            try:
                fontManager.addfont(path)
            except (RuntimeError, OSError):  # FreeType cannot read this file
                continue
    plain = {(f.name, f.fname) for f in fontManager.ttflist if f.style == "normal"}
    order = {name: place for place, name in enumerate((SANS, MONO, *PREFERRED))}
    # Leave out bitmap fonts, like emoji, and the one that has a box for every character.
    drawable = (font for font in plain if not font[0].startswith(("Last Resort", *BITMAPS)))
    return tuple(sorted(drawable, key=lambda font: (order.get(font[0], len(order)), font)))


@cache
def find_family(character: str) -> str | None:
    """Return a font family that has this character; None if no font on this machine has it."""
    own = findfont(FontProperties(family=SANS))
    if character.isspace() or ord(character) in _read_characters(own):
        return SANS
    return next(
        (name for name, path in _list_fonts() if ord(character) in _read_characters(path)), None
    )


def name_package(character: str) -> str:
    """Return the Debian package to install for a character that no font has."""
    script = unicodedata.name(character, "UNKNOWN").split()[0].split("-")[0]
    return PACKAGES.get(script, "fonts-noto-core")


def check_language(lang: str) -> None:
    """Raise ValueError unless pictures can be written in this language on this machine."""
    if lang not in ("en", "zh"):
        raise ValueError(f"lang={lang}: one of en, zh")
    if lang == "zh" and find_family("图") is None:
        raise ValueError(
            "no font on this machine has Chinese characters: install one, on Debian "
            f"`apt install {name_package('图')}`"
        )


class MissingFont(UserWarning):
    """A warning that names characters which no font on this machine has."""

    def __init__(self, characters: Iterable[str]):
        self.characters = tuple(characters)
        codes = ", ".join(f"U+{ord(character):04X}" for character in self.characters)
        packages = dict.fromkeys(map(name_package, self.characters))
        super().__init__(
            f"no font on this machine has {codes}: drawn as numbers; "
            f"on Debian, `apt install {' '.join(packages)}`"
        )


@lru_cache(maxsize=4096)
def make_writable(text: str) -> str:
    """Return the text with its missing characters as code points; warn if there are any."""
    missing = [c for c in dict.fromkeys(text) if find_family(c) is None]
    for character in missing:
        text = text.replace(character, f"[{ord(character):04X}]")
    if missing:
        warnings.warn(MissingFont(missing), stacklevel=2)
    return text


def direct(line: str) -> str:
    """Return a line in which left-to-right order is kept between right-to-left tokens.

    This holds for our own sentences that quote such tokens, and for token → token.
    """
    if not RIGHT_TO_LEFT.search(line) or not re.search("“| → ", line):
        return line
    return LEFT_TO_RIGHT + line.replace(" → ", f" {LEFT_TO_RIGHT}→ ")


@lru_cache(maxsize=4096)
def choose_font(
    text: str, size: float, bold: bool = False, mono: bool = False, italic: bool = False
) -> FontProperties:
    """Return the font of a text, with a family for each character that the first one lacks."""
    first = MONO if mono else SANS
    others = (find_family(c) for c in dict.fromkeys(text))
    families = list(dict.fromkeys([first, *(name for name in others if name and name != first)]))
    heavy = bold and not italic and all(map(_has_bold, families))
    slant: Literal["italic", "normal"] = "italic" if italic and families == [SANS] else "normal"
    weight = "bold" if heavy else "normal"
    return FontProperties(family=families, size=size, weight=weight, style=slant)


@cache
def _has_bold(family: str) -> bool:
    weights = (font.weight for font in fontManager.ttflist if font.name == family)
    return any(weight in ("bold", "heavy", "black") or weight == 700 for weight in weights)


def measure_width(
    text: str, size: float, bold: bool = False, mono: bool = False, *, italic: bool = False
) -> float:
    """Return the width of a text in points."""
    return size * _measure_unit(text, bold, mono, italic)


@lru_cache(maxsize=65536)
def _measure_unit(text: str, bold: bool, mono: bool, italic: bool) -> float:
    """Return the width of a text in sizes of its type."""
    text = make_writable(text)
    font = choose_font(text, 1.0, bold, mono, italic)
    width, *_ = text_to_path.get_text_width_height_descent(text, font, False)
    return float(width)


def shorten_text(
    text: str, width: float, size: float, bold: bool = False, mono: bool = False
) -> str:
    """Return as much of a text as fits, ending in an ellipsis if that is not all."""
    if measure_width(text, size, bold, mono) <= width:
        return text
    end = count_fitting(text, width, size, bold, mono, "…")
    return f"{text[:end].rstrip()}…"


def count_fitting(
    text: str, width: float, size: float, bold: bool = False, mono: bool = False, mark: str = ""
) -> int:
    """Return how many characters of a text that is too wide fit before `mark`."""

    def is_over(end: int) -> bool:
        return measure_width(f"{text[:end].rstrip()}{mark}", size, bold, mono) > width

    return max(0, bisect_left(range(len(text)), True, key=is_over) - 1)
