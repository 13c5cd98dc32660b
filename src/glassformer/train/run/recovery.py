"""The return of a training that has diverged to an earlier state, and what is said of it.

An update without a finite gradient is left out. When a training has diverged, it goes back to its
latest checkpoint, or to its beginning, and continues with CUT times the learning rate; after TRIES
returns it ends with an error. `returned.json` in the run's folder holds the latest return until a
later checkpoint does, so that a training that is killed in between resumes the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
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
    from .progress import Progress
    from .updates import Updater

TRIES = 3
CUT = 0.5
SHOWN = 5  # sentence pairs whose loss is not finite
RETURNED = "returned.json"
KEPT = ("skipped_in_all", "goings_back", "trouble_step", "rate_factor")  # of a return
# They describe the models that were written, which a return leaves there.
OF_MODELS = (
    *("best", "best_step", "best_sentences", "scores", "signature", "scored_sentences"),
    *("parent_loss", "initial", "kept_best"),
)


def learn_from(wrong: Progress, back: Progress) -> None:
    """Copy into the progress `back` what a training keeps of `wrong` when it goes back."""
    back.skipped_in_all = wrong.skipped_in_all
    back.cpu_seconds, back.seconds = wrong.cpu_seconds, wrong.seconds
    back.goings_back, back.trouble_step = wrong.goings_back + 1, wrong.step
    back.rate_factor = wrong.rate_factor * CUT
    back.most_cells = wrong.most_cells
    for name in OF_MODELS:
        setattr(back, name, getattr(wrong, name))


def find_culprits(
    updater: Updater, step: int, batches: Sequence[Batch], tokenizers: Tokenizers
) -> list[dict[str, Any]]:
    """Return the first few pairs whose loss is not finite: their numbers in the store, their texts.

    The list is empty if only a gradient is not finite, if most pairs have no finite loss, so that
    the network is at fault, or if the model is sharded.
    """
    results = [] if updater.is_sharded else updater.find_culprits(step, batches)
    if len(results) > max(1, sum(len(batch.rows) for batch in batches) // 2):
        results = []
    texts = [
        {
            "pair": int(pair.rows[0]),
            "source": _read(pair.source_BS[0], tokenizers.source),
            "target": _read(pair.target_BT[0], tokenizers.target),
        }
        for pair in results[:SHOWN]
    ]
    return list(chain.from_iterable(updater.group.gather(texts)))[:SHOWN]


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


def tell_lower_rate(progress: Progress, train: Train, d_model: int, steps: int) -> str:
    """Return advice on the learning rate, for a training that ended with a lowered one."""
    lowered = find_peak(train, d_model, steps) * progress.rate_factor
    rate = min(lowered, usual_peak(train.optimizer, d_model))  # a rate may be bad and not diverge
    return (
        f"It diverged on the way and went on with {progress.rate_factor:g} times the rate: "
        f"next time begin with train.learning_rate={rate:.2g}"
    )


def explain_divergence(
    progress: Progress, why: str, pairs: Sequence[Mapping[str, Any]], advice: str
) -> str:
    """Return the error message for a training that still diverges."""
    shown = ""
    if pairs and progress.skipped:
        shown = f", as with the pair {shorten_sentence(pairs[0]['source'])}"
    return (
        f"update {progress.step}: this training has diverged ({why}{shown}), and going back "
        f"{TRIES} times, at last with {progress.rate_factor:g} times the rate, has not helped: "
        f"{advice}"
    )


def advise(train: Train, d_model: int, steps: int) -> str:
    """Return advice on what to change, by how far the peak rate is above a usual one."""
    peak, usual = find_peak(train, d_model, steps), usual_peak(train.optimizer, d_model)
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
    result = read_typed(folder / RETURNED, Return)
    if (result.step, result.key) == (progress.step, key):
        for name in KEPT:
            setattr(progress, name, getattr(result, name))


def shorten_sentence(text: str, most: int = 60) -> str:
    return repr(text if len(text) <= most else text[: most - 3] + "...")
