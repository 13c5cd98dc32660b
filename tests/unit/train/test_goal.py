"""A training that an exam or its time ends, and what is said of how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from glassformer.config import Config
from glassformer.model.files.directory import WEIGHTS
from glassformer.model.files.tensors import load_tensors
from glassformer.train import Goal, resume, train
from glassformer.train.plan.goal import Forecast
from glassformer.train.run import loop
from glassformer.translator import Translator
from tools.demo_corpus.files import write_pairs

STEPS, EVERY = 6, 2
SMALL = Config.read(
    {
        "model": {
            "d_model": 16,
            "d_ff": 16,
            "heads": 2,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "dropout": 0.0,
        },
        "text": {"vocabulary": 400},
        "data": {"source_lang": "en", "target_lang": "fr"},
        "train": {
            "steps": STEPS,
            "validate_every": EVERY,
            "batch_tokens": 200,
            "watch": 0,
            "best_by": "loss",
        },
        "decode": {"max_extra": 2},
    }
)


class Examiner:
    """Passes the models that it is told to pass, and keeps the weights of all that it saw."""

    def __init__(self, verdicts: Sequence[bool]):
        self.verdicts = list(verdicts)
        self.seen: list[dict[str, torch.Tensor]] = []

    def __call__(self, translator: Translator) -> tuple[bool, str]:
        weights = translator.model.state_dict()
        self.seen.append({name: tensor.clone() for name, tensor in weights.items()})
        return self.verdicts.pop(0), "so and so"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_pairs(tmp_path / "pairs", "en", "fr", {"train": 40, "valid": 4})
    return tmp_path / "pairs"


def is_same(model: Path, weights: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(each, weights[n]) for n, each in load_tensors(model / WEIGHTS).items())


@pytest.fixture
def loss_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the gradient: by its loss no later model is better than the first."""
    monkeypatch.setattr(loop, "rate", lambda step, *_: 0.0 if step <= EVERY else -0.05)


@pytest.mark.usefixtures("loss_grows")
def test_the_model_that_passes_is_kept_and_ends_the_training(data: Path, tmp_path: Path) -> None:
    examiner = Examiner([False, True])
    goal = Goal(examiner, minutes=60)
    summary = train(SMALL, [data], tmp_path / "m", quiet=True, goal=goal)
    assert summary.is_finished and goal.is_reached
    assert summary.progress.step == 2 * EVERY < summary.steps == STEPS
    assert is_same(tmp_path / "m", examiner.seen[1])
    assert not is_same(tmp_path / "m", examiner.seen[0])


@pytest.mark.usefixtures("loss_grows")
def test_one_that_nobody_passes_goes_to_its_end_and_can_go_on(data: Path, tmp_path: Path) -> None:
    examiner = Examiner([False] * 3 + [True])
    goal = Goal(examiner, minutes=60)
    summary = train(SMALL, [data], tmp_path / "m", quiet=True, goal=goal)
    assert summary.is_finished and not goal.is_reached
    assert summary.progress.step == STEPS
    assert is_same(tmp_path / "m", examiner.seen[2])
    more = {"changes": [f"train.steps={3 * STEPS}"], "accept_changed_settings": True}
    summary = resume(tmp_path / "m", **more, quiet=True, goal=goal)  # type: ignore[arg-type]
    assert summary.is_finished and goal.is_reached
    assert summary.progress.step == STEPS + EVERY


def test_time_that_is_up_ends_it_with_a_model(data: Path, tmp_path: Path) -> None:
    examiner = Examiner([False])
    goal = Goal(examiner, minutes=1e-9)
    summary = train(SMALL, [data], tmp_path / "m", quiet=True, goal=goal)
    assert summary.is_finished and goal.is_out_of_time and not goal.is_reached
    assert summary.progress.step == 1
    assert is_same(tmp_path / "m", examiner.seen[0])
    assert resume(tmp_path / "m", quiet=True).progress.step == STEPS


def test_one_disturbed_update_does_not_move_the_forecast() -> None:
    forecast = Forecast()
    for number in range(30):
        forecast.note(6.0 if number in (0, 1, 2, 12) else 0.1)
    assert forecast.is_sure
    assert forecast.estimate(1000, 0) == pytest.approx(100)


def test_a_disturbance_that_has_passed_is_forgotten() -> None:
    forecast = Forecast()
    for seconds in [0.65] * 60 + [0.1] * 30:
        forecast.note(seconds)
    assert forecast.estimate(1000, 0) == pytest.approx(100)


def test_a_fast_machine_has_a_forecast_too() -> None:
    forecast = Forecast()
    for _ in range(200):
        forecast.note(0.01)
    assert forecast.is_sure and forecast.estimate(1000, 0) == pytest.approx(10)


def test_the_forecast_is_told_once_and_then_at_each_exam() -> None:
    now = 0.0
    goal = Goal(lambda translator: (False, "half of it"), minutes=3, clock=lambda: now)
    told = []
    for left in range(1499, 1399, -1):
        now += 0.2
        told.append(goal.note(0.2, left, exams=10))
    (first,) = filter(None, told)
    assert told.index(first) <= 12  # some seconds after the beginning
    assert "about 6 minutes" in first and "stops after 3 minutes" in first
    now += 10.0
    said = goal.take_exam(None, 1400, exams=10)  # type: ignore[arg-type]
    assert said == "half of it; about 6 minutes left"  # 280 s of updates, 100 of exams
    assert not goal.is_out_of_time
    now = 180.1
    goal.note(0.2, 1399, exams=10)
    assert goal.is_out_of_time
