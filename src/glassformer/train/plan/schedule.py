"""Learning-rate schedules: that of the paper (5.3), cosine and linear decay, and plateau."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ...config import Train

PAPER_WARMUP = 4000
# How far the rate has fallen when a share of the updates after the warm-up is done.
FALLS: dict[str, Callable[[float], float]] = {
    "cosine": lambda done: (1 - math.cos(math.pi * done)) / 2,
    "linear": lambda done: done,
}
PEAKS = {"adam": 0.5, "muon": 1.0}  # divided by d_model: the highest rate of the recipe auto


def warmup_of(train: Train, steps: int) -> int:
    """Return the warm-up updates: as set, else the paper's 4000 or a tenth of a short training."""
    return train.warmup or max(1, min(PAPER_WARMUP, steps // 10))


def usual_peak(optimizer: str, d_model: int) -> float:
    """Return the highest rate that the recipe `auto` chooses."""
    return PEAKS[optimizer] / d_model


def find_peak(train: Train, d_model: int, steps: int) -> float:
    """Return the highest rate of a training of `steps` updates."""
    return train.learning_rate or (d_model * warmup_of(train, steps)) ** -0.5


def rate(step: float, train: Train, d_model: int, steps: int) -> float:
    """Return the rate of update `step`, counted from 1, of `steps`.

    The rate rises linearly to the peak, then falls: with inverse_sqrt as step ** -0.5 (the paper's
    equation 3 if the peak is not set); with cosine or linear, down to final_rate * peak at the last
    update, in each of `cycles` equal parts from the peak anew; with plateau, as `Plateau` says.
    `step` may be a fraction, in a training that was planned again (plan.py).
    """
    warmup = warmup_of(train, steps)
    peak = find_peak(train, d_model, steps)
    if step <= warmup:
        return peak * step / warmup
    if train.schedule == "inverse_sqrt":
        return peak * math.sqrt(warmup / step)
    if train.schedule == "plateau":
        return peak
    done = min((step - warmup) / max(steps - warmup, 1), 1.0) * train.cycles
    done -= math.ceil(done) - 1  # of this cycle: above 0, and 1 at its end
    return peak * (1 - FALLS[train.schedule](done) * (1 - train.final_rate))


@dataclass
class Plateau:
    """The factor on the rate that falls when the validation loss does not; checkpoints hold it."""

    factor: float = 1.0
    lowest: float | None = None  # loss
    sentences: int = 0  # that the lowest loss is of: one of other sentences does not compare
    since: int = 0  # validations since the lowest loss, or since the rate fell

    def observe(self, loss: float, sentences: int, train: Train) -> bool:
        """Take the loss of one more validation; return whether the rate falls after it."""
        if self.lowest is None or sentences != self.sentences or loss < self.lowest:
            self.lowest, self.sentences, self.since = loss, sentences, 0
            return False
        self.since += 1
        lower = max(self.factor * train.plateau_factor, train.final_rate)
        if self.since < train.plateau_patience or lower == self.factor:
            return False
        self.factor, self.since = lower, 0
        return True
