"""Tags in a sentence of plain text, as in "Your <b>order</b> is ready".

A network that never met tags makes nonsense of them, so they are taken out of what it reads. Those
of a pair find their places around the words that are aligned with the words within.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from glassformer.text.patterns import LazyPattern
from glassformer.text.symbols import Enclosure
from glassformer.text.unicode import Span

TAG = LazyPattern(r"<(?P<closing>/?)(?P<name>[A-Za-z][\w:-]*)[^<>]*>")


class _OpenTag(NamedTuple):
    name: str
    span: Span
    letters: int  # and digits, before it


def pair_tags(text: str, parts: Sequence[Span]) -> list[Enclosure]:
    """Return each pair of tags with a letter or digit between that is in none of some parts.

    parts: what is taken out of a text, in order, tags among it.
    """
    pairs, opened, counts = list[Enclosure](), list[_OpenTag](), Counter[str]()
    letters = at = 0
    for span in parts:
        letters += sum(map(str.isalnum, text[at : span[0]]))
        at = span[1]
        tag = TAG.fullmatch(text, *span)
        if tag is None:
            continue
        name = tag["name"].lower()
        if not tag["closing"]:
            opened.append(_OpenTag(name, span, letters))
            counts[name] += 1
            continue
        while counts[name]:  # those that were opened within have no partner
            other = opened.pop()
            counts[other.name] -= 1
            if other.name == name:
                if other.letters < letters:
                    marks = text[slice(*other.span)], tag[0]
                    widths = len(marks[0]), len(marks[1])
                    pairs.append(Enclosure(other.span[0], at, marks, "", widths))
                break
    return pairs
