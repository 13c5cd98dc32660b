"""The state of a night in its folder: what was asked for, what was done, and the clock.

OUT/night.json    the request, the steps that were made, and the seconds that they took
OUT/data/         the pairs that were checked and split: train, valid and test, two files each
OUT/steps/NAME    the model of each training
OUT/made/         pairs that models made
OUT/end/          translations for the scores at the end, until the result is published
OUT/model/        the result, published
OUT/report.md     what was done, and why

The file is replaced as a whole after each step. A step that was killed is made again: a training
goes on from its checkpoint, and translating with the shards that are missing.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from glassformer.foundation.disk import write_json
from glassformer.foundation.typed_json import read_typed
from glassformer.model.files.directory import RECORD, RUN

from .planning import NAMES, PlannedStep, StepResult

STATE, DATA = "night.json", "data"  # the state; the folder of the parts of the pairs
STEPS = "steps"  # the folder of their models
ENDING = "end"  # the folder of what the end has translated


@dataclass(frozen=True)
class NightRequest:
    """The request for a night; texts and models are absolute paths."""

    data: list[str]
    source_lang: str
    target_lang: str
    valid: list[str] = field(default_factory=list)
    test: list[str] = field(default_factory=list)
    mono_source: str | None = None
    mono_target: str | None = None
    parent: str | None = None  # "none": no other model, not even a shipped one
    size: str | None = None
    seed: int = 1
    changes: list[str] = field(default_factory=list)  # settings of each training, KEY=VALUE


@dataclass
class NightState:
    """The state of a night between two steps."""

    request: NightRequest
    minutes: float  # in all
    until: float | None = None  # seconds since the epoch, instead of counting those that were spent
    spent: float = 0.0  # seconds, without the time while it was stopped
    usual: float = 0.0  # minutes that the recipe auto takes; 0: not estimated yet
    parent: str | None = None  # the model to start from; empty: none; None: not chosen yet
    reverse_parent: str = ""  # the same of the other direction
    cost: float = 1.0  # of a training from the parent, in times `usual`
    pairs: int = 0
    copied: float | None = None  # of the pairs: those that the first model repeats
    steps: list[StepResult] = field(default_factory=list)
    begun: list[PlannedStep] = field(default_factory=list)  # those that are being made
    counted: dict[str, float] = field(default_factory=dict)  # minutes of these before a kill
    under_way: float = 0.0  # seconds of what is spent: those of the step that is being made
    announced: list[str] = field(default_factory=list)  # the steps that were to come
    said: list[str] = field(default_factory=list)  # each choice, with its reason
    unused: str = ""  # why text in one language is not used
    pace: float = 0.0  # seconds for a character that is translated; 0: not measured
    ended: dict[str, float] = field(default_factory=dict)  # parts of the end that are over
    outcome: list[str] = field(default_factory=list)  # how good the result is, in sentences
    chosen: str = ""  # the step whose model is the result
    published: str = ""  # the step whose model was published
    is_cleared: bool = False  # the models of the steps were removed: nothing can go on from them


def read_state(folder: Path) -> NightState | None:
    """Return the state of a night in this folder; None if none was begun there.

    Earlier versions had other steps, which are not made any more, and did not note that the models
    of the steps were removed.
    """
    path = folder / STATE
    if not path.is_file():
        return None
    state = read_typed(path, NightState)
    state.begun = [step for step in state.begun if step.name in NAMES]
    if state.published and not (folder / STEPS / state.published).is_dir():
        state.is_cleared = True
    return state


def write_state(folder: Path, state: NightState) -> None:
    """Write the state, whole or not at all."""
    write_json(folder / STATE, asdict(state))


def begin_state(
    folder: Path,
    request: NightRequest,
    minutes: float | None,
    until: str | None,
    now: Callable[[], float] = time.time,
) -> NightState:
    """Return the state of a night to begin or to go on with.

    A night that has begun may get other minutes, but another request only if nothing was trained
    yet. The same time of day again is the one that was given first, although it has passed.
    ValueError for another request after that, or if its steps were removed.
    """
    end = read_clock(until, now()) if until else None
    state = read_state(folder)
    if state is None:
        if minutes is None and end is None:
            raise ValueError("say how long it may take: --minutes 480, or --until 07:00")
        total = minutes if minutes is not None else ((end or 0) - now()) / 60
        return NightState(request, total, end)
    if changed := name_changes(state.request, request):
        if state.steps or state.begun or not request.data:
            raise ValueError(
                f"{folder} holds a night that began with another {changed}: name another --out"
            )
        shutil.rmtree(folder / DATA, ignore_errors=True)  # nothing was trained on it
        state = NightState(request, state.minutes, state.until)
    if end is not None and state.until is not None and read_time(end) == read_time(state.until):
        end = state.until
    is_same = minutes in (None, state.minutes) and end in (None, state.until)
    if state.is_cleared and not is_same:
        raise ValueError(f"{folder}: the steps of this night were removed: name another --out")
    if minutes is not None:
        state.minutes, state.until = minutes, None
    elif end is not None:
        state.minutes, state.until = state.spent / 60 + (end - now()) / 60, end
    return state


def find_training(model: Path) -> Path | None:
    """Return the folder with the training of what a night published; None if it is no such model.

    ValueError if it is no longer there: the mean of weights was not trained.
    """
    state = read_state(model.parent)
    if state is None or not state.published:
        return None
    if state.is_cleared:
        raise ValueError(f"{model}: the trainings of its night were removed")
    steps = model.parent / STEPS
    if (steps / state.published / RUN / RECORD).is_file():
        return steps / state.published
    trained = ", ".join(
        str(steps / each.name) for each in state.steps if (steps / each.name / RUN).is_dir()
    )
    raise ValueError(f"{model} is the {state.published} of several models: name one of {trained}")


def name_changes(then: NightRequest, now: NightRequest) -> str:
    """Return the names of what differs between two requests.

    A request without pairs, which goes on with a night, may leave out the rest, too.
    """
    old, new, left_out = (asdict(each) for each in (then, now, NightRequest([], "", "")))
    names = [name for name in old if now.data or new[name] != left_out[name]]
    return ", ".join(name.replace("_", " ") for name in names if old[name] != new[name])


def read_clock(text: str, now: float) -> float:
    """Return the next time that a clock shows as 07:00, in seconds since the epoch.

    ValueError if it is no such time.
    """
    hours, _, minutes = text.strip().partition(":")
    if not (hours.isdecimal() and (minutes or "0").isdecimal()):
        raise ValueError(f"--until {text}: a time of day, such as 07:00")
    if int(hours) > 23 or int(minutes or 0) > 59:
        raise ValueError(f"--until {text}: a time of day, from 00:00 to 23:59")
    today = datetime.fromtimestamp(now)
    end = today.replace(hour=int(hours), minute=int(minutes or 0), second=0, microsecond=0)
    return (end if end > today else end + timedelta(days=1)).timestamp()


def read_time(moment: float) -> str:
    """Return what a clock shows at a moment, in seconds since the epoch."""
    return f"{datetime.fromtimestamp(moment):%H:%M}"


def count_left(state: NightState, now: Callable[[], float] = time.time) -> float:
    """Return the minutes that are left, at the end of the last step."""
    if state.until is not None:
        return (state.until - now()) / 60
    return state.minutes - state.spent / 60
