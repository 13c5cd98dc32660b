"""All kinds of tokenizers: how one is learned from text, and read from a file.

A kind of another package is an addition `tokenizer.KIND`; see `layout.name_kind` for the names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from ..foundation.extensions import need_addition
from ..foundation.validation_errors import check_list
from .layout import BYTES, CONTROLS, FIRST_CHARACTER, name_kind, open_layout, read_layout
from .merge_learning import check_room, learn_merges, prepare_texts
from .normalization import PLAIN, Normalization
from .tokenizer import Tokenizer

Kind = Literal["bpe", "unigram", "char"]


def train_tokenizer(
    lines: Iterable[str],
    vocabulary: int,
    kind: Kind = "bpe",
    normalization: Normalization = PLAIN,
) -> Tokenizer:
    """Learn at most `vocabulary` tokens; fewer, if no pair of neighbours occurs twice.

    Every character of the lines becomes a token; with kind=char, nothing else does. Raise
    ValueError if `vocabulary` is too small for them, or if there is no text.
    """
    check_list("lines", lines)
    if kind == "unigram":
        learn = need_addition("learn_unigram", "text.tokenizer=unigram")
        learned: Tokenizer = learn(lines, vocabulary, normalization)
        return learned
    characters: set[str] = set()
    texts, merges = prepare_texts(lines, normalization, characters), list[tuple[str, str]]()
    if kind == "bpe":
        merges = learn_merges(texts, max(0, vocabulary - FIRST_CHARACTER))
    else:
        deque(texts, maxlen=0)
    check_room(characters, vocabulary)
    joined = dict.fromkeys(left + right for left, right in merges)
    return Tokenizer([*CONTROLS, *BYTES, *sorted(characters), *joined], merges, normalization)


def load_tokenizer(path: Path | str) -> Tokenizer:
    """Read a tokenizer.json; raise ValueError for one that is not ours, or is damaged."""
    return parse_tokenizer(open_layout(path), path)


def parse_tokenizer(layout: Any, path: Path | str) -> Tokenizer:
    """Return the tokenizer that a file describes. ValueError, which names it, if damaged."""
    kind = name_kind(layout)
    if kind == "bpe":
        return Tokenizer(*read_layout(layout, path))
    tokenizer: Tokenizer = need_addition(f"tokenizer.{kind}", f"{path}").parse(layout, path)
    return tokenizer
