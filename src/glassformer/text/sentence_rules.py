"""The words of a language that decide about a full stop: abbreviations and starts of sentences."""

from collections.abc import Iterable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from .function_words import WORDS
from .patterns import LazyPattern
from .spacing import name_base

ALIASES = {"nb": "no", "nn": "no", "hr": "sr", "bs": "sr", "sh": "sr", "gl": "pt", "ms": "id"}
# Abbreviations that are common words of other languages.
AMBIGUOUS = {
    *("al", "art", "ca", "conf", "dip", "ed", "end", "es", "ex", "fil", "ft", "gen", "ins", "kap"),
    *("kol", "lis", "mag", "mis", "ms", "nos", "nt", "pan", "por", "red", "sal", "sign", "st"),
    *("ts", "vad", "val", "wed", "ст", "ср"),
}
FIRST = ("en", "de", "fr")  # of a text of unknown language, all their words count

# Languages that write "3." for "3rd".
DOTTED_ORDINALS = {
    *("az", "bs", "cs", "da", "de", "et", "eu", "fi", "fo", "hr", "hu", "is", "lb", "lv", "nb"),
    *("nn", "no", "pl", "sk", "sl", "sr", "tr"),
}

# What stands before a line of a list, as "2) " or a bullet; or before the subject of an answer.
_ANSWER = r"(?:R[Ee]|F[Ww][Dd]?|AW|WG|TR)[ \u00a0]?:"
_LABEL = (
    r"(?:[-*+]\s)?\[[ xX]?\](?=\s)|\#{1,6}(?=\s)|>(?=\s)|[-–—*•·▪◦‣]"
    r"|[\[(][A-Z][A-Z\d _-]{2,19}[\])]"  # [URGENT]
    r"|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{2,5})\)|\d{1,3}(?:\.\d{1,3}){2,}\.?"
    rf"|(?:{_ANSWER}\s+)*{_ANSWER}"
)
LABEL = LazyPattern(rf"(?:{_LABEL})\s+(?=\S)")
NUMBERED = LazyPattern(
    rf"(?:(?:{_LABEL})\s+(?=\S)|\d{{1,3}}\.\s+(?![a-z])(?=[^\W\d_])"
    r"|\d{1,2}\.\d{1,2}\s+(?![a-z]|[MBT]r?illi|Thousand)(?=[^\W\d_]{2}))"  # 3.2 The garden
)


class SentenceRules(NamedTuple):
    """The words of one language, or of several, that decide about a full stop before them.

    The lists are those of `abbreviations.toml`; suffixes: ends of words that seldom end a sentence.
    has_ordinals: whether "3." may be "3rd".
    """

    never_last: frozenset[str]
    seldom_last: frozenset[str]
    before_number: frozenset[str]
    starters: frozenset[str]
    suffixes: tuple[str, ...]
    has_ordinals: bool


def find_list_labels(language: str | None) -> LazyPattern:
    """Return what finds the label of a line in a list, such as "2) ", where a sentence begins."""
    return LABEL if has_ordinals(language) else NUMBERED


def has_ordinals(language: str | None) -> bool:
    """Return whether "3." may be "3rd" in a language, and no label; in an unknown one it may."""
    return (name_base(language) or "de") in DOTTED_ORDINALS


@cache
def find_rules(language: str | None) -> SentenceRules:
    """Return the rules of a language, a code like "pt-BR"; of all together without one.

    Of a text of unknown language, some short words in lower case do not count: they may be whole
    words of another language.
    """
    code = name_base(language)
    tables, key = _read_tables(), ALIASES.get(code, code)
    if code:
        lists = {name: _vary(words) for name, words in tables.get(key, {}).items()}
        usual = {word.capitalize() for word in WORDS.get(key, ())}
        lists["starters"] = lists.get("starters") or frozenset(usual)
    else:
        lists = _join(tables)
    none, seldom = frozenset[str](), lists.get("seldom_last", frozenset[str]())
    return SentenceRules(
        never_last=lists.get("never_last", none),
        seldom_last=seldom,
        before_number=lists.get("before_number", none),
        starters=lists["starters"],
        suffixes=tuple(each[1:] for each in seldom if each.startswith("-")),
        has_ordinals=has_ordinals(language),
    )


def _join(tables: dict[str, dict[str, list[str]]]) -> dict[str, frozenset[str]]:
    lists: dict[str, set[str]] = {}
    ambiguous = {*chain.from_iterable(WORDS.values()), *AMBIGUOUS}
    for code, table in tables.items():
        for name, words in table.items():
            kept = words
            if name == "never_last":
                kept = [word for word in words if code in FIRST or word not in ambiguous]
            elif name == "seldom_last" and code not in FIRST:
                kept = [x for x in words if not (x.isascii() and x.islower() and len(x) < 5)]
            lists.setdefault(name, set()).update(_vary(kept))
    return {name: frozenset(words) for name, words in lists.items()}


@cache
def _read_tables() -> dict[str, dict[str, list[str]]]:
    import tomllib  # only a text with a mark within it needs the lists

    text = Path(__file__).with_name("abbreviations.toml").read_text(encoding="utf-8")
    return {
        code: {name: words.split() for name, words in table.items()}
        for code, table in tomllib.loads(text).items()
    }


def _vary(words: Iterable[str]) -> frozenset[str]:
    """Return words with their forms in capitals; those in lower case may be capitalised, too."""
    listed = [*words]
    capitalised = {word[:1].upper() + word[1:] for word in listed}
    return frozenset({*listed, *capitalised, *(word.upper() for word in listed if len(word) > 1)})
