"""Starting and resuming a training, and the files that are written when it ends."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from ..config import Config
from ..data.in_memory import Rows, keep_pairs
from ..foundation.machine.device import free_memory, keep_memory
from ..foundation.machine.properties import describe_machine
from ..foundation.progress import Reporter
from ..foundation.version import __version__
from ..model.files.directory import RECORD, RUN, WEIGHTS
from ..model.files.known_words import copy_known_words
from .plan.goal import Goal
from .plan.hooks import NONE, Hooks
from .plan.init_from import InitModel
from .plan.plan import tell_few, tell_shortfall
from .plan.preparation import PreparedRun, prepare_run
from .plan.run_folder import PAIRS, begin_run, open_run, read_record, read_settings
from .publish.card import hash_files, write_card
from .publish.golden import write_golden
from .publish.leftovers import measure_run
from .run.distributed import ProcessGroup, check_shared, join_group, sign, was_begun_by
from .run.loop import Loop
from .run.process import hold_lock, limit_memory, listen_for_stop, repeat_bits
from .run.progress import Progress
from .run.recovery import tell_lower_rate
from .run.resuming import look_before
from .run.settle import settle

INNER = ("detector", "plateau", "kept_best", "loss_scale")  # of the progress: not for reports


@dataclass(frozen=True)
class Summary:
    """The outcome of a training."""

    out: Path
    progress: Progress
    steps: int
    is_finished: bool
    text: str  # for people
    is_first: bool = True  # the first process of the group, which alone reports

    def to_json(self) -> dict[str, Any]:
        fields = asdict(self.progress)
        return {
            "out": str(self.out),
            "finished": self.is_finished,
            "steps": self.steps,
            **{name: value for name, value in fields.items() if name not in INNER},
        }


def train(
    config: Config,
    data: Sequence[str | Path] = (),
    out: Path | str = "",
    *,
    pairs: Rows | Mapping[str, Rows] | None = None,
    valid: Sequence[str | Path] | None = None,
    parent: Path | str | None = None,
    new_tokens: bool = False,
    init_from: Sequence[Path | str] = (),
    alignments: Path | str | None = None,
    lm_prior: Path | str | None = None,
    teachers: Sequence[Path | str] = (),
    subwords: Sequence[Path | str] = (),
    device: str = "auto",
    quiet: bool = False,
    began: float | None = None,
    goal: Goal | None = None,
    hooks: Hooks = NONE,
) -> Summary:
    """Train a model on `data`, write it to the model directory `out`, and return the outcome.

    `data` and `valid` are as for `data.corpus.find_data`; several corpora are written as on the
    command line, "web:3" or "made,weight=0.5,tag=bt", or stand in the settings. Without `valid`,
    and if the data folder has none, pairs are held out. `pairs`, instead of `data`, are in memory:
    see `data.in_memory.keep_pairs`. `parent` is a model directory to start from, with its tokens
    or, if `new_tokens`, with tokens learned from `data`; `init_from.inherit` returns its settings.
    `init_from` are models of which parts are taken by name. `alignments` is a
    Pharaoh file with a line for each pair of `data`, for guided alignment; `lm_prior` is a language
    model with the target's tokens. `teachers` are models whose translations of the sources, as an
    ensemble, take the place of the targets. `subwords` are SentencePiece models or BPE codes that
    are the vocabulary, one or one for each side.
    `began` is the time.perf_counter() from which train.minutes count, if it is not now.
    `goal` can end the training before its last update. `hooks` are functions of your own.
    Raises ValueError, in one sentence, for bad input.
    """
    if not str(out):
        raise ValueError("out is missing: name the folder that the model goes to")
    if pairs is not None and data:
        raise ValueError("data and pairs both say what to learn from: give one of them")
    out, began = Path(out), time.perf_counter() if began is None else began
    hooks.register()
    config = hooks.sign(config)
    with ExitStack() as stack:
        group = stack.enter_context(join_group(device))
        report = Reporter(quiet or not group.is_first)
        stack.enter_context(_say_resuming(out, report))
        with group.first_of_all():
            stack.enter_context(hold_lock(out / RUN))
            check_shared(group, out / RUN)
            if not group.is_first:
                prepared = prepare_run(out, report)
            elif was_begun_by(group, out / RUN):  # a restart by torchrun, after a process died
                look_before(out, report)
                prepared = prepare_run(out, report)
            else:
                with begin_run(out):
                    start = None if parent is None else InitModel.load(parent, config, new_tokens)
                    if pairs is not None:
                        data, valid = _keep_pairs(out / RUN / PAIRS, pairs, config, valid)
                    ideas = {"alignments": alignments, "lm_prior": lm_prior, "teachers": teachers}
                    open_run(out, config, data, valid, start, init_from, subwords, ideas)
                    sign(group, out / RUN)
                    prepared = prepare_run(out, report)
        return _run(out, prepared, report, device, group, began, goal, hooks)


@contextmanager
def _say_resuming(out: Path, report: Reporter) -> Iterator[None]:
    """Say how to go on after a Ctrl-C that ends everything at once, if there is a run."""
    try:
        yield
    except KeyboardInterrupt:
        if (out / RUN / RECORD).exists():
            report.say(f"Stopped. To go on: glassformer train --resume {out}")
        raise


def _keep_pairs(
    folder: Path,
    pairs: Rows | Mapping[str, Rows],
    config: Config,
    valid: Sequence[str | Path] | None,
) -> tuple[list[str], Sequence[str | Path] | None]:
    """Write pairs that are in memory to the run's folder; return what data and valid are then."""
    files = keep_pairs(folder, pairs, (config.data.source_lang, config.data.target_lang))
    if not files:
        raise ValueError("pairs is empty: there is nothing to train on")
    held_out = files.pop("valid", None)
    if not files:
        raise ValueError("pairs has only a validation text: there is nothing to train on")
    if held_out and not valid:
        valid = [str(held_out)]
    if "train" in files:  # the splits of a data set; its test set stays aside
        files = {"train": files["train"]}
    return [str(path) for path in files.values()], valid


