"""Find what a translation reads in place of a source word that was cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .derive import group_words, mean_cross_attention, merge_words
from .document import Token
from .tokens import find_word_tokens
from .trace import Trace

if TYPE_CHECKING:
    from .whatif import EditEffect


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
    found = []
    for cut in cuts:
        keys = find_word_tokens(before.source, before.text, cut["word"], cut.get("occurrence"))
        query = cut.get("query")
        allowed = [n for n, row in enumerate(rows) if query is None or query in row]
        to_cut = merge_words(weights, rows, [keys])[:, 0]
        word = max(allowed, key=lambda row: to_cut[row])
        gained = shares_now[word] - shares[word]
        gained[[bool({*column} & {*keys}) for column in columns]] = -np.inf
        to = int(gained.argmax())
        found.append(
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
    return found


def _spell(text: str, tokens: Sequence[Token], group: Sequence[int]) -> str:
    """Return what tokens spell in a text, or the name of the mark that they are."""
    said = text[tokens[group[0]].start : tokens[group[-1]].end].strip()
    return said or tokens[group[0]].text


def _multiply(trace: Trace, rows: Sequence[int]) -> float:
    return math.exp(sum(trace.predictions[row].log_prob for row in rows))
