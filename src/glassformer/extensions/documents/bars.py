"""Plurals in one text, with bars between their forms, as Symfony, Laravel and vue-i18n have them.

A form may begin with the numbers that it is for: "{0} none|{1} one|]1,Inf[ many". Without them,
the forms are alike, "one apple|%count% apples"; a bar in a sentence or between brackets is none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from glassformer.text.symbols import touches
from glassformer.text.unicode import Span

# A choice in a sentence is repeated: install|remove, Y|N; not where a capital begins another form.
CHOICE = re.compile(
    r"(?<![\w|])(?:[^\W\d_A-Z]\w*+(?:\|[^\W\d_A-Z]\w*+)++|[A-Z]\w*+(?:\|[A-Z]\w*+)++)"
)
_BAR = re.compile(r"(?<!\|)\|(?!\|)")  # two are one mark
_END = r"\s*(?:[-+]?(?:\d+(?:\.\d+)?|Inf)|\*)\s*"
_NUMBERS = re.compile(
    rf"\s*(?:\{{{_END}(?:,{_END})*\}}|[\[\]]{_END}(?:,{_END})?[\[\]]"
    r"|(?:zero|one|two|few|many|none|some|more|other):)"
)
_SURE = re.compile(r"[\[\]*:]|Inf")  # without one of these, {0} is a placeholder
_FIRST = re.compile(r"-?(?:Inf|[\d.]+)|\*")
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
_QUOTE = re.compile(r'["“”„]')
_TAG = re.compile(r"<(?P<slash>/)?(?P<name>[A-Za-z]\w*)[^<>]*>")
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"[.!?…。！？]\s*\Z")
SHORT = 2  # words that a form without likeness to the others has at most
STEM, ENDING = 3, 3  # letters that alike words begin with at least, and differ in at most


def cut_at_bars(text: str, kept: Sequence[Span]) -> list[str]:
    """Return the forms of a text, at even places, and what is before or between them.

    kept: the spans of placeholders and the like, in order: a bar in them is none.
    """
    bars = [bar.start() for bar in _BAR.finditer(text) if not touches(bar.span(), kept)]
    if not bars:
        return [text]
    starts, ends = [0, *(bar + 1 for bar in bars)], [*bars, len(text)]
    numbers = [_NUMBERS.match(text, *span) for span in zip(starts, ends, strict=True)]
    is_sure = _are_sure([each[0] for each in numbers if each])
    if not is_sure:
        numbers = [None for _ in numbers]
    begins = [own.end() if own else start for own, start in zip(numbers, starts, strict=True)]
    spans = [*zip(begins, ends, strict=True)]
    if not _are_whole(text, spans, kept) or not (is_sure or _are_alike(text, spans, kept)):
        return [text]
    parts = [] if begins[0] == 0 else ["", text[: begins[0]]]
    for number, (begin, end) in enumerate(spans):
        parts += [text[begin:end], text[end : begins[number + 1]] if number < len(bars) else ""]
    return parts[:-1]


def _are_sure(numbers: Sequence[str]) -> bool:
    """Return whether the beginnings of forms are numbers that these are for: they rise."""
    if not any(map(_SURE.search, numbers)) or len({*numbers}) < len(numbers):
        return False
    firsts = [match[0] for each in numbers if (match := _FIRST.search(each))]
    values = [float(each.replace("*", "-Inf")) for each in firsts]
    return values == sorted(values)


def _are_whole(text: str, spans: Sequence[Span], kept: Sequence[Span]) -> bool:
    """Return whether no bracket, quote or tag is open between two forms."""
    for (start, end), plain in zip(spans, _hide(text, spans, kept), strict=True):
        if any(plain.count(first) != plain.count(last) for first, last in _BRACKETS):
            return False
        tags = [*_TAG.finditer(text[start:end])]
        opened = Counter(tag["name"] for tag in tags if not tag["slash"])
        if Counter(tag["name"] for tag in tags if tag["slash"]) - opened:
            return False
        if len(_QUOTE.findall(plain)) % 2:
            return False
    return True


def _hide(text: str, spans: Sequence[Span], kept: Sequence[Span]) -> list[str]:
    """Return the forms with spaces for placeholders and the like."""
    letters = [*text]
    for start, end in kept:
        letters[start:end] = " " * (end - start)
    return ["".join(letters[start:end]) for start, end in spans]


def _are_alike(text: str, spans: Sequence[Span], kept: Sequence[Span]) -> bool:
    """Return whether forms without numbers are those of one message, and no sentence with a bar."""
    plain = _hide(text, spans, kept)
    words = [_WORD.findall(each.lower()) for each in plain]
    marks = [bool(_SENTENCE.search(each)) for each in plain]
    if not all(words) or (marks[-1] and not all(marks)):
        return False
    own = [{text[a:b] for a, b in kept if start <= a < end} for start, end in spans]
    is_short = max(map(len, words)) <= SHORT and not re.search(r"[][(){}<>]", "".join(plain))
    return is_short or all(
        (first and first == second) or _share(before, behind)
        for (first, second), (before, behind) in zip(pairwise(own), pairwise(words), strict=True)
    )


def _share(words: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether two forms begin or end with the same word, maybe with another ending."""
    return any(_is_akin(words[place], others[place]) for place in (0, -1))


def _is_akin(word: str, other: str) -> bool:
    stem = max(STEM, len(word) - ENDING, len(other) - ENDING)
    return word == other or (min(len(word), len(other)) >= stem and word[:stem] == other[:stem])
