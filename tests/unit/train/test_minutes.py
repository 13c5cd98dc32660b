"""Trainings by the clock: they end on time, whatever the machine does, and keep the right model."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.config import Config
from glassformer.foundation.plurals import tell_count
from glassformer.model.files.tensors import load_tensors
from glassformer.train import resume, train
from glassformer.train.run import validation
from glassformer.train.run.checkpoint import checkpoints
from glassformer.train.run.updates import Updater

from .conftest import LINES, write_pairs

Settings = Callable[..., Config]
TIMED = {"steps": None, "validate_every": None, "minutes": 1.0, "watch": 0}


class Machine:
    """Its clock moves only while updates are made and sentences translated."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.now, self.update, self.sentence = 1000.0, 1.0, 0.02
        self.slower_from, self.dies_at = 10**9, 10**9
        self.updates: list[tuple[float, ...]] = []  # rate, and planned updates stood for
        update, validate = Updater.update, validation.validate

        def slow_update(updater: Updater, step: int, rate: float, *rest: Any) -> Any:
            self.now += self.update * (1 if step < self.slower_from else 3)
            if step == self.dies_at:
                raise KeyboardInterrupt
            if rate:
                self.updates.append((rate, *rest[1:]))
            return replace(update(updater, step, rate, *rest), seconds=self.update)

        def slow_validate(*parts: Any, **how: Any) -> Any:
            self.now += self.sentence * len(parts[3].sources)
            return validate(*parts, **how)

        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(Updater, "update", slow_update)
        monkeypatch.setattr(validation, "validate", slow_validate)


def timed(settings: Settings, **changes: Any) -> Config:
    return settings().changed(train={**TIMED, **changes})


@pytest.mark.parametrize("slower_from", [10**9, 12])
def test_a_training_ends_on_time(
    tmp_path: Path,
    corpus: list[Path],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    slower_from: int,
) -> None:
    machine = Machine(monkeypatch)
    machine.slower_from = slower_from
    began = machine.now
    config = timed(settings, schedule="cosine", learning_rate=0.01, warmup=5)
    summary = train(config, corpus, tmp_path / "m", quiet=True)
    assert machine.now - began == pytest.approx(60, rel=0.1)
    assert summary.is_finished and summary.progress.step == summary.steps
    rates, planned = zip(*machine.updates, strict=True)
    assert rates.index(max(rates)) < len(rates) / 2 and rates[-1] < 0.15 * max(rates)
    decided = json.loads((tmp_path / "m/run/plan.json").read_text(encoding="utf-8"))["decisions"]
    assert sum(planned) == pytest.approx(decided[0]["steps"], rel=0.15)


