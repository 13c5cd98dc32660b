"""The questions of the exam, in any direction, and the corpus that the package ships."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from glassformer.extensions.demo import corpus as demo

from . import NOTES, Note, Split, accepted, pairs, pronoun_items

SEED = 2026  # of the questions
PAIRS: dict[Split, int] = {"train": 40_000, "valid": 100}
QUESTIONS: dict[Split, int] = {"valid": max(demo.REHEARSAL), "test": 1000}  # of each kind


def ask_sentences(
    source: str, target: str, count: int, split: Split = "test"
) -> dict[str, list[str]]:
    """Return held-out sentences with every translation that the grammar allows."""
    return {
        text: sorted(accepted(text, source, target))
        for text, _ in pairs(source, target, count, SEED, split)
    }


def ask_notes(source: str, target: str) -> dict[str, list[str]]:
    """Return the sentences of NOTES with every translation that the grammar allows."""
    texts = (speak(note, source) for note in NOTES)
    return {text: sorted(accepted(text, source, target)) for text in texts}


def ask_riddles(source: str, count: int, split: Split = "test") -> dict[str, str]:
    """Return held-out riddles with the French pronoun that is right, il or elle."""
    return {item.source: item.right for item in pronoun_items(count, SEED, split, source)}


def speak(note: Note, language: str) -> str:
    return str(getattr(note, language))


def make_corpus() -> list[Any]:
    """Return the fields of the corpus from English to French, as JSON holds them."""
    drawn = {split: pairs("en", "fr", count, 1, split) for split, count in PAIRS.items()}
    return [
        {split: [list(pair) for pair in rows] for split, rows in drawn.items()},
        ask_notes("en", "fr"),
        {split: ask_sentences("en", "fr", count, split) for split, count in QUESTIONS.items()},
        {split: ask_riddles("en", count, split) for split, count in QUESTIONS.items()},
    ]


def write_corpus(path: Path = demo.FILE) -> None:
    """Write the file that the package ships."""
    text = json.dumps(make_corpus(), ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