def resume(
    out: Path | str,
    *,
    changes: Sequence[str] = (),
    accept_changed_data: bool = False,
    accept_changed_settings: bool = False,
    device: str = "auto",
    quiet: bool = False,
    began: float | None = None,
    goal: Goal | None = None,
    hooks: Hooks = NONE,
) -> Summary:
    """Resume the training in `out` from its latest checkpoint, and return the outcome.

    The weights are the same, bit for bit, as if it had never stopped (on the same machine, torch
    and number of threads). ValueError if its data or settings have changed, unless that is
    accepted; `changes` are settings to change, like `train.steps=500`; `began`, `goal` and `hooks`
    are as for `train`.
    """
    out, began = Path(out), time.perf_counter() if began is None else began
    accepted = {"accept_data": accept_changed_data, "accept_settings": accept_changed_settings}
    with ExitStack() as stack:
        group = stack.enter_context(join_group(device))
        report = Reporter(quiet or not group.is_first)
        stack.enter_context(_say_resuming(out, report))
        with group.first_of_all():
            check_shared(group, out / RUN)
            hooks.register()
            hooks.check(read_settings(out / RUN, read_record(out)))
            stack.enter_context(hold_lock(out / RUN))
            if group.is_first:
                look_before(out, report, changes, **accepted)
            prepared = prepare_run(out, report)
        _say_differences(prepared, report)
        return _run(out, prepared, report, device, group, began, goal, hooks)


def _run(
    out: Path,
    prepared: PreparedRun,
    report: Reporter,
    device: str,
    group: ProcessGroup,
    began: float,
    goal: Goal | None,
    hooks: Hooks,
) -> Summary:
    result = group.choose_device(device)
    began = group.sum(began if group.is_first else 0.0)[0]
    keep_memory()
    try:
        same = repeat_bits(prepared.config.train.deterministic)
        with limit_memory(result, group.local_size), same:
            setup, plan = settle(out, prepared, result, group, report, began, hooks)
            loop = Loop(setup, plan, began, goal)
            with listen_for_stop(loop.ask_to_stop):
                progress = loop.run()
    except OSError as error:  # a full disk, most likely; what was saved is intact
        message = f"{error.strerror or error}; then go on with: glassformer train --resume {out}"
        raise OSError(error.errno, message, error.filename or str(out)) from None
    free_memory()  # for the translations that follow
    is_finished = not loop.stopped or progress.step >= loop.steps
    if group.is_first and (out / WEIGHTS).is_file():
        _write_card(out, prepared, progress, loop)
    if is_finished:
        text = f"{_tell_scores(progress, loop)}\nThe model is in {out}"
        text += f"\n{out / RUN} has {measure_run(out)}; to remove it: glassformer forget {out}"
        text += "".join(f"\n{each}" for each in _tell_too_little(progress, loop))
        if progress.rate_factor != 1:
            settings = loop.config.train, loop.config.model.d_model
            text += f"\n{tell_lower_rate(progress, *settings, loop.plan.planned)}"
    else:
        text = (
            f"Stopped after update {progress.step:,} of {loop.steps:,}. "
            f"To go on: glassformer train --resume {out}"
        )
    return Summary(out, progress, loop.steps, is_finished, text, group.is_first)


