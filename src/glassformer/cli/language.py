"""The verbs `evaluate`, `score` and `info` for a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .terminal import show_progress, to_json

if TYPE_CHECKING:
    from ..language_model import LanguageModel
    from ..translator import Translator


def is_language_model(model: Path | None) -> bool:
    """Return whether a path, or the name of a model in the package, is a language model."""
    from ..config import Config
    from ..directory import CONFIG, locate

    path = locate(model) / CONFIG if model else None
    return bool(path and path.is_file() and Config.load(path).model.is_language_model)


def open_reader(model: Path, **how: Any) -> Translator | LanguageModel:
    """Return the translator, or the language model, of a model directory."""
    from ..directory import open_model, split_pair
    from ..language_model import LanguageModel
    from ..translator import Translator

    parts = open_model(split_pair(model)[0])
    if parts[0].model.is_language_model:
        return LanguageModel(*parts, **how)
    return Translator.load(model, **how)


def read_text(model: Path, files: Sequence[Path], **how: Any) -> tuple[LanguageModel, list[str]]:
    """Return a language model and the lines of its one text; ValueError for another number."""
    from ..data.files import read_lines
    from ..language_model import LanguageModel

    if len(files) != 1:
        raise ValueError(f"a language model reads one text, not {len(files)} files")
    return LanguageModel.load(model, **how), list(read_lines(files[0]))


def evaluate_text(model: Path, files: Sequence[Path], as_json: bool, **how: Any) -> str:
    """Return the scores of a language model on a text, or on labelled sentences."""
    from ..data.corpus import find_sentences
    from ..evaluate.language import score_text
    from ..language_model import CLASSIFIES

    reader, texts = read_text(model, files, **how)
    labels: Sequence[str] = ()
    if reader.ability == CLASSIFIES:
        pairs = [pair for pair in find_sentences(files[0]).train if all(pair)]
        texts, labels = [text for text, _ in pairs], [label for _, label in pairs]
    with show_progress("scoring", len(texts)) as tell:
        found = score_text(reader, texts, labels, progress=tell)
    if as_json:
        return to_json({"model": str(model), "lines": len(texts), **asdict(found)})
    rows = [*found.scores.items(), ("loss", found.loss)]
    told = "\n".join(f"{name:<12} {value:.3f}" for name, value in rows)
    return f"{told}\n{len(texts):,} lines, {found.signature}"


def score_lines(model: Path, files: Sequence[Path], as_json: bool, **how: Any) -> Iterator[str]:
    """Yield, for each line of a text, its log-probability."""
    reader, texts = read_text(model, files, **how)
    for text, scored in zip(texts, reader.score(texts), strict=True):
        yield to_json({"text": text, **scored._asdict()}) if as_json else f"{scored.log_prob:.6f}"
