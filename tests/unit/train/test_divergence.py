"""Noticing a divergence: soon where there is one, never where there is none, at no cost."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from glassformer.config import Config, Train
from glassformer.data.batches import Batch
from glassformer.foundation.disk import read_text
from glassformer.model.transformer import Transformer
from glassformer.train import resume, train
from glassformer.train.run.divergence import DivergenceDetector
from glassformer.train.run.loop import Loop
from glassformer.train.run.progress import Progress
from glassformer.train.run.recovery import advise, tell_lower_rate
from glassformer.train.run.updates import Outcome, Updater

CURVES = json.loads(Path(__file__).with_name("loss_curves.json").read_text(encoding="utf-8"))
SOON = 20  # updates
LN_V = math.log(8000)

Settings = Callable[..., Config]


def find_alarm(losses: list[float], uniform: float = LN_V) -> int | None:
    """The number of the update, from 1, at which a divergence is noticed."""
    detector = DivergenceDetector(uniform)
    return next((n for n, loss in enumerate(losses, 1) if detector.observe(loss)), None)


def learn(updates: int) -> list[float]:
    """The losses of a training that goes well, down to 3, with the noise of batches."""
    noise = np.random.default_rng(3).normal(0, 0.3, updates)
    return [3 + 6 * math.exp(-step / 60) + noise[step] for step in range(updates)]


@pytest.mark.parametrize("name", CURVES["diverging"])
def test_recorded_divergences_are_noticed_soon(name: str) -> None:
    """After the last update whose loss was not above the very first one's."""
    curve = CURVES["diverging"][name]
    losses = curve["losses"]
    onset = max(n for n, loss in enumerate(losses, 1) if loss <= losses[0])
    alarm = find_alarm(losses, math.log(curve["vocabulary"]))
    assert alarm is not None and alarm <= onset + SOON


@pytest.mark.parametrize("name", CURVES["healthy"])
def test_recorded_trainings_that_went_well_are_left_alone(name: str) -> None:
    curve = CURVES["healthy"][name]
    assert find_alarm(curve["losses"], math.log(curve["vocabulary"])) is None


@pytest.mark.parametrize(
    ("after", "loss"),
    [(300, 6.5), *((n, x) for n in (1, 30, 300) for x in (40.0, 1e9, math.inf, math.nan))],
)
def test_a_loss_that_jumps_and_stays_is_noticed_soon(after: int, loss: float) -> None:
    noise = np.random.default_rng(4).normal(1, 0.05, SOON)
    alarm = find_alarm(learn(after) + [loss * x for x in noise])
    assert alarm is not None and after < alarm <= after + SOON


@pytest.mark.parametrize("height", [7.0, 15.0, 1000.0])
def test_a_spike_that_heals_is_left_alone(height: float) -> None:
    losses = learn(600)
    losses[300:304] = [height] * 4
    for n in range(40):  # and comes down from 7 at the most
        losses[304 + n] += (min(height, 7) - 3) * math.exp(-n / 12)
    assert find_alarm(losses) is None


@pytest.mark.parametrize("wave", [0.9, 3.0])
def test_a_loss_that_goes_up_and_down_is_left_alone(wave: float) -> None:
    assert find_alarm([4 + wave * math.sin(step / 5) for step in range(3000)]) is None


@pytest.mark.parametrize("times", [1, 4])
def test_some_bad_updates_are_no_divergence(times: int) -> None:
    losses = learn(200)
    for start in (3, 60, 120, 160):
        losses[start : start + times] = [math.nan, 1e9, math.inf, 99.0][:times]
    assert find_alarm(losses) is None


@pytest.mark.parametrize("cut", [1, 12, 40, 71])
def test_a_detector_from_a_checkpoint_decides_as_an_uninterrupted_one(cut: int) -> None:
    curve = CURVES["diverging"]["adam, pre-norm, rate 1"]
    losses, whole = curve["losses"], DivergenceDetector(math.log(curve["vocabulary"]), "these data")
    said = [whole.observe(loss) for loss in losses]
    before = DivergenceDetector(math.log(curve["vocabulary"]), "these data")
    for loss in losses[:cut]:
        before.observe(loss)
    after = DivergenceDetector(**json.loads(json.dumps(asdict(before), allow_nan=False)))
    assert [after.observe(loss) for loss in losses[cut:]] == said[cut:] and any(said)


USUAL: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "no warm-up": {"warmup": 1, "learning_rate": 0.01},
    "muon": {"optimizer": "muon", "learning_rate": 0.03},
    "label smoothing": {"label_smoothing": 0.4},
    "R-Drop": {"rdrop_alpha": 5.0},
    "R-Drop, strong": {"rdrop_alpha": 100.0},
}


