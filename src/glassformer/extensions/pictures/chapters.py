"""The chapters in which pictures stand, and what each of them says about one recording."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

CHAPTERS = (  # the number of the last picture, and the titles
    (9, "The whole model", "整个模型"),
    (18, "Words become numbers", "词变成数"),
    (29, "Positions", "位置"),
    (38, "Self-attention, step by step", "自注意力，逐步"),
    (41, "Self-attention as matrices", "矩阵形式的自注意力"),
    (48, "Several heads", "多个头"),
    (55, "Attention on a sentence", "一句话上的注意力"),
    (62, "Masks and padding", "掩码与填充"),
    (69, "Feed-forward, residual, norm", "前馈、残差、归一化"),
    (73, "Layers on layers, and what they cost", "层层相叠及其开销"),
    (83, "The decoder writes", "解码器写作"),
    (91, "Training", "训练"),
    (102, "Before the Transformer", "Transformer 之前"),
    (106, "The code", "代码"),
    (111, "Questions, answered by experiment", "用实验回答的问题"),
    (113, "One number, and everything at once", "一个数，与全部"),
    (114, "Variants of attention", "注意力的变体"),
    (116, "One side alone", "只用一侧"),
    (999, "Why this word?", "为什么是这个词？"),
)
PLACES = {"V117": 102, "V118": 83}  # that are in another chapter than their number says
SPECIAL = re.compile(r'["$`\\!]')  # to a shell, between double quotes


class ShownPicture(NamedTuple):
    """A picture that was drawn: its number, what it finds, what it tells, and its file."""

    id: str
    finding: str
    told: str
    path: Path


def group_chapters(
    shown: Iterable[ShownPicture], lang: str = "en"
) -> list[tuple[str, list[ShownPicture]]]:
    """Return the titles of all chapters that have pictures, with their pictures."""
    rest, chapters = list(shown), []
    first = 0
    for last, en, zh in CHAPTERS:
        here = [e for e in rest if first < PLACES.get(e.id, int(e.id[1:])) <= last]
        chapters += [(zh if lang == "zh" else en, here)] if here else []
        first = last
    return chapters


def spell_command(id: str, model: str, typed: Sequence[str], lang: str = "en") -> str:
    """Return the command that draws a picture; typed: what recorded it, after the model."""
    words = map(_quote_readably, (model, *typed, "--picture", id))
    return " ".join(["glassformer see", *words, *(["--lang", lang] if lang != "en" else ())])


def _quote_readably(word: str) -> str:
    """Return one word of a shell's command, in double quotes if these are enough."""
    quoted = shlex.quote(word)
    return quoted if quoted == word or SPECIAL.search(word) else f'"{word}"'
