"""Unicode normalisation of a text before tokenization, with the origin of each character."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal
from unicodedata import combining, is_normalized, normalize

Span = tuple[int, int]  # start and end, in characters
Form = Literal["NFC", "NFKC"]  # of which NFKC also maps characters to those they stand for

DECOMPOSED: dict[Form, Literal["NFD", "NFKD"]] = {"NFC": "NFD", "NFKC": "NFKD"}

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str, form: Form = "NFC") -> str:
    """Return `text` in NFC, with each lone surrogate, which is no character, as U+FFFD."""
    return normalize(form, replace_surrogates(text))


def count_surrogates(text: str) -> int:
    """Return the number of lone surrogates, which `clean` replaces."""
    return 0 if text.isascii() else len(_SURROGATE.findall(text))


def clean_with_spans(text: str, form: Form = "NFC") -> tuple[str, list[Span]]:
    """Return `clean(text)`, and for each of its characters the span of `text` that it came from.

    Characters that the form composes or reorders share the span of their whole cluster.
    """
    text = replace_surrogates(text)
    if is_normalized(form, text):
        return text, [(i, i + 1) for i in range(len(text))]
    cleaned: list[str] = []
    spans: list[Span] = []
    for start, end in _clusters(text, form):
        composed = normalize(form, text[start:end])
        cleaned.append(composed)
        if composed == text[start:end]:
            spans += [(i, i + 1) for i in range(start, end)]
        else:
            spans += [(start, end)] * len(composed)
    return "".join(cleaned), spans


def join_spans(origins: Sequence[Span] | None, span: Span) -> Span:
    """Return the span that a span of characters comes from."""
    if origins is None:
        return span
    start, end = span
    if start == end:  # of the space before a text
        place = origins[start][0] if start < len(origins) else origins[-1][1]
        return place, place
    return origins[start][0], origins[end - 1][1]


def replace_surrogates(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _clusters(text: str, form: Form) -> Iterator[Span]:
    """Yield the spans of `text` between which the form neither composes nor reorders characters."""
    start = 0
    for i in range(1, len(text)):
        if text[i] < "\u0300" or not _joins(text, start, i, form):
            yield start, i
            start = i
    yield start, len(text)


def _joins(text: str, start: int, i: int, form: Form) -> bool:
    """Return whether character i may compose or swap with those before it in its cluster."""
    first = normalize(DECOMPOSED[form], text[i])[0]
    if combining(first):
        return True
    before = text[start:i]
    return normalize(form, before + first) != normalize(form, before) + first
