"""A rule-based splitter of texts into sentences.

The rules decide which punctuation marks end a sentence in European, Chinese, Japanese, Arabic and
Indic writing. They read a text once, from left to right, and consider only the word before a mark.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from .patterns import LazyPattern, RarePattern
from .spacing import is_eastern, name_base
from .symbols import find_moved_marks
from .unicode import Span

ENDS_BEFORE_SPACE = ".!?…‥‼⁇⁈⁉"
ENDS_ANYWHERE = "。！？｡．।॥۔؟።፧։။។"
ENDS = frozenset(ENDS_BEFORE_SPACE + ENDS_ANYWHERE)
CLOSERS = r"\"'”’»›)\]}）］】」』》〉〕｝"
OPENERS = "\"'“”„‚‘’«‹»›([{（［【「『《〈〔｛¿¡*•·–—-"
CONTINUERS = frozenset(f"{ENDS_BEFORE_SPACE}{ENDS_ANYWHERE},;:)]}}，、；：）】」』》〉،؛")

# Closing quotes and brackets belong to the sentence. After a mark that must be followed by white
# space, so do German “ and «, and French » after a space.
_MARKS = LazyPattern(
    rf"(?P<anywhere>[{ENDS_BEFORE_SPACE}]*+[{ENDS_ANYWHERE}][{ENDS_BEFORE_SPACE}{ENDS_ANYWHERE}]*+)"
    rf"[{CLOSERS}]*+"
    rf"|(?P<spaced>[{ENDS_BEFORE_SPACE}]++)"
    rf"[{CLOSERS}“‘«‹]*+(?:\s[»›](?![^\s.,;:!?)\]]))?"
)
_NEXT_WORD = LazyPattern(rf"[\s{re.escape(OPENERS)}]*+(\w*\.?)")
_BETWEEN_WORDS = LazyPattern(r"[\s\-–—/()\[\]«»‹›„“”\"‚‘]|(?<!\w)['’]")
_FIRST_LETTER = LazyPattern(r"\w")
_LABEL = LazyPattern(r"\W*(?:\d{1,3}(?:\.\d+)*|[^\W\d_]|[ivxIVX]{1,5})\.")  # 1. or (a.
_INITIALS = LazyPattern(r"(?:[^\W\d_]\.)*[^\W\d_]")
_CHAIN = LazyPattern(r"(?:^|\W)[^\W\d_]\.\s[^\W\d_]\Z")  # J. S or z. B
_ORDINAL = LazyPattern(r"\d{1,2}|[IVX]+")
_CHARACTER = LazyPattern("[\u3040-\u9fff\uac00-\ud7af]")
_WORDS_OF_ONE = LazyPattern(f"[ayà]\\Z|{_CHARACTER.pattern}\\Z")  # these are no initials
_LONGEST_WORD = 24  # characters of a word that may be an abbreviation

# Languages that write "3." for "3rd".
DOTTED_ORDINALS = {
    "bs",
    "cs",
    "da",
    "de",
    "et",
    "eu",
    "fi",
    "fo",
    "hr",
    "hu",
    "is",
    "lb",
    "lv",
    "nb",
    "nn",
    "no",
    "pl",
    "sk",
    "sl",
    "sr",
    "tr",
}

_LANGUAGE_MARK = RarePattern(r">>[\w-]{2,16}<<\s*", (">>",))


def find_language_mark(text: str) -> str:
    """Return the target-language mark at the start of a text, like ">>fra<< ", or "".

    Models with several target languages have such marks as tokens; each sentence needs its own.
    """
    found = _LANGUAGE_MARK.match(text) if _LANGUAGE_MARK.is_possible(text) else None
    return found[0] if found else ""


def has_letters(text: str) -> bool:
    """Return whether there is a letter or digit to translate; without one, a text stays."""
    return any(map(str.isalnum, text))


def cut_spans(text: str, spans: Sequence[Span]) -> list[str]:
    """Return the texts of the spans, each with the language mark that the whole begins with.

    Marks behind symbols that follow a sentence come with it: see `symbols`.
    """
    mark, moved = find_language_mark(text), find_moved_marks(text, spans)
    return [
        (mark if part else "") + text[slice(*span)] + text[slice(*marks)]
        for part, (span, marks) in enumerate(zip(spans, moved, strict=True))
    ]


def split_sentences(text: str, language: str | None = None) -> list[Span]:
    """Return the spans of the sentences, in order; only white space lies between and around them.

    Each has a letter or digit, unless the text has none. `language`, a code like "de", decides
    whether "3." may be an ordinal; without a language, it may.
    """
    spans: list[Span] = []
    begin = _skip_space(text, 0)
    for end in _find_ends(text, language):
        spans.append((begin, end))
        begin = _skip_space(text, end)
    end = len(text.rstrip())
    return [*spans, (begin, end)] if begin < end else spans


def _find_ends(text: str, language: str | None) -> Iterator[int]:
    """Yield the end of each sentence but the last."""
    last = max((at for at, each in enumerate(text) if each.isalnum() or each == "_"), default=0)
    if ENDS.isdisjoint(text[:last]):  # as in most texts of one sentence
        return
    code = name_base(language)
    has_ordinals = not code or code in DOTTED_ORDINALS
    begin, first = 0, _FIRST_LETTER.search(text)
    for mark in _MARKS.finditer(text, 0, last):
        if first and first.start() < mark.start():
            is_small = first[0].islower()
            end = _find_end(text, mark, begin, is_small, has_ordinals)
            if end:
                yield end
                begin, first = end, _FIRST_LETTER.search(text, end)


def _find_end(
    text: str, mark: re.Match[str], begin: int, is_small: bool, has_ordinals: bool
) -> int | None:
    """Return the end of the sentence from `begin` if `mark` ends it, else None.

    `is_small`: the sentence began with a lower-case letter; its writer may use no capitals.
    """
    end, run = mark.end(), mark["spaced"]
    start = _skip_space(text, end)
    if text[start] in CONTINUERS:
        return None
    if run is None:
        return None if mark[0] == "．" and text[end].isdigit() else end
    if start == end:  # only in Chinese and Japanese a sentence may follow without white space
        east = [is_eastern(text[mark.start() - 1]), is_eastern(text[end])]
        ends = any(east) if run in ("?", "!") else all(east) and run == "."
        return end if ends else None
    following = _NEXT_WORD.match(text, end)
    next_word = following[1] if following else ""
    if run == "." and _belongs_to_word(text, begin, mark.start(), next_word, has_ordinals):
        return None
    is_closed = end > mark.end("spaced")
    return None if next_word[:1].islower() and (is_closed or not is_small) else end


def _belongs_to_word(text: str, begin: int, at: int, next_word: str, has_ordinals: bool) -> bool:
    """Return whether the full stop at `at` belongs to an abbreviation, an ordinal or a label."""
    if at - begin < _LONGEST_WORD and _LABEL.fullmatch(text, begin, at + 1):
        return not _CHARACTER.match(text, at - 1)
    before = text[max(begin, at - _LONGEST_WORD) : at]
    word = _BETWEEN_WORDS.split(before)[-1]
    lists = _read_abbreviations()
    if word in lists["never_last"]:
        return True
    if word in lists["before_number"]:
        return next_word[:1].isdigit()
    if _CHAIN.search(before):
        return True
    is_initial = _INITIALS.fullmatch(word) and not _WORDS_OF_ONE.match(word)
    if is_initial or word in lists["seldom_last"] or (has_ordinals and _ORDINAL.fullmatch(word)):
        return next_word not in lists["starters"]
    return False


@cache
def _read_abbreviations() -> dict[str, frozenset[str]]:
    """Return the words that decide about a full stop, by the name of their list."""
    import tomllib

    lists = Path(__file__).with_name("abbreviations.toml").read_text(encoding="utf-8")
    return {name: frozenset(words.split()) for name, words in tomllib.loads(lists).items()}


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
