"""The sentences whose mean a circuit is compared with: a model's own examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.foundation.disk import read_json
from glassformer.model.files.directory import GOLDEN

from .edges import WordContrast

if TYPE_CHECKING:
    from glassformer.translator import Translator


def list_examples(folder: Path | None) -> list[str]:
    """Return the examples that a model directory keeps, in the source language; [] without any."""
    golden = (folder or Path()) / GOLDEN
    return [each["source"] for each in read_json(golden)["lines"]] if golden.is_file() else []


def record_questions(translator: Translator, texts: Sequence[str]) -> list[WordContrast]:
    """Return sentences with the model's own translations, as an `EdgeNetwork` reads them."""
    questions = []
    for text in texts:
        trace = translator.see(text, level="attention")
        source, target = (tuple(each.id for each in side) for side in (trace.source, trace.target))
        questions.append(WordContrast(source, target, (0, 1)))
    return questions
