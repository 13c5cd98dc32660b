"""A page cuts texts into sentences as `text.sentences` does, by these patterns, marks and words.

The code in the browser is `web/src/engine/sentences.ts`.
"""

import sys
from collections.abc import Sequence
from typing import Any

from glassformer.text import sentences
from glassformer.text.patterns import LazyPattern
from glassformer.text.sentence_rules import find_rules
from glassformer.text.spacing import EAST

from .regexp import write_for_javascript


def join_ranges(codes: Sequence[int]) -> str:
    """Return code points, which are in order, as the members of a class: runs as ranges."""
    ends = [code for code in codes if code + 1 not in codes]
    starts = [code for code in codes if code - 1 not in codes]
    return "".join(f"{chr(one)}-{chr(two)}" for one, two in zip(starts, ends, strict=True))


_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"  # those of str.splitlines
_OTHER_DIGITS = [
    code for code in range(sys.maxunicode + 1) if chr(code).isdigit() and not chr(code).isdecimal()
]
PATTERNS: dict[str, LazyPattern] = {
    "line": LazyPattern(rf"[^{_BREAKS}]*+(?:\r\n|[{_BREAKS}])|[^{_BREAKS}]++"),
    "digit": LazyPattern(rf"[\d{join_ranges(_OTHER_DIGITS)}]"),
    "language_mark": sentences.LANGUAGE_MARK,
    "quotation": sentences.QUOTATION,
    "next_word": sentences.NEXT_WORD,
    "between_words": sentences.BETWEEN_WORDS,
    "first_letter": sentences.FIRST_LETTER,
    "last_letter": LazyPattern(rf"{sentences.FIRST_LETTER.pattern}\W*\Z"),
    "eastern": LazyPattern(f"[{EAST}]"),
    "unspaced": sentences.UNSPACED,
    "chain": sentences.CHAIN,
    "at_bracket": sentences.AT_BRACKET,
    "elided": sentences.ELIDED,
    "letter": sentences.LETTER,
    "numbered": sentences.NUMBERED,
    "letter_and_stop": sentences.LETTER_AND_STOP,
    "character": sentences.CHARACTER,
    "word_of_one": sentences.WORDS_OF_ONE,
}
WHOLE = {  # what a word or a text has to be from its first character to its last
    "label": sentences.LABEL,
    "initials": sentences.INITIALS,
    "ordinal": sentences.ORDINAL,
}
PATTERNS |= {name: LazyPattern(rf"(?:{each.pattern})\Z") for name, each in WHOLE.items()}


def describe_splitting(language: str | None) -> dict[str, Any]:
    """Return what a page cuts texts of a language with."""
    patterns = PATTERNS | {"marks": sentences.find_marks(language)}
    rules = find_rules(language)._asdict()
    return {
        "patterns": {name: write_for_javascript(each.pattern) for name, each in patterns.items()},
        "continuers": "".join(sorted(sentences.CONTINUERS)),
        "low_quote": sentences.LOW_QUOTE,
        "longest_word": sentences.LONGEST_WORD,
        "rules": {
            name: sorted(each) if isinstance(each, frozenset) else each
            for name, each in rules.items()
        },
    }
