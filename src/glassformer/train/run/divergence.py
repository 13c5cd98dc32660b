"""Divergence: its detection from the loss of every update, and the recovery from it.

An update is bad if its loss or gradient is not finite, or if its loss is far above that of a
uniform distribution: IN_A_ROW bad updates are a divergence. A loss that has risen and stays high is
one too: of the latest WINDOW updates, ENOUGH are above a line, and the loss is not falling. A spike
from which the loss recovers is no divergence.

An update without a finite gradient is left out. When a training has diverged, it goes back to its
latest checkpoint, or to its beginning, and continues with CUT times the learning rate; after TRIES
returns it ends with an error. `returned.json` in the run's folder holds the latest return until a
later checkpoint does, so that a training that is killed in between resumes the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...config import BOS, EOS, PAD, Train
from ...data.batches import Batch
from ...foundation.disk import write_json
from ...foundation.typed_json import read_typed
from ...model.files.directory import Tokenizers
from ...text import Tokenizer
from ..plan.schedule import find_peak, usual_peak

if TYPE_CHECKING:
    from .checkpoint import Progress
    from .updates import Updater

IN_A_ROW = 5  # bad updates
FAR = 2.0  # times the loss of a uniform distribution, or of the first update where that was higher
WINDOW, ENOUGH = 20, 15  # latest updates; how many of them are above the line
RISE = 1.0  # nats from the lowest loss to the line, at least
SHARE = 1 / 3  # of the way from the lowest loss back to that of a uniform distribution, at least
HEALING = 0.1  # of the rise: if the later half of the window is so much lower, the loss is falling
TRIES = 3
CUT = 0.5
SHOWN = 5  # sentence pairs whose loss is not finite
RETURNED = "returned.json"
KEPT = ("skipped_in_all", "goings_back", "trouble_step", "rate_factor")  # of a return


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


def learn_from(wrong: Progress, back: Progress) -> None:
    """Copy into the progress `back` what a training keeps of `wrong` when it goes back."""
    back.skipped_in_all = wrong.skipped_in_all
    back.cpu_seconds, back.seconds = wrong.cpu_seconds, wrong.seconds
    back.goings_back, back.trouble_step = wrong.goings_back + 1, wrong.step
    back.rate_factor = wrong.rate_factor * CUT
    back.most_cells = wrong.most_cells


def find_culprits(
    updater: Updater, step: int, batches: Sequence[Batch], tokenizers: Tokenizers
) -> list[dict[str, Any]]:
    """Return the first few pairs whose loss is not finite: their numbers in the store, their texts.

    The list is empty if only a gradient is not finite, if most pairs have no finite loss, so that
    the network is at fault, or if the model is sharded.
    """
    found = [] if updater.is_sharded else updater.find_culprits(step, batches)
    if len(found) > max(1, sum(len(batch.rows) for batch in batches) // 2):
        found = []
    told = [
        {
            "pair": int(pair.rows[0]),
            "source": _read(pair.source_BS[0], tokenizers.source),
            "target": _read(pair.target_BT[0], tokenizers.target),
        }
        for pair in found[:SHOWN]
    ]
    return list(chain.from_iterable(updater.group.gather(told)))[:SHOWN]


def _read(ids: Iterable[int], tokenizer: Tokenizer) -> str:
    return tokenizer.decode([int(id) for id in ids if id not in (PAD, BOS, EOS)])


def tell_culprits(step: int, pairs: Sequence[Mapping[str, Any]]) -> str:
    with_whom = f", with the pair {shorten_sentence(pairs[0]['source'])}" if pairs else ""
    more = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
    return f"Update {step:,}: loss or gradient is not finite{with_whom}{more}; it is left out"


def tell_return(wrong: Progress, back: Progress, why: str) -> str:
    return (
        f"Update {wrong.step:,}: this training has diverged ({why}): going back to update "
        f"{back.step:,}, and on with {back.rate_factor:g} times the rate"
    )


def tell_lower_rate(progress: Progress, train: Train, d_model: int) -> str:
    """Return advice on the learning rate, for a training that ended with a lowered one."""
    lowered = find_peak(train, d_model) * progress.rate_factor
    rate = min(lowered, usual_peak(train.optimizer, d_model))  # a rate may be bad and not diverge
    return (
        f"It diverged on the way and went on with {progress.rate_factor:g} times the rate: "
        f"next time begin with train.learning_rate={rate:.2g}"
    )


def explain_divergence(
    progress: Progress, why: str, pairs: Sequence[Mapping[str, Any]], train: Train, d_model: int
) -> str:
    """Return the error message for a training that still diverges, with a plausible rate."""
    shown = (
        f", as with the pair {shorten_sentence(pairs[0]['source'])}"
        if pairs and progress.skipped
        else ""
    )
    return (
        f"update {progress.step}: this training has diverged ({why}{shown}), and going back "
        f"{TRIES} times, at last with {progress.rate_factor:g} times the rate, has not helped: "
        f"{advise(train, d_model)}"
    )


def advise(train: Train, d_model: int) -> str:
    """Return advice on what to change, by how far the peak rate is above a usual one."""
    peak, usual = find_peak(train, d_model), usual_peak(train.optimizer, d_model)
    if peak <= 2 * usual:
        precise = "" if train.precision == "fp32" else "train.precision=fp32, or "
        return (
            f"a highest rate of {peak:.2g} is usual, so look at the data with glassformer "
            f"check-data, and try {precise}train.learning_rate={peak / 10:.2g}"
        )
    cause = "train.learning_rate" if train.learning_rate else "the rate that train.warmup leads to"
    return (
        f"{cause} is {peak:g} at its highest; with {train.optimizer} and model.d_model={d_model} "
        f"try train.learning_rate={usual:.2g}"
    )


@dataclass(frozen=True)
class Return:
    """The latest return of a training: its step, the digest of data and settings, and the rate."""

    step: int
    key: str
    skipped_in_all: int
    goings_back: int
    trouble_step: int
    rate_factor: float


def note_return(folder: Path, back: Progress, key: str) -> None:
    """Write returned.json: the training went back to `back`; `key` is a digest of its settings."""
    kept = {name: getattr(back, name) for name in KEPT}
    write_json(folder / RETURNED, asdict(Return(back.step, key, **kept)))


def recall_return(folder: Path, progress: Progress, key: str) -> None:
    """Restore the lowered rate and the counts, if the progress is at the step of the latest return.

    `key` is a digest of data and settings: if these have changed, nothing is restored.
    """
    if not (folder / RETURNED).is_file():
        return
    found = read_typed(folder / RETURNED, Return)
    if (found.step, found.key) == (progress.step, key):
        for name in KEPT:
            setattr(progress, name, getattr(found, name))


def shorten_sentence(text: str, most: int = 60) -> str:
    return repr(text if len(text) <= most else text[: most - 3] + "...")
