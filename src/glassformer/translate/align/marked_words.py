"""Words and punctuation marks of a text, and links between those of a text and its translation."""

import re

from ...text.spacing import EAST, FOLLOWING, LEADING, SOUTH_EAST, list_combining
from ...text.unicode import Span

_MARKS = list_combining() + "\u00ad\u200c\U000e0100-\U000e01ef"  # invisible ones of words, too
_SPACED = rf"(?![{EAST}{SOUTH_EAST}])"
TIED = rf"[{FOLLOWING}{_MARKS}]|(?<=[{LEADING}])(?=\w)[{SOUTH_EAST}]"  # to the letter before
WORD = re.compile(
    rf"(?:[{EAST}]|[^\w\s])[{_MARKS}]*"
    rf"|(?=\w)[{SOUTH_EAST}](?:{TIED})*"
    rf"|{_SPACED}\w(?:{_SPACED}[\w{_MARKS}]|['’](?={_SPACED}\w))*"
)
CLOSING = frozenset(".,;:!?…)]}»”’。，、；：！？）】」』》")
MarkedLink = tuple[int, int, float]  # a word of the source, one of the translation, and its weight


def find_marked_words(text: str) -> list[Span]:
    return [match.span() for match in WORD.finditer(text)]


def find_unmarked_words(text: str) -> list[Span]:
    """Return the spans of the words that have a letter or digit."""
    return [span for span in find_marked_words(text) if text[span[0]].isalnum()]
