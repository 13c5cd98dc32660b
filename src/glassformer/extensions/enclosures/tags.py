"""Tags in a sentence of plain text, as in "Your <b>order</b> is ready".

A network that never met tags makes nonsense of them, so they are taken out of what it reads. Those
of a pair find their places around the words that are aligned with the words within.
"""

from __future__ import annotations

from collections.abc import Sequence

from glassformer.text.patterns import LazyPattern
from glassformer.text.symbols import Enclosure
from glassformer.text.unicode import Span

TAG = LazyPattern(r"<(?P<closing>/?)(?P<name>[A-Za-z][\w:-]*)[^<>]*>")


def pair_tags(text: str, parts: Sequence[Span]) -> list[Enclosure]:
    """Return each pair of tags that has a letter or digit between, of some parts of a text."""
    pairs, opened, counts = list[Enclosure](), list[tuple[str, Span]](), dict[str, int]()
    for part in parts:
        tag = TAG.fullmatch(text, *part)
        if tag is None:
            continue
        name = tag["name"].lower()
        if not tag["closing"]:
            opened.append((name, part))
            counts[name] = counts.get(name, 0) + 1
            continue
        while counts.get(name):  # those that were opened within have no partner
            other, first = opened.pop()
            counts[other] -= 1
            if other == name:
                pairs += _enclose(text, first, part)
                break
    return pairs


def _enclose(text: str, first: Span, last: Span) -> list[Enclosure]:
    """Return what two tags enclose; nothing if there is no letter or digit."""
    if not any(map(str.isalnum, TAG.sub("", text[first[1] : last[0]]))):
        return []
    marks = text[slice(*first)], text[slice(*last)]
    return [Enclosure(first[0], last[1], marks, "", (len(marks[0]), len(marks[1])))]
