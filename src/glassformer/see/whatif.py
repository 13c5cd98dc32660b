"""Compare a recording before and after edits: translation, probabilities and tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..translator import Translator
from .reading import ReadInstead, find_readings
from .recording import record
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
        found: dict[str, float | None] = {}
        for name in self.before.names():
            one, other = self.before[name], self.forced[name]
            found[name] = None
            if one.shape == other.shape:
                found[name] = float(np.abs(one.astype(np.float64) - other).max())
        return found

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
    translator: Translator, text: str, edits: Iterable[Mapping[str, Any]], **how: Any
) -> EditEffect:
    """Record a text as it is and as edited; `how` is passed on to `record`."""
    edits = list(edits)
    before = record(translator, text, **how)
    level = {"level": how["level"]} if "level" in how else {}
    forced = record(translator, before.text, target=before, edits=edits, **level)
    return EditEffect(before, forced, record(translator, text, edits=edits, **how))