def read_metrics(out: Path) -> list[dict[str, Any]]:
    text = (out / "run/metrics.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_the_advice_is_of_the_updates_planned() -> None:
    """The highest rate follows from the warm-up, a tenth of the updates that minutes are."""
    timed, counted = Train(minutes=1.0), Train(steps=600)
    for train_settings in (timed, counted):
        assert "leads to is 0.00806872 at its highest" in advise(train_settings, 256, 600)
        lowered = tell_lower_rate(Progress(rate_factor=0.125), train_settings, 256, 600)
        assert lowered.endswith("train.learning_rate=0.001")


@pytest.mark.parametrize("name", USUAL)
def test_usual_settings_set_off_no_alarm(
    tmp_path: Path, corpus: list[Path], settings: Settings, name: str
) -> None:
    config = settings(steps=40, validate_every=40, watch=0, **USUAL[name])
    summary = train(config, corpus, tmp_path / "m", quiet=True)
    assert summary.is_finished and summary.progress.rate_factor == 1
    assert not any("diverged" in line for line in read_metrics(tmp_path / "m"))


@pytest.mark.parametrize("new_tokens", [False, True])
@pytest.mark.thorough
def test_other_data_after_from_set_off_no_alarm(
    tmp_path: Path,
    other_corpus: list[Path],
    corpus: list[Path],
    settings: Settings,
    new_tokens: bool,
) -> None:
    """The parent knows its own pairs by heart, and nothing of the new ones."""
    config = settings(steps=150, learning_rate=0.03, validate_every=150, watch=0, dropout=0)
    train(config, corpus, tmp_path / "parent", quiet=True)
    lines = [path.read_text(encoding="utf-8").splitlines() for path in other_corpus]
    for side, texts in zip(("en", "xx"), lines, strict=True):
        mixed = texts if side == "en" else texts[::-1]
        (tmp_path / f"c.{side}").write_text("\n".join(mixed) + "\n", encoding="utf-8")
    data = [tmp_path / "c.en", tmp_path / "c.xx"]
    how: dict[str, Any] = {"parent": tmp_path / "parent", "new_tokens": new_tokens, "quiet": True}
    out = tmp_path / "m"
    summary = train(config.changed(train={"steps": 50}), data, out, **how)
    assert summary.is_finished and summary.progress.rate_factor == 1


def test_changed_data_after_a_resume_set_off_no_alarm(
    tmp_path: Path, corpus: list[Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is lost by learning from other text is no divergence; with the same text it would be."""
    update, level = Updater.update, [1.0]

    def pretend(self: Updater, step: int, *rest: Any) -> Outcome:
        if step == 31 and level == [1.0]:
            raise KeyboardInterrupt
        return Outcome(level[0], 1.0, 9, 9, update(self, step, *rest).seconds)

    monkeypatch.setattr(Updater, "update", pretend)
    data = [tmp_path / path.name for path in corpus]
    for path, mine in zip(corpus, data, strict=True):
        mine.write_bytes(path.read_bytes())
    config = settings(steps=60, validate_every=30, watch=0)
    with pytest.raises(KeyboardInterrupt):
        train(config, data, tmp_path / "m", quiet=True)
    level[0] = 5.0
    for mine in data:
        mine.write_text(mine.read_text(encoding="utf-8").replace("cat", "hat"), encoding="utf-8")
    summary = resume(tmp_path / "m", accept_changed_data=True, quiet=True)
    assert summary.is_finished and summary.progress.rate_factor == 1


def test_a_return_remembers_the_model_that_is_kept(
    tmp_path: Path, corpus: list[Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training from a good model that diverges before its first checkpoint keeps that model."""
    config = settings(steps=120, learning_rate=0.03, validate_every=120, watch=0, dropout=0)
    train(config, corpus, tmp_path / "parent", valid=corpus, quiet=True)
    first = read_text(corpus[0]).splitlines()
    nonsense = [tmp_path / "c.en", tmp_path / "c.xx"]
    for path, lines in zip(nonsense, (first, first[::-1]), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    update, calls = Updater.update, list[int]()

    def diverge(self: Updater, step: int, *rest: Any) -> Outcome:
        calls.append(step)
        outcome = update(self, step, *rest)
        return replace(outcome, loss=math.nan) if len(calls) <= 5 else outcome

    monkeypatch.setattr(Updater, "update", diverge)
    config = config.changed(train={"steps": 20, "validate_every": 10})
    out, parent = tmp_path / "m", tmp_path / "parent"
    summary = train(config, nonsense, out, valid=corpus, parent=parent, quiet=True)
    assert summary.progress.rate_factor < 1, "it has diverged"
    assert summary.progress.best_step == 0 and summary.progress.scores["BLEU"] > 50


class Watched(TorchDispatchMode):
    """Counts the operations on tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return call(*args, **(kwargs or {}))


def test_nothing_but_the_update_touches_a_tensor(
    tmp_path: Path, corpus: list[Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = Updater.update
    counted: list[int] = []

    def only(self: Updater, *given: Any) -> Outcome:
        with torch.utils._python_dispatch._disable_current_modes():
            return update(self, *given)

    def watch(name: str) -> None:
        method = getattr(Loop, name)

        def count(self: Loop, *given: Any) -> Any:
            with Watched() as watched:
                found = method(self, *given)
            counted.append(watched.count)
            return found

        monkeypatch.setattr(Loop, name, count)

    monkeypatch.setattr(Updater, "update", only)
    watch("_count"), watch("_judge")
    train(settings(steps=25, validate_every=25, watch=0), corpus, tmp_path / "m", quiet=True)
    assert counted == [0] * 50


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[torch.Size]]:
    """The shapes of what is read from the device; a tensor on "meta" refuses all other reads."""
    seen: list[torch.Size] = []

    def read(self: torch.Tensor) -> list[float]:
        seen.append(self.shape)
        return [1.0] * len(self)

    monkeypatch.setattr(torch.Tensor, "tolist", read)
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda *_: False)  # knows no "meta"
    yield seen


def test_an_update_reads_loss_and_norm_from_the_device_and_nothing_else(
    settings: Settings, reads: list[torch.Size]
) -> None:
    config, device = settings(), torch.device("meta")
    with device:
        model = Transformer(config.model, 40, 40)
    updater = Updater(model, config.train, device, "fp32")
    updater.optimizer.step = lambda: None  # type: ignore[assignment,method-assign,misc]
    ids = np.array([[1, 4, 5, 2], [1, 4, 2, 0]])
    with pytest.raises(RuntimeError, match="meta"):
        bool(torch.ones((), device=device).isfinite())
    outcome = updater.update(1, 0.1, [Batch(ids, ids, np.arange(2))])
    assert outcome.loss == outcome.gradient_norm == 1.0
    assert reads == [torch.Size([2])]
