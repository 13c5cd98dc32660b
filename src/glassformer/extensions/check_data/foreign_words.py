"""Lines in a foreign script by right: placeholders, addresses, and acronyms of both sides."""

from __future__ import annotations

import re

from .characters import Scripts, count_scripts, find_foreign, leave_out_verbatim, script_table
from .ragged import Block

# The beginning of {{PLURAL:$1|page|pages}}, and %B of a date.
MARKUP = re.compile(r"\{\{[^{}|]*\||%[-_0^#]?[A-Za-z](?![A-Za-z])")
SHORT = 2  # letters: Mb/s, Hz and Wi-Fi are written so in any script
WORD = re.compile(r"[^\W_]+")


def is_surely_foreign(text: str, partner: str, home: Scripts) -> bool:
    """Return whether a line in a foreign script is not so by right.

    It is by right if all that is foreign in it is a part that any translation repeats, like a tag,
    or an acronym that its partner has, too.
    """
    text = leave_out_verbatim(MARKUP.sub(" ", text))
    if not find_foreign(count_scripts(Block([text])), home).size:
        return False
    foreign = {word for word in WORD.findall(text) if _has_foreign_letter(word, home)}
    known = {*WORD.findall(partner)}
    return not all(_is_acronym(each) and (len(each) == 1 or each in known) for each in foreign)


def _has_foreign_letter(word: str, home: Scripts) -> bool:
    return any(script and script not in home for script in script_table()[[*map(ord, word)]])


def _is_acronym(word: str) -> bool:
    """Return whether a word is none of a language: short, or with capitals or digits inside."""
    return len(word) <= SHORT or word[1:] != word[1:].lower() or not word.isalpha()
