"""Compare a recording before and after edits: translation, probabilities and tensors.

Where a source word was cut, find what the translation reads in its place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..translate.stages import TranslationStages
from .derive import group_words, mean_cross_attention, merge_words
from .document import Token
from .recording import record
from .tokens import find_word_tokens
from .trace import Trace


class Change(NamedTuple):
    """The probability of one token of the original translation, before and after an edit."""

    token: str
    before: float
    after: float
    instead: str  # the most probable token after the edit


@dataclass(frozen=True)
class EditEffect:
    """The effect of edits: a recording, the same translation under edits, and a new translation."""

    before: Trace
    forced: Trace  # edited, along the translation before: row by row the same tokens
    after: Trace  # edited, with a translation of its own

    @property
    def changes(self) -> list[Change]:
        """Return the change of probability at each row of the decoder."""
        rows = zip(
            self.before.predicted, self.before.predictions, self.forced.predictions, strict=True
        )
        return [
            Change(token.text, math.exp(one.log_prob), math.exp(other.log_prob), other.texts[0])
            for token, one, other in rows
        ]

    @property
    def differences(self) -> dict[str, float | None]:
        """Return the largest difference of each tensor; None if its shape has changed."""
        results: dict[str, float | None] = {}
        for name in self.before.names():
            one, other = self.before[name], self.forced[name]
            results[name] = None
            if one.shape == other.shape:
                results[name] = float(np.abs(one.astype(np.float64) - other).max())
        return results

    @property
    def readings(self) -> list[ReadInstead]:
        """Return what the translation reads in place of each word that was cut."""
        return find_readings(self)

    def to_json(self) -> dict[str, Any]:
        return {
            "edits": list(self.after.edits),
            "before": self.before.translation,
            "after": self.after.translation,
            "tokens": [change._asdict() for change in self.changes],
            "readings": [each._asdict() for each in self.readings],
            "differences": self.differences,
        }


def compare_traces(
    translator: TranslationStages, text: str, edits: Iterable[Mapping[str, Any]], **options: Any
) -> EditEffect:
    """Record a text as it is and as edited; `options` are passed on to `record`."""
    edits = list(edits)
    before = record(translator, text, **options)
    level = options.get("level", "everything")
    forced = record(translator, before.text, target=before, edits=edits, level=level)
    return EditEffect(before, forced, record(translator, text, edits=edits, **options))


class ReadInstead(NamedTuple):
    """The word of the translation that read a cut word most, and what it reads instead.

    Shares are of its cross-attention, the mean of all layers and heads (derived).
    """

    cut: str  # the source word
    word: str  # of the translation before the edit
    share: float  # of its attention to the cut word, before
    before: float  # the probability of `word` as it was
    after: float  # and under the edits
    instead: str  # the source word, or mark, whose share grew most
    instead_before: float
    instead_after: float


def find_readings(effect: EditEffect) -> list[ReadInstead]:
    """Return what happened at each cut; [] if other edits changed the source too."""
    before, forced = effect.before, effect.forced
    cuts = [edit for edit in forced.edits if edit["do"] == "cut"]
    if not cuts or [token.id for token in before.source] != [token.id for token in forced.source]:
        return []
    rows = group_words(before.predicted, before.translation)
    columns = group_words(before.source, before.text)
    weights = mean_cross_attention(before)
    shares, shares_now = (
        merge_words(each, rows, columns) for each in (weights, mean_cross_attention(forced))
    )
    readings = []
    for cut in cuts:
        keys = find_word_tokens(before.source, before.text, cut["word"], cut.get("occurrence"))
        query = cut.get("query")
        allowed = [n for n, row in enumerate(rows) if query is None or query in row]
        to_cut = merge_words(weights, rows, [keys])[:, 0]
        word = max(allowed, key=lambda row: to_cut[row])
        gained = shares_now[word] - shares[word]
        gained[[bool({*column} & {*keys}) for column in columns]] = -np.inf
        to = int(gained.argmax())
        readings.append(
            ReadInstead(
                cut=cut["word"],
                word=_spell(before.translation, before.predicted, rows[word]),
                share=float(to_cut[word]),
                before=_multiply(before, rows[word]),
                after=_multiply(forced, rows[word]),
                instead=_spell(before.text, before.source, columns[to]),
                instead_before=float(shares[word, to]),
                instead_after=float(shares_now[word, to]),
            )
        )
    return readings


def _spell(text: str, tokens: Sequence[Token], group: Sequence[int]) -> str:
    """Return what tokens spell in a text, or the name of the mark that they are."""
    words_read = text[tokens[group[0]].start : tokens[group[-1]].end].strip()
    return words_read or tokens[group[0]].text


def _multiply(trace: Trace, rows: Sequence[int]) -> float:
    return math.exp(sum(trace.predictions[row].log_prob for row in rows))
