"""The limits of a model, as its README.md says them: what it cannot do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from glassformer.config import Config
from glassformer.evaluate.quality import UNSPACED
from glassformer.foundation.plurals import tell_count
from glassformer.model.files.known_words import read_known_words
from glassformer.text.function_words import name_language
from glassformer.text.spacing import is_unspaced, name_base

MUCH = 0.2  # of BLEU: who loses so much on a kind of text cannot translate it
LEAST_BLEU = 1.0  # of text as it is: below, hardly a phrase of a translation is right
SURELY = 0.95  # of planted names, numbers and links: who keeps fewer loses some


def list_limits(folder: Path, config: Config, rows: Sequence[Any]) -> Iterator[str]:
    """Yield what a model cannot do, a sentence for each thing, by its settings and measurements.

    rows: of a table of robustness, with name, bleu, loss and kept.
    """
    pairs = (
        " to ".join(name_language(code) or code or "?" for code in pair)
        for pair in config.data.pairs
    )
    yield f"It translates {', '.join(pairs)}; text in another language becomes nonsense."
    if not config.data.context:
        yield "It reads each sentence for itself: a pronoun may have the gender of another noun."
    known = read_known_words(folder)
    if known:
        lang = config.data.pairs[0][0]
        is_cut = is_unspaced(lang) or name_base(lang) in UNSPACED
        words = tell_count(len(known), "different word")
        if is_cut:
            words = f"{len(known):,} different characters and words"
        yield f"It met {words} in training, and puts others together from tokens, often wrongly."
    if is_unspaced(config.data.target_lang):
        yield "Names in Latin letters have no stand-ins: it may spell them wrong."
    if rows and rows[0].bleu is not None and rows[0].bleu < LEAST_BLEU:
        yield f"It has learned next to nothing: its BLEU on the test lines is {rows[0].bleu:.2f}."
    for row in rows:
        if (message := _tell_loss(row)) is not None:
            yield message


def _tell_loss(row: Any) -> str | None:
    """Return a sentence on a kind of text that a model is bad at; None if it is not."""
    if row.loss is not None and row.loss >= MUCH:
        return f"On text with {row.name} it loses {100 * row.loss:.0f} % of its BLEU."
    if row.kept is not None and row.kept < SURELY:
        if row.bleu is None:
            return f"It translates {100 * row.kept:.0f} % of {row.name} soundly."
        return f"In lines with {row.name} it repeats that in {100 * row.kept:.0f} %."
    return None
