"""Fonts inside SVG pictures: of each typeface, the characters that a picture writes.

So a picture looks the same wherever it is opened. Characters that the typefaces of the pictures
lack, like Chinese ones, come from the fonts of the reader's machine.
"""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import as_file, files
from io import BytesIO
from typing import NamedTuple

from .fonts import MONO, SANS
from .scene import TextMark


class Face(NamedTuple):
    """One typeface of a family."""

    family: str
    file: str
    weight: int = 400
    style: str = "normal"


def embed_fonts(texts: Iterable[TextMark]) -> str:
    """Return CSS rules with the fonts of these texts, each cut to the characters in use."""
    used = defaultdict[Face, set[str]](set)
    for text in texts:
        used[_choose_face(text)] |= set(text.text)
        if text.mono:  # for what the first family lacks
            used[_choose_face(text, mono=False)] |= set(text.text) - set(map(chr, range(128)))
    return "".join(_write_rule(face, "".join(sorted(used[face]))) for face in sorted(used))


def _choose_face(text: TextMark, *, mono: bool | None = None) -> Face:
    bold = text.bold and not text.italic
    weight = 700 if bold else 400
    if text.mono if mono is None else mono:
        return Face(MONO, f"JetBrainsMono-{'Bold' if bold else 'Regular'}.ttf", weight)
    if text.italic:
        return Face(SANS, "Inter-Italic.ttf", style="italic")
    return Face(SANS, f"Inter-{'Bold' if bold else 'Regular'}.ttf", weight)


def _write_rule(face: Face, characters: str) -> str:
    font = _cut_font(face.file, characters)
    if not font:
        return ""
    return (
        f"@font-face{{font-family:'{face.family}';font-weight:{face.weight};"
        f"font-style:{face.style};src:url(data:font/woff;base64,{b64encode(font).decode()})}}"
    )


@lru_cache(maxsize=256)
def _cut_font(file: str, characters: str) -> bytes:
    """Return a typeface with these characters alone, as WOFF; empty if it has none of them."""
    from fontTools.subset import Options, Subsetter, save_font
    from fontTools.ttLib import TTFont

    options = Options(flavor="woff", hinting=False, name_IDs=[], notdef_outline=True)
    with (
        as_file(files(__package__) / "typefaces" / file) as path,
        TTFont(path, recalcTimestamp=False) as font,  # the same picture has the same bytes
    ):
        codes = {ord(each) for each in characters} & set(font.getBestCmap())
        if not codes:
            return b""
        cut = Subsetter(options)
        cut.populate(unicodes=codes)
        cut.subset(font)
        written = BytesIO()
        save_font(font, written, options)
    return written.getvalue()