def test_time_stands_still_while_a_training_is_stopped(
    tmp_path: Path, corpus: list[Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch)
    machine.dies_at = 20
    began = machine.now
    with pytest.raises(KeyboardInterrupt):
        train(timed(settings, checkpoint_every=3), corpus, tmp_path / "m", quiet=True)
    until = machine.now - began
    machine.now, machine.dies_at = machine.now + 10**6, 10**9
    began = machine.now
    lost = 3 + 1  # updates since the last checkpoint, and the one that it died in
    summary = resume(tmp_path / "m", quiet=True)
    assert until + machine.now - began - lost == pytest.approx(60, rel=0.1)
    assert summary.is_finished and summary.progress.spent == pytest.approx(60, rel=0.1)


def test_steps_can_take_the_place_of_minutes(
    tmp_path: Path, corpus: list[Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch)
    machine.dies_at = 7
    with pytest.raises(KeyboardInterrupt):
        train(timed(settings, checkpoint_every=3), corpus, tmp_path / "m", quiet=True)
    machine.dies_at = 10**9
    changes = ["train.steps=9"]
    summary = resume(tmp_path / "m", changes=changes, accept_changed_settings=True, quiet=True)
    assert summary.is_finished and summary.progress.step == summary.steps == 9


def test_it_is_said_before_it_begins_that_there_is_little_time(
    tmp_path: Path,
    corpus: list[Path],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    Machine(monkeypatch)
    train(timed(settings), corpus, tmp_path / "m")
    before, found, _ = capfd.readouterr().err.partition("Fewer than 200 updates")
    assert found and "BLEU" not in before


def keep_worse_and_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every validation finds a lower BLEU than the one before."""
    validate = validation.validate

    def worse(*parts: Any, **how: Any) -> Any:
        found = validate(*parts, **how)
        return replace(found, scores={**found.scores, "BLEU": 99.0 - how["turn"]})

    monkeypatch.setattr(validation, "validate", worse)


@pytest.mark.parametrize(("pairs", "kept"), [(1, 6), (99, 6), (100, 2)])
def test_few_pairs_do_not_choose_a_model(
    tmp_path: Path,
    corpus: list[Path],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    pairs: int,
    kept: int,
) -> None:
    valid = write_pairs(tmp_path, "valid", (LINES * 10)[:pairs])
    keep_worse_and_worse(monkeypatch)
    config = settings(validate_every=2, steps=6, best_by="bleu")
    summary = train(config, corpus, tmp_path / "m", valid=valid)
    assert summary.progress.best_step == kept
    said = capfd.readouterr().err
    is_few = f"Only {tell_count(pairs, 'pair')} to validate on" in said
    assert is_few == (pairs < 100) != ("highest BLEU so far" in said)
    assert summary.text.startswith("Best") == (pairs >= 100)
    last = load_tensors(checkpoints(tmp_path / "m/run/checkpoints")[-1] / "averaged.safetensors")
    model = load_tensors(tmp_path / "m/model.safetensors")
    is_last = all(torch.equal(model[name], last[name]) for name in model)
    assert is_last == (pairs < 100)


def test_a_score_of_fewer_pairs_is_not_compared(
    tmp_path: Path, corpus: list[Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first validation of all pairs takes the place of those of a sample, however good."""
    machine = Machine(monkeypatch)
    machine.sentence = 0.001
    keep_worse_and_worse(monkeypatch)
    valid = write_pairs(tmp_path, "valid", (LINES * 10)[:180])
    config = timed(settings, best_by="bleu")
    progress = train(config, corpus, tmp_path / "m", valid=valid, quiet=True).progress
    assert progress.best_sentences == progress.scored_sentences == 180
    assert progress.step / 2 < progress.best_step < progress.step


@pytest.mark.parametrize("minutes", [None, 2])
@pytest.mark.thorough
def test_minutes_that_auto_chose_suit_the_speed_measured(
    tmp_path: Path, corpus: list[Path], monkeypatch: pytest.MonkeyPatch, minutes: int | None
) -> None:
    """auto only estimates the speed of a machine; what the user sets is kept."""
    machine = Machine(monkeypatch)
    machine.update, began = 4.0, machine.now
    shape = {"d_model": 16, "d_ff": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    given = {"batch_tokens": 64, "watch": 0, **({"minutes": minutes} if minutes else {})}
    data = {"source_lang": "en", "target_lang": "de"}
    config = Config.read({"recipe": "auto", "model": shape, "data": data, "train": given})
    summary = train(config, corpus, tmp_path / "m", quiet=True)
    found = Config.load(tmp_path / "m" / "run" / "config.toml").train.minutes
    assert found and machine.now - began == pytest.approx(60 * found, rel=0.1)
    assert summary.is_finished
    if minutes:
        assert found == minutes
    else:
        assert found > 4 and 4 * summary.steps > 0.8 * 60 * found


@pytest.mark.parametrize("slower_from", [10**9, 4])
def test_a_training_that_has_ended_goes_on_with_more_minutes(
    tmp_path: Path,
    corpus: list[Path],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    slower_from: int,
) -> None:
    machine, out = Machine(monkeypatch), tmp_path / "m"
    machine.slower_from = slower_from
    config = timed(settings, minutes=0.3, schedule="cosine", learning_rate=0.01)
    first = train(config, corpus, out, quiet=True).progress
    machine.slower_from = 10**9
    for minutes in (0.3, 0.1):  # no more than before
        more = {"changes": [f"train.minutes={minutes}"], "accept_changed_settings": True}
        assert resume(out, **more, quiet=True).progress.step == first.step
    machine.updates.clear()
    machine.dies_at = first.step + 9
    more["changes"] = ["train.minutes=1"]
    with pytest.raises(KeyboardInterrupt):
        resume(out, **more, quiet=True)
    machine.dies_at = 10**9
    summary = resume(out, quiet=True)
    assert summary.is_finished and summary.progress.spent == pytest.approx(60, rel=0.1)
    assert summary.progress.step == summary.steps > first.step + 20
    assert machine.updates[3][0] > 10 * machine.updates[-1][0]  # a schedule of all updates


def test_a_training_in_steps_takes_no_minutes(
    tmp_path: Path, corpus: list[Path], settings: Settings
) -> None:
    train(settings(steps=2), corpus, tmp_path / "m", quiet=True)
    with pytest.raises(ValueError, match=r"began with steps: set train\.steps or train\.epochs"):
        resume(tmp_path / "m", changes=["train.minutes=1"], accept_changed_settings=True)
    assert resume(tmp_path / "m", quiet=True).is_finished
