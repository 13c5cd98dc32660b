"""Points of a run that are read as text: placeholders, links, and short code.

A sentence without them has a hole, which a network fills with words of its own. So it reads what
stands there, which is repeated letter by letter, and the tags go where that is in the translation.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from glassformer.text.verbatim import find_verbatim

from .run_parts import RunPart

READ = frozenset(("code", "link", "mail", "placeholder"))  # kinds of what a translation repeats
# An attribute of tags that stand for such text, and an element with nothing but a word or two.
_ATTRIBUTE = re.compile(r'\sdata-verbatim="([^"<>]*)"')
_ELEMENT = re.compile(
    r"<(?P<name>code|kbd|samp|tt|var|b|em|i|span|strong)(?:\s[^<>]*)?>"
    r"(?P<text>[^<>`\n]{1,60})</(?P=name)>"
)


class VerbatimPoint(NamedTuple):
    """A text as the network reads it, and the tags that stand for it."""

    text: str
    tags: str


def write_attribute(text: str) -> str:
    """Return an attribute for the tag that stands for a text; "" if that is not to be read."""
    return f' data-verbatim="{html.escape(text)}"' if _is_repeated(text) else ""


def _is_repeated(text: str) -> bool:
    """Return whether a translation repeats all of a text: a placeholder, a link, code."""
    parts = find_verbatim(text)
    return len(parts) == 1 and parts[0][:2] == (0, len(text)) and parts[0].kind in READ


def find_points(parts: Sequence[RunPart]) -> tuple[list[VerbatimPoint], list[RunPart]]:
    """Return the points of a run that are read as text, and the run with that text for them."""
    points, whole, number = list[VerbatimPoint](), list[RunPart](), 0
    while number < len(parts):
        tags = _gather_tags(parts, number)
        text = next((text for each in tags if (text := _read_point(each))), "")
        if text:
            points.append(VerbatimPoint(text, "".join(each.raw for each in tags)))
            whole.append(RunPart(html.escape(text, quote=False), "text"))
        else:
            tags = tags[:1]
            whole += tags
        number += len(tags)
    return points, whole


def _gather_tags(parts: Sequence[RunPart], number: int) -> Sequence[RunPart]:
    """Return a part, and if it opens an element around a point alone, all of that."""
    around = parts[number : number + 3]
    is_around = [each.kind for each in around] == ["open", "point", "close"]
    return around if is_around and around[0].name == around[2].name else around[:1]


def _read_point(part: RunPart) -> str:
    if part.kind != "point":
        return ""
    if match := _ATTRIBUTE.search(part.raw):
        text = html.unescape(match[1])
        return text if _is_repeated(text) else ""
    match = _ELEMENT.fullmatch(part.raw)
    return f"`{html.unescape(match['text'])}`" if match and match["text"].strip() else ""


def has_points(translation: str, points: Sequence[VerbatimPoint]) -> bool:
    """Return whether a translation has the text of each point, and as often as there are such."""
    times = Counter(each.text for each in points)
    return Counter(_compile(times).findall(translation)) == times


def put_tags(written: str, points: Sequence[VerbatimPoint], table: dict[int, str]) -> str | None:
    """Return HTML with the tags of the points for their texts, which are written by a table.

    None if a text is not there as a whole: another tag begins or ends in it.
    """
    tags: dict[str, list[str]] = {}
    for each in reversed(points):
        tags.setdefault(each.text.translate(table), []).append(each.tags)
    result = _compile(tags).sub(lambda match: (tags[match[0]] or [match[0]]).pop(), written)
    return None if any(tags.values()) else result


def take_out(translation: str, points: Sequence[VerbatimPoint]) -> str:
    """Return a translation without the texts of points."""
    pattern = _compile(each.text for each in points)
    return " ".join(pattern.sub(" ", translation).split())


def _compile(texts: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of texts; of those that begin alike, the longest first."""
    return re.compile("|".join(map(re.escape, sorted({*texts}, key=len, reverse=True))))
