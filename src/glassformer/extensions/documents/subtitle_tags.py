"""The tags of subtitles as markup with which `markup` moves them along with the words, and back.

A pair of tags within a sentence becomes <span id=N>, any other tag <img id=N>, so that each is
written once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from itertools import accumulate
from typing import NamedTuple

from glassformer.text.spacing import EAST

from .verbatim_points import write_attribute

TAG = re.compile(
    r"<rt\b[^<>]*>[^<>]*+</rt>|</?[A-Za-z][^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}|\{/?[A-Za-z](?::[^{}\s]*)?\}"
)
DEEPEST = 20  # nesting of pairs; deeper tags are written one by one
_TOKEN = re.compile(
    rf"(?P<tag><(?P<slash>/?)\w+(?: id=\"(?P<number>\d+)\"[^<>]*)?>)|\s++|[{EAST}]|[^\s<{EAST}]++"
)

_EASTERN = re.compile(f"[{EAST}]")
# Of French, with a space before: they begin no line. A space stands behind the quote that opens.
_ENDING, _OPENING = re.compile(r"[?!:;»%€][?!:;»%€.,…)\]”\"']*"), "«"


class SubtitleToken(NamedTuple):
    """A stretch of a subtitle: text, or a tag."""

    text: str
    is_tag: bool


def cut_tags(line: str) -> list[SubtitleToken]:
    """Return a line as text and tags; no text is empty."""
    tokens, at = list[SubtitleToken](), 0
    for match in TAG.finditer(line):
        tokens += [SubtitleToken(line[at : match.start()], False), SubtitleToken(match[0], True)]
        at = match.end()
    tokens.append(SubtitleToken(line[at:], False))
    return [token for token in tokens if token.text]


def name_tag(tag: str) -> str:
    """Return the name of a tag of HTML, with a slash if it ends an element; else ""."""
    match = re.match(r"</?[A-Za-z][^\s.>/]*", tag)
    return match[0][1:].lower() if match else ""


def find_partners(tokens: Sequence[SubtitleToken]) -> dict[int, int]:
    """Return the numbers of the tags that begin and end an element, well nested, in pairs."""
    partners, opened, names = dict[int, int](), list[int](), Counter[str]()
    for number, token in enumerate(tokens):
        name = name_tag(token.text) if token.is_tag else ""
        if name and not name.startswith("/"):
            opened.append(number)
            names[name] += 1
        elif name and names[name[1:]]:
            while (other := name_tag(tokens[begin := opened.pop()].text)) != name[1:]:
                names[other] -= 1
            names[other] -= 1
            if len(opened) < DEEPEST:
                partners[begin] = number
    return partners


def close_at_cues(lines: Sequence[str], cues: Sequence[object]) -> list[str]:
    """Return the lines of a sentence, in which no pair of tags goes on from one cue into another.

    cues: that of each line. A pair that did so is there once in each.
    """
    numbers, tokens = list[int](), list[SubtitleToken]()
    for number, line in enumerate(lines):
        tokens += cut_tags(line)
        numbers += [number] * (len(tokens) - len(numbers))
    closed = [*lines]
    for begin, end in sorted(find_partners(tokens).items(), reverse=True):  # the inner ones first
        for number in range(numbers[begin], numbers[end]):
            if cues[number] is not cues[number + 1]:
                closed[number] += tokens[end].text
                closed[number + 1] = tokens[begin].text + closed[number + 1]
    return closed


class SentenceMarkup:
    """A sentence with tags as markup; `is_escaped` if the subtitles have entities, like WebVTT."""

    def __init__(self, tokens: Sequence[SubtitleToken], is_escaped: bool) -> None:
        self.tokens, self.is_escaped = tokens, is_escaped
        self.partners = find_partners(tokens)
        ends = set(self.partners.values())
        self.text = "".join(
            self._mark(number, number in ends) if token.is_tag else self._escape(token.text)
            for number, token in enumerate(tokens)
        )

    def _mark(self, number: int, is_end: bool) -> str:
        name = "span" if number in self.partners else "img"
        own = "" if number in self.partners else write_attribute(self.tokens[number].text)
        return "</span>" if is_end else f'<{name} id="{number}"{own}>'

    def _escape(self, text: str) -> str:
        if not self.is_escaped:
            return escape(text, quote=False)
        return text.replace("<", "&lt;").replace(">", "&gt;")

    def divide(self, markup: str, sizes: Sequence[int]) -> list[str]:
        """Return a translated markup in lines whose lengths are proportional to `sizes`.

        It is cut between words; the tags are those of the subtitles again.
        """
        return divide(self._cut_words(markup), sizes)

    def _cut_words(self, markup: str) -> list[SubtitleWord]:
        """Return what a line is not cut within, with the tags of the subtitles."""
        words, opened = _Words(), list[int]()
        for match in _TOKEN.finditer(markup):
            token, is_end = match[0], bool(match["slash"])
            if token.isspace():
                words.add_space()
            elif match["tag"]:
                tag = self._name_back(match["number"], opened, is_end)
                words.add_tag(tag, is_end or tag.startswith("</"))
            else:
                words.add_text(token if self.is_escaped else unescape(token))
        return words.finish()

    def _name_back(self, number: str | None, opened: list[int], is_end: bool) -> str:
        """Return the tag of the subtitles that a tag of the markup stands for."""
        if is_end:
            return self.tokens[self.partners[opened.pop()]].text if opened else ""
        if int(number or 0) in self.partners:
            opened.append(int(number or 0))
        return self.tokens[int(number or 0)].text


class SubtitleWord(NamedTuple):
    """A word, or a Chinese character, with the tags around it and the space before it."""

    space: str
    text: str
    size: int  # characters of a reader's text


@dataclass
class _GrowingWord:
    """A word whose parts are joined at the end: a string that grows is copied each time."""

    space: str
    parts: list[str]
    size: int = 0


class _Words:
    """The words of a line that grows; tags that begin something belong to the next word."""

    def __init__(self) -> None:
        self.words = list[_GrowingWord]()
        self.space, self.waiting = "", list[str]()  # before the next word: white space; tags
        self.is_open = False  # whether text that follows is of the last word

    def add_space(self) -> None:
        if self.waiting:
            self.waiting.append(" ")
        else:
            self.space = " "
        self.is_open = False

    def add_tag(self, tag: str, is_end: bool) -> None:
        belongs = is_end and self.words and not (self.waiting or self.space)
        (self.words[-1].parts if belongs else self.waiting).append(tag)

    def add_text(self, text: str) -> None:
        is_word = _EASTERN.match(text) is None
        is_tied = self.words and (_ENDING.fullmatch(text) or self.words[-1].parts[-1] == _OPENING)
        if not (is_tied or (self.is_open and is_word)):
            self.words.append(_GrowingWord(self.space, []))
            self.space = ""
        word = self.words[-1]
        word.parts += [self.space, *self.waiting, text]
        word.size += len(self.space) + len(text)
        self.space, self.waiting, self.is_open = "", [], is_word

    def finish(self) -> list[SubtitleWord]:
        """Return the words; tags that wait for another one are a word of their own."""
        rest = [_GrowingWord(self.space, self.waiting)] if self.waiting else []
        return [
            SubtitleWord(word.space, "".join(word.parts), word.size)
            for word in [*self.words, *rest]
        ]


def divide(words: Sequence[SubtitleWord], sizes: Sequence[int]) -> list[str]:
    """Return the words in lines whose lengths are proportional to `sizes`."""
    ends = [*accumulate(len(each.space) + each.size for each in words)]
    total, whole = ends[-1] if ends else 0, sum(sizes)
    parts, at = list[str](), 0
    for number, share in enumerate(accumulate(sizes), start=1):
        left = len(sizes) - number  # each later part gets a unit, if there are enough
        stop = at
        while stop < len(words) - left and (
            stop == at or ends[stop] - words[stop].size / 2 <= total * share / whole
        ):
            stop += 1
        stop = len(words) if not left else stop
        parts.append("".join(each.space + each.text for each in words[at:stop]).strip())
        at = stop
    return parts
