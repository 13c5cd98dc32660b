"""The trainings and translations of a night; each goes on where a kill left it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from glassformer.config import Config, Decode
from glassformer.data.files import count_lines
from glassformer.evaluate.quality import score_quality
from glassformer.extensions.ideas.augmentation import Augmentation, make_pairs
from glassformer.foundation.extensions import list_additions
from glassformer.foundation.progress import Reporter
from glassformer.model.files.directory import CHECKPOINTS, CONFIG, RECORD, RUN, open_model
from glassformer.train import Summary, resume, train
from glassformer.train.plan.hooks import Event, Hooks
from glassformer.train.plan.init_from import inherit
from glassformer.train.plan.run_folder import read_record, read_settings
from glassformer.train.run.checkpoint import checkpoints, read_progress
from glassformer.translator import Translator

BEAM = 4  # of models whose own search is greedy
WARM, FEWEST, ENOUGH = 3, 8, 8.0  # updates before the speed is measured, those that do, seconds
KNOWN = 200  # pairs of which it is measured whether a model repeats them
SHARD = 500  # lines: what a kill loses at most
METRICS = ("BLEU", "chrF++")


@dataclass(frozen=True)
class TrainingJob:
    """A training of a night: its corpora, each with a tag or None, and what it starts from."""

    out: Path
    langs: tuple[str, str]
    corpora: Sequence[tuple[Sequence[str], str | None]]
    valid: Sequence[str]
    minutes: float
    seed: int
    size: str | None = None
    parent: Path | None = None
    has_new_tokens: bool = True  # of a parent: the vocabulary of these pairs
    pace: float = 1.0  # of the learning rate
    changes: Sequence[str] = field(default_factory=tuple)


def measure_speed(job: TrainingJob, device: str = "auto") -> float:
    """Return the source and target tokens a second of a training, by its first updates.

    KeyboardInterrupt if it was told to stop.
    """
    speeds = list[float]()
    began = time.perf_counter()

    def is_enough(event: Event) -> bool:
        nonlocal began
        if event.kind == "update":
            speeds.append(event.values["tokens_per_second"])
        if len(speeds) <= WARM:
            began = time.perf_counter()
        return len(speeds) >= WARM + FEWEST and time.perf_counter() - began >= ENOUGH

    hooks = Hooks(callback=is_enough, name="speed")
    if not begin_training(job, device, quiet=True, hooks=hooks).is_finished:
        raise KeyboardInterrupt
    return median(speeds[min(WARM, len(speeds) - 1) :])


def run_training(job: TrainingJob, device: str = "auto") -> Summary:
    """Begin a training, or resume it with its minutes or those of the job, if these are less.

    Minutes that an earlier call has written may be others than those of the checkpoint.
    """
    if (job.out / RUN / RECORD).is_file():
        planned = read_settings(job.out / RUN, read_record(job.out)).train.minutes
        is_cut = planned is not None and job.minutes < planned
        changes = [f"train.minutes={job.minutes:.3f}"] if is_cut else []
        with hide_addition("examine_corpus"):
            return resume(job.out, changes=changes, accept_changed_settings=True, device=device)
    if (job.out / CONFIG).exists():  # a model without its training: it cannot go on
        shutil.rmtree(job.out)
    return begin_training(job, device)


def begin_training(job: TrainingJob, device: str = "auto", **keywords: Any) -> Summary:
    """Begin a training; keywords are further ones of `train`."""
    if job.parent:
        keywords |= {"parent": job.parent, "new_tokens": job.has_new_tokens}
    with hide_addition("examine_corpus"):
        return train(settle_config(job), [], job.out, valid=[*job.valid], device=device, **keywords)


@contextmanager
def hide_addition(point: str) -> Iterator[None]:
    """Let the core do without an addition: a training does not check pairs that a night checked.

    Its lines would be those of files that nobody but the night has written.
    """
    additions = list_additions()
    place = additions.pop(point, None)
    try:
        yield
    finally:
        if place:
            additions[point] = place


def read_spent(out: Path) -> float:
    """Return the minutes that a training has spent until its last checkpoint that can be read."""
    for path in reversed(checkpoints(out / RUN / CHECKPOINTS)):
        with suppress(ValueError):
            return read_progress(path).spent / 60
    return 0.0


def settle_config(job: TrainingJob) -> Config:
    """Return the settings of a training: those of auto, or of the model that it starts from."""
    corpora = [name_corpus(*each) for each in enumerate(job.corpora, 1)]
    langs = dict(zip(("source_lang", "target_lang"), job.langs, strict=True))
    ends: dict[str, Any] = {"minutes": job.minutes, "seed": job.seed, "steps": None, "epochs": None}
    if not job.parent:
        raw = {"recipe": "auto", "size": job.size or "auto"}
        config = Config.read(raw, job.changes)
    else:
        config = inherit(job.parent, job.changes)
        if job.pace != 1 and config.train.learning_rate:
            ends["learning_rate"] = job.pace * config.train.learning_rate
    return config.changed(data={**langs, "corpus": corpora}, train=ends)


def name_corpus(number: int, corpus: tuple[Sequence[str], str | None]) -> dict[str, Any]:
    """Return the table of a corpus in the settings: name, paths, and tag if it has one."""
    paths, tag = corpus
    named = {"name": f"{Path(paths[0]).stem}-{number}", "paths": [*paths]}
    return named | ({"tag": tag} if tag else {})


def make_corpus(
    models: Sequence[Path],
    kind: str,
    text: Path,
    out: Path,
    report: Reporter,
    progress: Callable[[int], object] = lambda lines: None,
) -> Path:
    """Write pairs that an ensemble makes of a text, unless they are there; return their path.

    kind: back or forward, as `augment` has them. progress is called with the lines of each part.
    """
    if out.is_file():
        return out
    job = Augmentation(
        models=[str(each) for each in models],
        source=str(text),
        kind=kind,
        decode=choose_search(models[0]).model_dump(),
        shard_lines=SHARD,
    )
    with report.counting("translating", count_lines(text)) as tell:

        def count(lines: int) -> None:
            tell(lines)
            progress(lines)

        make_pairs(job, out, progress=count)
    return out


def choose_search(model: Path) -> Decode:
    """Return the search by which a model makes pairs: its own, or a beam if that is greedy."""
    decode = open_model(model)[0].decode
    return decode if decode.search == "beam" else decode.override({"search": "beam", "beam": BEAM})


def time_sentence(
    models: Sequence[Path], sentences: Sequence[str], clock: Callable[[], float]
) -> float:
    """Return the seconds that an ensemble takes for a sentence when `make_corpus` runs it."""
    translator, decode = Translator.load(models), choose_search(models[0])
    translator.translate(sentences[0], decode=decode)  # the first one of a process takes longer
    began = clock()
    translator.translate([*sentences], decode=decode)
    return max(1e-4, (clock() - began) / len(sentences))


def measure_copies(model: Path, pairs: tuple[Sequence[str], Sequence[str]]) -> float:
    """Return which share of pairs a model translates word by word as they are, by a sample."""
    source, target = (side[:: max(1, len(side) // KNOWN)] for side in pairs)
    translations = Translator.load(model).translate([*source])
    same = sum(one == other for one, other in zip(translations, target, strict=True))
    return same / max(1, len(source))


def score_models(
    models: Sequence[Path], pairs: tuple[Sequence[str], Sequence[str]], **keywords: Any
) -> dict[str, float]:
    """Return BLEU and chrF++ of a model, or of an ensemble, on a text."""
    translator = Translator.load(models if len(models) > 1 else models[0], **keywords)
    result = translator.translate([*pairs[0]])
    lang = translator.config.data.target_lang
    quality = score_quality(result, [pairs[1]], target_lang=lang, metrics=METRICS)
    return {name: quality[name].value for name in METRICS}