def _tell_scores(progress: Progress, loop: Loop) -> str:
    """Return, in words, which model was kept, and its scores."""
    scores = ", ".join(f"{name} {value:.2f}" for name, value in progress.scores.items())
    valid, scored = len(loop.setup.prepared.valid[0]), progress.scored_sentences
    on = "the validation text" if scored >= valid else f"{scored:,} of {valid:,} validation pairs"
    best = f"Best on {on} after" if loop.selection.can_choose else f"On {on}, after"
    return f"{best} update {progress.best_step:,}: {scores}"


def _tell_too_little(progress: Progress, loop: Loop) -> Iterator[str]:
    """Yield sentences about a training that was too short to teach much, and what to do."""
    share = None
    if loop.setup.device.type == "cpu" and progress.seconds:
        threads = max(1, torch.get_num_threads()) * loop.group.size
        share = progress.cpu_seconds / (progress.seconds * threads)
    is_over = loop.plan.limits.seconds is not None and progress.step >= loop.steps
    if is_over and (shortfall := tell_shortfall(loop.plan, progress.step, share)):
        yield shortfall
    if few := tell_few(progress.step, loop.setup.has_parent):
        yield few


def _say_differences(prepared: PreparedRun, report: Reporter) -> None:
    """Report how the machine differs from that which began: weights will then differ slightly."""
    then, now = prepared.record["machine"], describe_machine()
    for name in now:
        if then.get(name) != now[name]:
            report.say(
                f"Note: this began with {name} {then.get(name)} and goes on with {now[name]}; "
                "the last bits of the weights will differ"
            )


def _write_card(out: Path, prepared: PreparedRun, progress: Progress, loop: Loop) -> None:
    """Write the model card, words.txt, and golden.json, which depends on it: names are copied."""
    copy_known_words(out / RUN, out)
    write_golden(out, *prepared.golden)
    data, train = loop.config.data, loop.config.train
    training = {
        "best_step": progress.best_step,
        "is_chosen": loop.selection.can_choose,
        "valid_pairs": progress.scored_sentences,
        "steps": loop.steps,
        "source_tokens": progress.source_tokens,
        "target_tokens": progress.target_tokens,
        "cpu_seconds": round(progress.cpu_seconds, 1),
        "device": str(loop.setup.device),
        "precision": loop.setup.precision,
        "frozen": list(train.freeze),
    }
    parent, network = prepared.record.get("parent"), loop.config.model.network
    teachers = [  # not where they are on this machine
        {name: each[name] for name in ("name", "sha256")}
        for each in prepared.record.get("teachers", ())
    ]
    pairs = [f"{source}-{target}" for source, target in data.pairs]
    facts = {
        "language": [*data.pairs[0]] if len(pairs) == 1 else [None, None],
        **({"pairs": pairs} if len(pairs) > 1 else {}),
        **({"network": network} if network != "transformer" else {}),
        "parameters": sum(p.numel() for p in loop.updater.model.parameters()),
        "size": loop.config.size,
        "counts": prepared.record["counts"],
        "data": prepared.record["fingerprints"],
        **({"parent": parent} if parent else {}),
        **{name: prepared.record[name] for name in ("initial",) if name in prepared.record},
        **({"teachers": teachers} if teachers else {}),
        "training": training,
        "scores": progress.scores,
        "signature": progress.signature,
        "versions": {"glassformer": __version__, "torch": torch.__version__},
        "sha256": hash_files(out),
    }
    write_card(out, facts)
