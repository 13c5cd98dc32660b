"""Points of a run that are read as text: placeholders, links, and short code.

A sentence without them has a hole, which a network fills with words of its own. So it reads what
stands there, which is repeated letter by letter, and the tags go where that is in the translation.
A picture is read like that only where its sentence has a hole without it: "Press [], or use and ."
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from glassformer.text.verbatim import find_verbatim

from .elements import RAW
from .run_parts import RunPart

READ = frozenset(("code", "link", "mail", "placeholder"))  # kinds of what a translation repeats
# An attribute of tags that stand for such text, and an element with nothing but a word or two.
_ATTRIBUTE = re.compile(r'\sdata-verbatim="([^"<>]*)"')
_ELEMENT = re.compile(
    r"<(?P<name>code|kbd|samp|tt|var|b|em|i|span|strong)(?:\s[^<>]*)?>"
    r"(?P<text>[^<>`\n]{1,60})</(?P=name)>"
)
_JOINING = "and|or|et|ou|und|oder|y|e|o"
_LEADING = (
    "a|an|the|at|by|for|from|in|of|on|to|with|à|au|de|des|du|dans|en|la|le|les|par|pour|sur|un|une"
    "|auf|aus|bei|das|dem|den|der|die|durch|ein|eine|für|im|mit|von|vom|zu|zum|con|da|di|el|il|para|por"
)
# A point, \0, where the text around it has a hole.
_HOLE = re.compile(
    rf"[(\[]\s*\0\s*[)\]]|^\s*\0,|,\s+\0(?:\s*[,.;:!?]|\s+(?:{_JOINING})\b)"
    rf"|\b(?:{_JOINING}|{_LEADING})\s+\0\s*(?:[,.;:!?)\]]|$)"
    rf"|\b(?:{_LEADING})\s+\0\s+(?:{_JOINING}|to|pour|um)\b",
    re.IGNORECASE,
)
_NEAR = 12  # characters on both sides in which that is seen
_ENDS = re.compile(r"[.!?:;]\s")  # of sentences
_ASKED = re.compile(r"\W*(?:what|where|who|whom|whose|which|how|why|when)\b", re.IGNORECASE)
_ANCHORS = frozenset(("a", "span", "sup", "sub"))  # empty ones are marks of places
_EMPTY = re.compile(r"<[^<>]*>\s*(?:</[^<>]*>)?")
_PICTURES = frozenset(
    ["img", "input", "picture", "svg", "button", "object", "video", "canvas", "image"]
)
_ICON = re.compile(
    r"\b(?:class|style|role)\s*=[^>]{0,200}?\b(?:fa[bsrl]?|mdi|bi|ti|\w{0,20}(?:ico|glyph|symbol|emoji|logo"
    r"|image|img|key|button|btn|background))",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"<\S+(?:\s+id\s*=\s*[^\s<>]+)+\s*/?>|<\S+\s[^<>]*\b(?:epub:type|name)\s*=[^<>]*>"
)
_UNSEEN = RAW | {"", "wbr", "template", "noscript"}  # comments have no name


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
    points, whole, number, before, beginning = list[VerbatimPoint](), list[RunPart](), 0, "", ""
    following = _list_following(parts)
    while number < len(parts):
        tags = _gather_tags(parts, number)
        text = next((text for each in tags if (text := _read_point(each))), "")
        is_hole = not text and _is_hole(tags, before, following[number + len(tags)], beginning)
        if is_hole:
            text = f"`#{len(points) + 1}`"
        if text:
            points.append(VerbatimPoint(text, "".join(each.raw for each in tags)))
            whole.append(RunPart(html.escape(text, quote=False), "text"))
        else:
            tags = tags[:1]
            whole += tags
        if whole[-1].kind == "text" and not is_hole:
            before = (before + html.unescape(whole[-1].raw[-10 * _NEAR :]))[-_NEAR:]
            beginning = _find_beginning(beginning, whole[-1].raw)
        number += len(tags)
    return points, whole


def _is_hole(tags: Sequence[RunPart], before: str, behind: str, beginning: str) -> bool:
    """Return whether tags stand for something without words that the text around them lacks.

    beginning: that of the sentence. A question may end with a preposition.
    """
    if not _is_seen(tags) or not _HOLE.search(f"{before}\0{behind}"):
        return False
    return not (behind.lstrip().startswith("?") and _ASKED.match(beginning))


def _find_beginning(beginning: str, raw: str) -> str:
    """Return how the sentence begins that a text ends in; beginning: of the one before the text."""
    at = max((end.end() for end in _ENDS.finditer(raw)), default=-1)
    text = raw if at < 0 else raw[at:]
    return ((beginning if at < 0 else "") + text[:_NEAR])[:_NEAR]


def _is_seen(tags: Sequence[RunPart]) -> bool:
    """Return whether tags stand for something without words, such as a picture."""
    if len(tags) == 3:
        return _is_seen(tags[1:2])
    name, raw = tags[0].name, tags[0].raw
    if name in _UNSEEN or (tags[0].kind != "point" and len(tags) == 1):
        return False
    if name in _ANCHORS and _EMPTY.fullmatch(raw):
        return bool(_ICON.search(raw))
    return name in _PICTURES or not _PLACE.fullmatch(raw)


def _list_following(parts: Sequence[RunPart]) -> list[str]:
    """Return for each part, and for the end, the first characters of the text that begins there."""
    following = [""]
    for part in reversed(parts):
        text = html.unescape(part.raw[: 10 * _NEAR]) if part.kind == "text" else ""
        following.append((text + following[-1])[:_NEAR])
    return following[::-1]


def _gather_tags(parts: Sequence[RunPart], number: int) -> Sequence[RunPart]:
    """Return a part, and if it opens an element around nothing or a point alone, all of that."""
    for around in (parts[number : number + 2], parts[number : number + 3]):
        kinds = [each.kind for each in around]
        if kinds in (["open", "close"], ["open", "point", "close"]):
            return around if around[0].name == around[-1].name else around[:1]
    return parts[number : number + 1]


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
