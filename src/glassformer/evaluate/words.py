"""The words of a text, which alignments link, and their tokens. Imports no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..text.spacing import is_unspaced
from ..text.unicode import Span

Array = NDArray[np.float32]
_WORD, _CHARACTER = re.compile(r"\S+"), re.compile(r"\S")


@dataclass(frozen=True)
class Words:
    """The words of one side, and the share of each token that belongs to each word.

    Words that the same tokens spell are treated as one unit.
    """

    spans: tuple[Span, ...]  # of the words, in characters
    share: Array  # tokens x units; a row sums to 1, or to 0 if the token is white space
    members: tuple[tuple[int, ...], ...]  # the words of each unit


def find_words(text: str, by_character: bool) -> tuple[Span, ...]:
    """Return the spans of words between white space, or of each character but white space."""
    return tuple(found.span() for found in (_CHARACTER if by_character else _WORD).finditer(text))


def is_read_by_character(language: str | None, texts: Iterable[str]) -> bool:
    """Return whether each character is a word: neither language nor `texts` have spaces."""
    return is_unspaced(language) and not any(text.split()[1:] for text in texts)


def share_out(spans: tuple[Span, ...], tokens: Sequence[Span]) -> Words:
    """Return the words with the share of each token in them, by the characters in common."""
    starts, ends = np.array(tokens, np.float32).reshape(-1, 2).T
    firsts, lasts = np.array(spans, np.float32).reshape(-1, 2).T
    common = np.minimum.outer(ends, lasts) - np.maximum.outer(starts, firsts)
    common = np.maximum(common, 0)
    units: dict[bytes, list[int]] = {}
    for word, column in enumerate((common > 0).T):
        units.setdefault(column.tobytes(), []).append(word)
    joined: Array = np.zeros((len(tokens), len(units)), np.float32)
    for unit, words in enumerate(units.values()):
        joined[:, unit] = common[:, words].sum(1)
    total = joined.sum(1, keepdims=True)
    joined /= np.where(total, total, 1)
    return Words(spans, joined, tuple(map(tuple, units.values())))
