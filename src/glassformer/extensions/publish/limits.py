"""The limits of a model, as its README.md says them: what it cannot do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.config import Config
from glassformer.evaluate.references import has_no_spaces
from glassformer.foundation.plurals import tell_count
from glassformer.model.files.known_words import read_known_words
from glassformer.text.function_words import name_language
from glassformer.text.spacing import is_unspaced

from .languages import counts_characters, name_score

MUCH = 0.2  # of BLEU: who loses so much on a kind of text cannot translate it
# Below, hardly a phrase of a translation is right. Characters match by chance, too: what repeats
# common ones has a BLEU of some 20, so that chrF++ decides there, beside that of the memory.
LEAST_BLEU, LEAST_BY_CHARACTERS, LEAST_CHRF = 1.0, 5.0, 20.0
SURELY = 0.95  # of planted names, numbers and links: who keeps fewer loses some


def list_limits(
    folder: Path, config: Config, rows: Sequence[Any], report: Any = None
) -> Iterator[str]:
    """Yield what a model cannot do, a sentence for each thing, by its settings and measurements.

    rows: of a table of robustness, with name, bleu, loss and kept. report: on a test text.
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
        is_cut = has_no_spaces(lang)
        words = tell_count(len(known), "different word")
        if is_cut:
            words = f"{len(known):,} different characters and words"
        yield f"It met {words} in training, and puts others together from tokens, often wrongly."
    if is_unspaced(config.data.target_lang):
        yield "Names in Latin letters have no stand-ins: it may spell them wrong."
    by_characters = counts_characters(config.data.target_lang)
    judgement = list[str]()
    if report:
        judgement += judge_scores(report.scores, report.memory, by_characters)
    elif rows and rows[0].bleu is not None:
        judgement += judge_scores({"BLEU": (rows[0].bleu, 0.0)}, None, by_characters)
    yield from judgement
    for row in rows:
        if row.bleu is None and judgement:
            continue  # short nonsense may have the right form
        if (message := _tell_loss(row, name_score("BLEU", by_characters))) is not None:
            yield message


def judge_scores(
    scores: Mapping[str, tuple[float, float]], memory: float | None, by_characters: bool
) -> Iterator[str]:
    """Yield a sentence each if scores are next to nothing, and no better than the memory's.

    scores: each with half the width of its interval. memory: the chrF++ of the targets of the
    nearest training sources. by_characters: BLEU is of these.
    """
    bleu, (chrf, half) = scores["BLEU"][0], scores.get("chrF++", (100.0, 0.0))
    is_behind = memory is not None and chrf - half <= memory
    numbers = f"its {name_score('BLEU', by_characters)} on the test lines is {bleu:.2f}"
    if "chrF++" in scores:
        numbers += f", its chrF++ {chrf:.2f}"
    least = LEAST_BY_CHARACTERS if by_characters else LEAST_BLEU
    if bleu < least or (is_behind and chrf < LEAST_CHRF):
        yield f"It has learned next to nothing: {numbers}."
    if is_behind:
        yield (
            f"It is not clearly better than a look-up: its chrF++ is {chrf:.2f} ± {half:.2f}, and "
            f"the targets of the nearest training sources have {memory:.2f}; more pairs, more time "
            "or a start from another model may help."
        )


def _tell_loss(row: Any, bleu: str) -> str | None:
    """Return a sentence on a kind of text that a model is bad at; None if it is not."""
    if row.loss is not None and row.loss >= MUCH:
        return (
            f"On text with {row.name} it loses {100 * row.loss:.0f} % of the {bleu} that its "
            "translations of the text as it is, changed alike, have."
        )
    if row.kept is not None and row.kept < SURELY:
        if row.bleu is None:
            return (
                f"In {100 - 100 * row.kept:.0f} % of {row.name} it doubles a word, writes nothing "
                "or far too much, or changes a number or an emoji."
            )
        return f"In lines with {row.name} it repeats that in {100 * row.kept:.0f} %."
    return None
