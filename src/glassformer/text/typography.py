"""The shape of quotes, dashes and spaces in a translation: as in its source, or by its language.

A model writes the marks of its training text, often only those on a keyboard. Whoever writes curly
quotes gets those of the target language back.
"""

from __future__ import annotations

import re
from typing import Literal

from ..foundation.extensions import find_addition
from .patterns import LazyPattern
from .spacing import name_base

Typography = Literal["source", "plain", "language"]

# Opening and closing quotes, from Unicode's CLDR (delimiters.quotationStart and quotationEnd).
QUOTES = {
    **dict.fromkeys(("de", "cs", "sk", "sl", "lt", "lv", "et", "is", "bg", "ka", "sq"), "„“"),
    **dict.fromkeys(("pl", "hr", "hu", "ro", "sr", "bs"), "„”"),
    **dict.fromkeys(("fr", "it", "es", "ca", "pt-PT", "el", "ru", "uk", "be", "no", "nb"), "«»"),
    **dict.fromkeys(("nn", "fa", "hy", "az", "kk"), "«»"),
    **dict.fromkeys(("sv", "fi"), "””"),
    "ja": "「」",
}
SINGLE_QUOTES = {"„“": "‚‘", "„”": "‚’", "«»": "‹›", "””": "’’", "「」": "『』"}
QUOTED = (("«", "»"), ("„", "“"), ("“", "”"), ('"', '"'))  # around what is said
SINGLE_CLOSED, LAST = "'\u2019", ".!?…"  # marks at the end of a sentence
OPENED, CLOSED = zip(*QUOTED, strict=True)
NARROW, NO_BREAK = "\u202f", "\u00a0"

CURLY = LazyPattern("[\u2018-\u201f\u00ab\u00bb\u2039\u203a\u2013\u2014\u2026]")
CURLY_DOUBLE = LazyPattern("[\u201c-\u201f\u00ab\u00bb]")
PAIRS = LazyPattern(r'"([^"]*)"')
SINGLE_PAIRS = LazyPattern(r"(?<!\w)'([^']+)'(?!\w)")
SPACED_DASH = LazyPattern(r"(?<=\s)--?(?=\s)")
DASHES = LazyPattern("[\u2013\u2014]")
_BEFORE_MARK = LazyPattern(r"(?<=\w|[)\]»”%])[ \u00a0\u202f]?([;!?]+)(?=\s|$|[)\]»”])")
_BEFORE_COLON = LazyPattern(r"(?<=\w|[)\]»”%])[ \u00a0\u202f]?:(?=\s|$)")


def shape_marks(source: str, text: str, language: str | None, kind: Typography = "source") -> str:
    """Return a translation with its marks in the shape that is asked for.

    kind: "source", curly where the source is; "plain", as the model wrote them; "language", as the
    language prints them, in French with narrow no-break spaces before high marks.
    """
    if text.count('"') % 2 and (pair_quotes := find_addition("odd_quotes")):
        text = pair_quotes(source, text)
    if kind == "plain" or (kind == "source" and not CURLY.search(source)):
        return text
    always = kind == "language"
    if (always or CURLY_DOUBLE.search(source)) and '"' in text:
        before, behind = find_quotes(language)
        text = str(PAIRS.sub(lambda pair: f"{before}{pair[1]}{behind}", text))
    if "'" in text and (always or ("\u2019" in source and "'" not in source)):
        before, behind = tuple(SINGLE_QUOTES.get("".join(find_quotes(language)), "‘’"))
        text = SINGLE_PAIRS.sub(lambda pair: f"{before}{pair[1]}{behind}", text)
        text = text.replace("'", "\u2019")
    if "..." in text and (always or ("\u2026" in source and "..." not in source)):
        text = text.replace("...", "\u2026")
    text = _put_dashes_back(source, text)
    return _space_as_french(text) if always and name_base(language) == "fr" else text


def open_quote(source: str, text: str) -> str:
    """Return a translation with the quote before its first word, if only the closing one is there.

    source: a sentence that begins with a quote, as where somebody speaks.
    """
    if source[:1] not in OPENED or text[:1] in OPENED:
        return text
    for before, behind in QUOTED:
        if _is_alone(text, behind, before):
            last = text[: text.find(behind)][-1:]
            return before + (last if before == "«" and last.isspace() else "") + text
    return text


def close_quote(source: str, text: str) -> str:
    """Return a translation with the quote behind its last word, if only the opening one is there.

    source: a sentence that ends with a quote, perhaps with a mark behind it.
    """
    bare = source.rstrip(LAST)
    end = len(text) if bare == source else len(text.rstrip(LAST).rstrip())
    if bare[-1:] not in (*CLOSED, *SINGLE_CLOSED) or text[:end][-1:] in CLOSED:
        return text
    for before, behind in QUOTED:
        if _is_alone(text, before, behind):
            first = text[text.find(before) + 1 :][:1]
            space = first if before == "«" and first.isspace() else ""
            return f"{text[:end]}{space}{behind}{text[end:]}"
    return text


def _is_alone(text: str, mark: str, other: str) -> bool:
    """Return whether a text has a quote without the other one of its pair."""
    return text.count(mark) % 2 > 0 if mark == other else mark in text and other not in text


def find_quotes(language: str | None) -> tuple[str, str]:
    """Return the opening and the closing quote of a language."""
    pair = QUOTES.get(language or "") or QUOTES.get(name_base(language), "“”")
    return pair[0], pair[1]


def _put_dashes_back(source: str, text: str) -> str:
    """Return a text with its spaced hyphens as the dashes of the source, if there are as many."""
    dashes = DASHES.findall(source)
    if not dashes or len(SPACED_DASH.findall(text)) != len(dashes):
        return text
    rest = iter(dashes)
    return str(SPACED_DASH.sub(lambda _: next(rest), text))


def _space_as_french(text: str) -> str:
    """Return a text with the spaces before and within marks that French prints."""
    text = _BEFORE_MARK.sub(lambda mark: NARROW + mark[1], text)
    text = _BEFORE_COLON.sub(f"{NO_BREAK}:", text)
    text = re.sub(r"«[ \u00a0\u202f]?", f"«{NO_BREAK}", text)
    return re.sub(r"[ \u00a0\u202f]?»", f"{NO_BREAK}»", text)
