"""Numbers gone wrong: poisoned gradients, weights and sentences, rates that blow a training up.

Every training validates ten times, takes its snapshots and keeps a checkpoint at each validation,
as it does where nobody says otherwise.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from damage.ledger import Ledger

from glassformer.config import Config
from glassformer.data.batches import Batch
from glassformer.model.files.tensors import load_tensors
from glassformer.model.transformer import Transformer
from glassformer.train import resume, train
from glassformer.train.run import setup
from glassformer.train.run.divergence import FAR, IN_A_ROW
from glassformer.train.run.recovery import TRIES
from glassformer.train.run.updates import Updater

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
    "train": {"steps": 30, "batch_tokens": 64, "precision": "fp32", "learning_rate": 0.003},
    "decode": {"max_extra": 5},
}

UNIFORM = math.log(SETTINGS["text"]["vocabulary"])  # the loss of one who only guesses
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
    assert "Update 18: this training has diverged (5 updates in a row went wrong" in said
    assert "going back to update 12, and on with 0.5 times the rate" in said
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


@pytest.mark.thorough
@pytest.mark.parametrize("first", [1, 2])
def test_before_the_first_checkpoint_it_begins_anew(
    tmp_path: Path,
    corpus: list[Path],
    poison: Poison,
    capsys: pytest.CaptureFixture[str],
    ledger: Ledger,
    first: int,
) -> None:
    poison(*range(first, first + IN_A_ROW), once=True)
    summary = train(settings(), corpus, tmp_path / "out")
    assert summary.is_finished and summary.progress.rate_factor == 0.5
    assert "going back to update 0" in capsys.readouterr().err
    assert "next time begin with train.learning_rate=0.0015" in summary.text
    ledger.note(TABLE, "the same before the first checkpoint", "begun anew with half the rate")


def test_what_persists_ends_it_with_the_step_and_the_reason(
    tmp_path: Path,
    corpus: list[Path],
    poison: Poison,
    capsys: pytest.CaptureFixture[str],
    ledger: Ledger,
) -> None:
    met = poison(*range(14, 40))
    reason = r"^update 18: .* not finite.*has not helped: a highest rate of 0.003 is usual"
    with pytest.raises(ValueError, match=reason):
        train(settings(), corpus, tmp_path / "out", quiet=True)
    assert len(met) == IN_A_ROW * (TRIES + 1)
    kept = sorted(path.name for path in (tmp_path / "out/run/checkpoints").iterdir())
    assert kept == ["00000012"], "no checkpoint of a training gone wrong"
    with pytest.raises(ValueError, match=reason):
        resume(tmp_path / "out")
    assert "going back to update" not in capsys.readouterr().err, "that has not helped, it knows"
    happened = "ended with the step and the reason; no checkpoint of what went wrong"
    ledger.note(TABLE, "they stay so", happened, "the work since the last checkpoint")


def test_the_sentences_that_spoil_a_loss_are_named(
    tmp_path: Path, corpus: list[Path], monkeypatch: pytest.MonkeyPatch, ledger: Ledger
) -> None:
    """Sentences with a z have a loss that is not a number, wherever they are."""
    measure = setup.batch_loss
    poisoned: set[int] = set()

    def spoil(network: Transformer, batch: Batch, *rest: Any) -> torch.Tensor:
        loss = measure(network, batch, *rest)
        return loss * math.nan if poisoned & set(batch.rows.tolist()) else loss

    monkeypatch.setattr(setup, "batch_loss", spoil)
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
    whole, broken = (read_progress(tmp_path / name) for name in ("whole", "broken"))
    assert broken["skipped_in_all"] == 2 and broken["detector"] == whole["detector"]
    ledger.note(TABLE, "killed after such an update", "resumed; bit-identical")


@pytest.mark.thorough
def test_killed_after_it_went_back_it_goes_on_with_half_the_rate(
    tmp_path: Path,
    corpus: list[Path],
    poison: Poison,
    monkeypatch: pytest.MonkeyPatch,
    ledger: Ledger,
) -> None:
    """The fault does not come again, so what is resumed has to know of it."""
    bad = range(14, 14 + IN_A_ROW)
    poison(*bad, once=True)
    train(settings(), corpus, tmp_path / "whole", quiet=True)
    poison(*bad, once=True)
    update, made = Updater.update, list[int]()

    def die(self: Updater, step: int, *rest: Any) -> Any:
        if made.count(14) == 2:
            raise KeyboardInterrupt
        made.append(step)
        return update(self, step, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Updater, "update", die)
        with pytest.raises(KeyboardInterrupt):
            train(settings(), corpus, tmp_path / "broken", quiet=True)
    assert made[-3:] == [18, 13, 14], "before the next checkpoint"
    summary = resume(tmp_path / "broken", quiet=True)
    assert summary.progress.rate_factor == 0.5
    one, two = (load_tensors(tmp_path / name / "model.safetensors") for name in ("whole", "broken"))
    assert all(torch.equal(one[name], two[name]) for name in one)
    ledger.note(TABLE, "killed after going back", "resumed with half the rate; bit-identical")


@pytest.mark.thorough
@pytest.mark.parametrize("step", [2, 3, 17])
def test_weights_that_are_not_finite_are_left_for_those_of_a_checkpoint(
    tmp_path: Path,
    corpus: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ledger: Ledger,
    step: int,
) -> None:
    """A snapshot is due right after update 2, a validation after 3 and 18."""
    make_step, met = Updater._step, list[int]()

    def spoil(self: Updater, number: int, *rest: float) -> None:
        make_step(self, number, *rest)
        if number == step and not met:
            met.append(number)
            for parameter in self.model.parameters():
                parameter.data.fill_(math.nan)

    monkeypatch.setattr(Updater, "_step", spoil)
    out = tmp_path / "out"
    summary = train(settings(), corpus, out)
    said = capsys.readouterr().err
    assert summary.is_finished and met == [step] and said.count("this training has diverged") == 1
    assert "the validation failed: line 1: the network's logits are not finite" in said
    for path in (out / "model.safetensors", *out.glob("run/checkpoints/*/weights.safetensors")):
        assert all(tensor.isfinite().all() for tensor in load_tensors(path).values())
    happened = "back to the last checkpoint, and on with half the rate"
    ledger.note(TABLE, "weights that are not finite", happened, "the work since the checkpoint")


def config_of(kind: str, rate: float) -> Config:
    """Settings of Adam's by hand, or what the size auto chooses: Muon."""
    size = {"size": "auto"} if kind == "auto" else {}
    return Config.read({**SETTINGS, **size}, [f"train.learning_rate={rate}"])


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["adam", "auto"])
@pytest.mark.parametrize("rate", [30.0, 1000.0, 1e5])
def test_a_rate_that_is_far_too_high_is_named_with_one_that_does(
    tmp_path: Path,
    corpus: list[Path],
    capsys: pytest.CaptureFixture[str],
    ledger: Ledger,
    kind: str,
    rate: float,
) -> None:
    with pytest.raises(ValueError, match=rf"train\.learning_rate is {rate:g} at its") as caught:
        train(config_of(kind, rate), corpus, tmp_path / "out")
    said = str(caught.value)
    assert "\n" not in said
    heard = capsys.readouterr().err
    told = re.findall(r"Update (\d+): this training has diverged", heard)
    assert len(told) == TRIES and int(told[0]) <= 20
    kept = [float(loss) for loss in re.findall(r"loss ([\d.]+), highest BLEU so far", heard)]
    assert all(loss < FAR * UNIFORM for loss in kept), "what has diverged is nobody's best model"
    plausible = float(said.rpartition("train.learning_rate=")[2])
    again = train(config_of(kind, plausible), corpus, tmp_path / "again", quiet=True)
    assert again.progress.rate_factor == 1 and again.progress.scores["loss"] < UNIFORM
    happened = "within 20 updates back with half the rate, then ended with a plausible rate"
    ledger.note(TABLE, "a learning rate of 30, 1,000 or 100,000", happened, "the training")


