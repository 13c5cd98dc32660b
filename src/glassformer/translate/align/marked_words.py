"""Words and punctuation marks of a text, and links between those of a text and its translation."""

import re

from ...text.spacing import EAST
from ...text.unicode import Span

WORD = re.compile(rf"[{EAST}]|(?:(?![{EAST}])\w)+(?:['’](?:(?![{EAST}])\w)+)*|[^\w\s]")
CLOSING = frozenset(".,;:!?…)]}»”’。，、；：！？）】」』》")
MarkedLink = tuple[int, int, float]  # a word of the source, one of the translation, and its weight


def find_marked_words(text: str) -> list[Span]:
    return [match.span() for match in WORD.finditer(text)]


def find_unmarked_words(text: str) -> list[Span]:
    """Return the spans of the words that have a letter or digit."""
    return [span for span in find_marked_words(text) if text[span[0]].isalnum()]
