"""Divergence: its detection from the loss of every update.

An update is bad if its loss or gradient is not finite, or if its loss is far above that of a
uniform distribution: IN_A_ROW bad updates are a divergence. A loss that has risen and stays high is
one too: of the latest WINDOW updates, ENOUGH are above a line, and the loss is not falling. A spike
from which the loss recovers is no divergence. `recovery` says what follows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

IN_A_ROW = 5  # bad updates
FAR = 2.0  # times the loss of a uniform distribution, or of the first update where that was higher
WINDOW, ENOUGH = 20, 15  # latest updates; how many of them are above the line
RISE = 1.0  # nats from the lowest loss to the line, at least
SHARE = 1 / 3  # of the way from the lowest loss back to that of a uniform distribution, at least
HEALING = 0.1  # of the rise: if the later half of the window is so much lower, the loss is falling


@dataclass
class DivergenceDetector:
    """A detector of divergence, whose state is stored in each checkpoint.

    A resumed training therefore decides as an uninterrupted one would.
    """

    uniform: float = 0.0  # the loss of a uniform distribution: ln V
    about: str = ""  # the digest of the data and settings that the losses belong to
    first: float | None = None  # loss
    lowest: float = 0.0  # median of WINDOW losses; before there are so many, the first loss
    recent: list[float] = field(default_factory=list)  # finite losses of the latest updates
    bad: int = 0  # latest updates in a row

    def observe(self, loss: float) -> str:
        """Take the loss of one more update, NaN if its gradient is not finite.

        Return why the training has diverged, as a clause; "" if it has not.
        """
        is_finite = math.isfinite(loss)
        if is_finite:
            self._remember(loss)
        self.bad = self.bad + 1 if not is_finite or loss > self.ceiling else 0
        if self.bad >= IN_A_ROW:
            return self._explain_bad(loss)
        if self._has_risen():
            return f"the loss was {self.lowest:.2f} and has stayed at {median(self.recent):.2f}"
        return ""

    @property
    def ceiling(self) -> float:
        """Return the loss above which an update is bad."""
        return FAR * max(self.uniform, self.first or 0.0)

    @property
    def line(self) -> float:
        """Return the loss above which the loss counts as risen."""
        return self.lowest + max(RISE, SHARE * (self.uniform - self.lowest))

    @property
    def is_blown_up(self) -> bool:
        """Return whether the latest finite loss is far above that of a uniform distribution."""
        return bool(self.bad and self.recent and self.recent[-1] > self.ceiling)

    @property
    def is_suspicious(self) -> bool:
        """Return whether the training may be diverging, though this is not certain yet."""
        latest = self.recent[-IN_A_ROW:]
        return bool(self.bad) or (len(latest) == IN_A_ROW and min(latest) > self.line)

    def _remember(self, loss: float) -> None:
        if self.first is None:
            self.first = self.lowest = loss
        self.recent = [*self.recent, loss][-WINDOW:]
        if len(self.recent) == WINDOW:
            self.lowest = min(self.lowest, median(self.recent))

    def _has_risen(self) -> bool:
        if sum(loss > self.line for loss in self.recent) < ENOUGH:
            return False
        half = len(self.recent) // 2
        fall = median(self.recent[:half]) - median(self.recent[half:])
        return fall < HEALING * (median(self.recent) - self.lowest)

    def _explain_bad(self, loss: float) -> str:
        if math.isfinite(loss):
            latest = f"a loss of {loss:,.4g}, where a uniform guess has {self.uniform:.2f}"
        else:
            latest = "a loss or gradient that is not finite"
        return f"{self.bad} updates in a row went wrong, the latest with {latest}"


def median(numbers: list[float]) -> float:
    """Return the middle one of some numbers; of an even count, the upper of the two."""
    return sorted(numbers)[len(numbers) // 2]
