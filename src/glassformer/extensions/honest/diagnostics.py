"""Diagnostics of a training that a student can call: `glassformer doctor MODEL --training`.

Each answers one question about a run that is still there: how much of the batches is padding; did
gradients vanish, explode or get clipped all the time; did the loss leave that of a network that
knows nothing, the logarithm of the vocabulary; is the validation text in the training text; are the
translations copies or repetitions.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from glassformer.config import Config
from glassformer.data.files import read_lines
from glassformer.data.masking import choose_batches
from glassformer.data.store import Store
from glassformer.foundation.extensions import need_addition
from glassformer.model.files.directory import RUN, locate, open_tokenizers
from glassformer.train.plan.preparation import find_corpora, weigh_parts
from glassformer.train.plan.run_folder import read_record, read_settings, read_valid
from glassformer.train.publish.health import HealthFinding
from glassformer.translator import Translator

from .comparison import find_twins
from .training_text import read_training

METRICS_FILE = "metrics.jsonl"
TRIED = 50  # batches, and sentences that are translated
MUCH_PADDING = 0.3  # of the cells
MUCH_CLIPPED = 0.5  # of the updates
VANISHED, EXPLODED = 1e-4, 100.0  # gradient norms
KNOWS_NOTHING = 0.9  # of the logarithm of the vocabulary
MANY_TWINS, MANY_COPIES, MANY_LOOPS = 0.05, 0.1, 0.1  # of the lines
REPEATED = re.compile(r"([^\W\d].{0,30}?)\1{3,}")  # begins with a letter, and four times in a row


def examine_training(model: Path | str) -> list[HealthFinding]:
    """Return the diagnostics of a training. ValueError if its run is not there."""
    folder = locate(model)
    record = read_record(folder)
    config = read_settings(folder / RUN, record)
    rows = list(read_metrics(folder / RUN / METRICS_FILE))
    return [
        examine_padding(folder / RUN, config),
        *examine_gradient(rows, config.train.max_grad_norm),
        *examine_loss(rows, len(open_tokenizers(folder / RUN, config).target)),
        *examine_contamination(folder),
        *examine_translations(folder),
    ]


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of the metrics of a run; a line that was cut by a kill is left out."""
    for line in read_lines(path) if path.is_file() else ():
        try:
            yield dict(json.loads(line))
        except ValueError:
            continue


def examine_padding(run: Path, config: Config) -> HealthFinding:
    """Return how much of the first batches, those of the first stage, is padding."""
    store, tokenizers = Store.open(run / "store"), open_tokenizers(run, config)
    sides, weights = (tokenizers.source, tokenizers.target), weigh_parts(config, store)
    batches = choose_batches(config, store, sides, weights)
    if config.data.stage:
        need_addition("stages", "data.stage")(batches, config, store, sides, weights)
    first = batches.at(0)
    taken = [first.batch(0, number) for number in range(min(TRIED, first.count(0)))]
    empty = sum(int((each.source_BS == 0).sum() + (each.target_BT == 0).sum()) for each in taken)
    share = empty / sum(each.cells for each in taken)
    advice = "a few very long lines? a smaller data.max_length, or a sentence a line"
    message = f"{share:.0%} of the cells of {len(taken)} batches"
    return HealthFinding("padding", message, advice if share > MUCH_PADDING else "")


def examine_gradient(rows: Sequence[dict[str, Any]], limit: float | None) -> list[HealthFinding]:
    """Return whether the gradients vanished, exploded or were clipped all the time."""
    norms = [each["gradient_norm"] for each in rows if each.get("gradient_norm") is not None]
    if not norms:
        return [HealthFinding("gradient", "no update was logged")]
    late = norms[len(norms) // 2 :]
    message = f"its norm is {median(late):.3g} in the second half, at most {max(norms):.3g}"
    advice = ""
    if not all(map(math.isfinite, norms)) or max(late) > EXPLODED:
        advice = "it explodes: a lower --learning-rate, a longer --warmup, --max-grad-norm 1"
    elif median(late) < VANISHED:
        advice = "it vanishes: nothing is learned any more; is the learning rate 0, or all frozen?"
    elif limit and sum(each > limit for each in late) > MUCH_CLIPPED * len(late):
        advice = f"most updates are clipped at {limit:g}: a lower --learning-rate says the same"
    return [HealthFinding("gradient", message, advice)]


def examine_loss(rows: Sequence[dict[str, Any]], vocabulary: int) -> list[HealthFinding]:
    """Return where the loss began and ended, beside that of a network that knows nothing."""
    losses = [each["valid loss"] for each in rows if each.get("valid loss") is not None]
    if not losses:
        return [HealthFinding("loss", "no validation was made")]
    nothing = math.log(vocabulary)
    message = f"{losses[-1]:.2f} on the validation text; who knows nothing has {nothing:.2f}"
    advice = ""
    if losses[-1] > KNOWS_NOTHING * nothing:
        advice = "nothing was learned: more updates, or lines that are not translations?"
    elif losses[-1] > 1.05 * min(losses):
        advice = f"it rose again from {min(losses):.2f}: more --dropout, or fewer updates"
    return [HealthFinding("loss", message, advice)]


def examine_contamination(folder: Path) -> list[HealthFinding]:
    """Return how much of the validation text is in the training text, or nearly."""
    training = read_training(folder, (), (None, None))
    if not training:
        return [HealthFinding("contamination", "the training text is no longer where it was")]
    source, target = read_valid(folder / RUN)
    record = read_record(folder)
    if find_corpora(record, read_settings(folder / RUN, record))[1] is None:
        held = {*zip(source, target, strict=True)}  # out of these files
        training = [pair for pair in training if pair not in held]
    twins = sum(find_twins(training, source, [target]))
    share = twins / len(source)
    advice = "the scores flatter: `night` splits so that near twins stay together"
    message = f"{twins:,} of {len(source):,} validation lines are (nearly) in the training text"
    return [HealthFinding("contamination", message, advice if share > MANY_TWINS else "")]


def examine_translations(folder: Path) -> list[HealthFinding]:
    """Return how many translations are copies of their sources, repeat themselves or are empty."""
    source, target = (each[:TRIED] for each in read_valid(folder / RUN))
    result = Translator.load(folder).translate(source, split=False, again=False)
    sides = [
        [" ".join(each.split()).casefold() for each in side] for side in (result, source, target)
    ]
    copies = sum(a == b != c for a, b, c in zip(*sides, strict=True))
    loops = sum(map(repeats_itself, result))
    empty = sum(not any(map(str.isalnum, each)) for each in result)
    advice = "" if copies <= MANY_COPIES * len(result) else "are source lines among the targets?"
    again = "" if loops <= MANY_LOOPS * len(result) else "usual at first: train longer"
    return [
        HealthFinding("copying", f"{copies} of {len(result)} translations are the source", advice),
        HealthFinding("repetition", f"{loops} of {len(result)} translations repeat a word", again),
        HealthFinding(
            "emptiness",
            f"{empty} of {len(result)} translations have no word",
            "" if empty <= MANY_LOOPS * len(result) else "usual at first: train longer",
        ),
    ]


def repeats_itself(text: str) -> bool:
    """Return whether some words or letters stand four times in a row."""
    return REPEATED.search(text) is not None
