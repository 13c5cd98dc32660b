"""Numbers gone wrong: poisoned gradients and sentences, rates that blow a training up."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from damage.ledger import Ledger

from glassformer.config import Config
from glassformer.data.batches import Batch
from glassformer.tensors import load_tensors
from glassformer.train import resume, train
from glassformer.train.trouble import IN_A_ROW, MEMORY, TRIES, Drift
from glassformer.train.updates import Updater

TABLE = "Numbers gone wrong"
LINES = [f"the {a} {b} runs {c}" for a in ("red", "old") for b in ("cat", "dog") for c in "xyz"]
SETTINGS: dict[str, Any] = {
    "model": {
        "d_model": 16,
        "d_ff": 32,
        "heads": 2,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "dropout": 0.2,
    },
    "text": {"vocabulary": 320},
    "train": {
        "steps": 30,
        "batch_tokens": 64,
        "validate_every": 30,
        "checkpoint_every": 10,
        "precision": "fp32",
        "learning_rate": 0.003,
        "watch": 0,
    },
    "decode": {"max_extra": 5},
}

Poison = Callable[..., list[int]]


@pytest.fixture
def corpus(tmp_path: Path) -> list[Path]:
    for side, lines in (("en", LINES), ("xx", [line[::-1] for line in LINES])):
        (tmp_path / f"a.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [tmp_path / "a.en", tmp_path / "a.xx"]


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> Poison:
    """Make the gradients of some steps NaN, each as often as its step comes by or only once."""

    def make(*steps: int, once: bool = False) -> list[int]:
        met: list[int] = []
        at_work = [0]
        update, backward = Updater.update, Updater.backward

        def remember(self: Updater, step: int, *rest: Any) -> Any:
            at_work[0] = step
            return update(self, step, *rest)

        def spoil(self: Updater, batch: Batch, targets: int) -> torch.Tensor:
            share = backward(self, batch, targets)
            if at_work[0] in steps and not (once and at_work[0] in met):
                met.append(at_work[0])
                next(self.model.parameters()).grad.fill_(math.nan)  # type: ignore[union-attr]
            return share

        monkeypatch.setattr(Updater, "update", remember)
        monkeypatch.setattr(Updater, "backward", spoil)
        return met

    return make


def settings(**changes: Any) -> Config:
    return Config.read({**SETTINGS, "train": {**SETTINGS["train"], **changes}})


def read_metrics(out: Path) -> list[dict[str, Any]]:
    lines = (out / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def read_progress(out: Path) -> dict[str, Any]:
    last = max((out / "run/checkpoints").iterdir())
    return json.loads((last / "progress.json").read_text(encoding="utf-8"))


def test_one_bad_update_is_left_out_counted_and_told(
    tmp_path: Path,
    corpus: list[Path],
    poison: Poison,
    capsys: pytest.CaptureFixture[str],
    ledger: Ledger,
) -> None:
    met = poison(12)
    out = tmp_path / "out"
    summary = train(settings(), corpus, out)
    assert met == [12] and summary.is_finished
    assert "Update 12: loss or gradient is not finite; it is left out" in capsys.readouterr().err
    told = [line for line in read_metrics(out) if "not finite" in line]
    assert [line["step"] for line in told] == [12]
    progress = read_progress(out)
    assert (progress["skipped_in_all"], progress["skipped"], progress["rate_factor"]) == (1, 0, 1.0)
    weights = load_tensors(out / "model.safetensors")
    assert all(tensor.isfinite().all() for tensor in weights.values())
    ledger.note(
        TABLE, "gradients of one update not finite", "left out, counted, told", "the update"
    )


def test_several_in_a_row_lead_back_to_the_checkpoint_and_a_lower_rate(
    tmp_path: Path,
    corpus: list[Path],
    poison: Poison,
    capsys: pytest.CaptureFixture[str],
    ledger: Ledger,
) -> None:
    met = poison(*range(14, 14 + IN_A_ROW), once=True)
    out = tmp_path / "out"
    assert train(settings(), corpus, out).is_finished
    said = capsys.readouterr().err
    assert "going back to update 10, and on with 0.5 times the rate" in said
    assert met == [*range(14, 14 + IN_A_ROW)]
    lines = read_metrics(out)
    steps = [line["step"] for line in lines]
    assert steps == sorted(steps) and 14 not in steps, "what was done again is told once"
    progress = read_progress(out)
    assert progress["rate_factor"] == 0.5 and progress["skipped_in_all"] == IN_A_ROW
    assert progress["goings_back"] == 0, "that trouble is passed"
    (rate,) = (line["rate"] for line in lines if line["step"] == 30 and "rate" in line)
    undisturbed = tmp_path / "undisturbed"
    poison()
    train(settings(), corpus, undisturbed, quiet=True)
    (whole,) = (x["rate"] for x in read_metrics(undisturbed) if x["step"] == 30 and "rate" in x)
    assert rate == pytest.approx(whole / 2)
    happened = "back to the last checkpoint, and on with half the rate"
    ledger.note(
        TABLE, f"{IN_A_ROW} updates in a row", happened, "the work since the last checkpoint"
    )


def test_before_the_first_checkpoint_it_begins_anew(
    tmp_path: Path,
    corpus: list[Path],
    poison: Poison,
    capsys: pytest.CaptureFixture[str],
    ledger: Ledger,
) -> None:
    poison(*range(3, 3 + IN_A_ROW), once=True)
    assert train(settings(), corpus, tmp_path / "out").is_finished
    assert "going back to update 0" in capsys.readouterr().err
    ledger.note(TABLE, "the same before the first checkpoint", "begun anew with half the rate")


def test_what_persists_ends_it_with_the_step_and_the_reason(
    tmp_path: Path, corpus: list[Path], poison: Poison, ledger: Ledger
) -> None:
    met = poison(*range(14, 40))
    with pytest.raises(ValueError, match=r"update 18: .* not been finite.* has not helped: try a"):
        train(settings(), corpus, tmp_path / "out", quiet=True)
    assert len(met) == IN_A_ROW * (TRIES + 1)
    kept = sorted(path.name for path in (tmp_path / "out/run/checkpoints").iterdir())
    assert kept == ["00000010"], "no checkpoint of a training gone wrong"
    happened = "ended with the step and the reason; no checkpoint of what went wrong"
    ledger.note(TABLE, "they stay so", happened, "the work since the last checkpoint")


def test_the_sentences_that_spoil_a_loss_are_named(
    tmp_path: Path, corpus: list[Path], monkeypatch: pytest.MonkeyPatch, ledger: Ledger
) -> None:
    """Sentences with a z have a loss that is not a number, wherever they are."""
    measure = Updater._measure
    poisoned: set[int] = set()

    def spoil(self: Updater, batch: Batch) -> torch.Tensor:
        loss = measure(self, batch)
        return loss * math.nan if poisoned & set(batch.rows.tolist()) else loss

    monkeypatch.setattr(Updater, "_measure", spoil)
    poisoned.add(3)
    with pytest.raises(ValueError, match=r"as with the pair 'the .* runs .'"):
        train(settings(batch_tokens=4096), corpus, tmp_path / "out", quiet=True)
    (first, *_) = [line for line in read_metrics(tmp_path / "out") if "not finite" in line]
    (pair,) = first["pairs"]
    assert pair["pair"] == 3 and pair["source"] in LINES and pair["target"] == pair["source"][::-1]
    ledger.note(TABLE, "a sentence whose loss is not finite", "named, with its number and text")


def test_after_a_kill_it_goes_on_alike(
    tmp_path: Path,
    corpus: list[Path],
    poison: Poison,
    monkeypatch: pytest.MonkeyPatch,
    ledger: Ledger,
) -> None:
    """A skipped update before the checkpoint is part of what is resumed, bit for bit."""
    poison(8, 13)
    train(settings(), corpus, tmp_path / "whole", quiet=True)
    update = Updater.update

    def die(self: Updater, step: int, *rest: Any) -> Any:
        if step == 17:
            raise KeyboardInterrupt
        return update(self, step, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Updater, "update", die)
        with pytest.raises(KeyboardInterrupt):
            train(settings(), corpus, tmp_path / "broken", quiet=True)
    resume(tmp_path / "broken", quiet=True)
    one, two = (load_tensors(tmp_path / name / "model.safetensors") for name in ("whole", "broken"))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert read_progress(tmp_path / "broken")["skipped_in_all"] == 2
    ledger.note(TABLE, "killed after such an update", "resumed; bit-identical")


def test_a_loss_that_rises_and_stays_up_is_told_once(ledger: Ledger) -> None:
    drift, told = Drift(), []
    for step in range(1, 1500):
        loss = 7 - step / 100 if step < 400 else 6.5
        if drift.has_diverged(step, loss):
            told.append(step)
            said = drift.describe(step)
    assert len(told) == 1 and 400 + MEMORY < told[0] < 700
    assert "has diverged: the mean loss was 3.98 at update 399 and is 5.94" in said
    ledger.note(TABLE, "a loss that rises and stays up", "told as diverged, once")


@pytest.mark.parametrize("wave", [0.9, 3.0])
def test_a_loss_that_goes_up_and_down_is_no_divergence(wave: float) -> None:
    drift = Drift()
    for step in range(3000):
        assert not drift.has_diverged(step, 4 + wave * math.sin(step / 5))


@pytest.mark.slow
def test_a_rate_that_is_far_too_high(tmp_path: Path, corpus: list[Path], ledger: Ledger) -> None:
    """For real: it ends well with a lower rate, or with the reason; never with NaN weights."""
    high = settings(learning_rate=1e30, warmup=1, clip=None, steps=60)
    try:
        train(high, corpus, tmp_path / "out", quiet=True)
    except ValueError as error:
        assert "try a lower train.learning_rate" in str(error)
    for path in (tmp_path / "out/run/checkpoints").glob("*"):
        weights = load_tensors(path / "weights.safetensors")
        assert all(tensor.isfinite().all() for tensor in weights.values())
    happened = "ended well with a lower rate, or with the reason; no checkpoint that is not finite"
    ledger.note(TABLE, "a learning rate of 1e30", happened)