@pytest.mark.parametrize("kind", ["adam", "muon"])
def test_a_rate_that_is_too_high_is_halved_until_it_does(
    tmp_path: Path, corpus: list[Path], ledger: Ledger, kind: str
) -> None:
    high = settings(learning_rate=3, optimizer=kind)
    summary = train(high, corpus, tmp_path / "out", quiet=True)
    factor = summary.progress.rate_factor
    assert summary.is_finished and 0.5**TRIES <= factor < 1
    plausible = float(summary.text.rpartition("next time begin with train.learning_rate=")[2])
    assert plausible < 0.1 * 3 * factor, "a rate may be far too high and not blow up"
    assert summary.progress.scores["loss"] < FAR * UNIFORM
    metrics = read_metrics(tmp_path / "out")
    assert [line["rate_factor"] for line in metrics if "diverged" in line][-1] == factor
    happened = "within 20 updates back with half the rate, until it did"
    ledger.note(TABLE, "a learning rate of 3", happened, "the work since the last checkpoint")


def test_a_training_too_short_to_prove_a_divergence_leaves_no_model_of_one(
    tmp_path: Path, corpus: list[Path], ledger: Ledger
) -> None:
    high = settings(learning_rate=1000, steps=3, validate_every=3)
    with pytest.raises(
        ValueError, match=r"its last update has a loss of .* is 1000 at its highest"
    ):
        train(high, corpus, tmp_path / "out", quiet=True)
    assert not (tmp_path / "out/model.safetensors").exists()
    happened = "ended with the reason; no model of it"
    ledger.note(TABLE, "a divergence in the last few updates", happened, "the training")


@pytest.mark.slow
def test_a_rate_beyond_all_numbers(tmp_path: Path, corpus: list[Path], ledger: Ledger) -> None:
    high = settings(learning_rate=1e30, warmup=1, clip=None, steps=60)
    with pytest.raises(ValueError, match=r"train\.learning_rate is 1e\+30 at its highest"):
        train(high, corpus, tmp_path / "out", quiet=True)
    for path in tmp_path.glob("out/run/checkpoints/*/weights.safetensors"):
        assert all(tensor.isfinite().all() for tensor in load_tensors(path).values())
    happened = "ended with the reason; no checkpoint that is not finite"
    ledger.note(TABLE, "a learning rate of 1e30", happened, "the training")
