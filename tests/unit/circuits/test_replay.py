"""A training that is followed back: its derivatives are differences of trainings."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.cli import main
from glassformer.config import BOS, Config
from glassformer.extensions.circuits import replay as replaying
from glassformer.extensions.circuits.cli.taught import tell_method
from glassformer.extensions.circuits.edges import WordContrast
from glassformer.extensions.circuits.lines import CLOSE, TaughtLines, encode_lines, recall_text
from glassformer.extensions.circuits.replay import Replay, TrainingState, find_obstacle
from glassformer.extensions.demo.corpus import read_corpus
from glassformer.model.files.directory import load_model
from glassformer.train.start import resume, train
from glassformer.translator import Translator

PAIRS = read_corpus().pairs["train"][:40]
MODEL: dict[str, Any] = {
    "d_model": 16,
    "heads": 2,
    "d_ff": 24,
    "encoder_layers": 1,
    "decoder_layers": 1,
}
MODEL |= {"norm": "pre", "attention_dropout": 0.1}
TRAIN: dict[str, Any] = {
    "steps": 14,
    "validate_every": 14,
    "precision": "fp32",
    "watch": 0,
    "batch_tokens": 128,
}


def run_training(out: Path, data: dict[str, Any] | None = None, **settings: Any) -> Path:
    given = TRAIN | {"ema": 0.9, "epsilon": 1e-4, "learning_rate": 3e-3} | settings
    config = {"recipe": "auto", "size": "tiny", "model": MODEL, "train": given}
    config |= {
        "text": {"vocabulary": 400},
        "data": {"source_lang": "en", "target_lang": "fr"} | (data or {}),
    }
    valid = read_corpus().pairs["valid"][:4]
    rows = {"train": [*PAIRS], "valid": valid}
    train(Config.model_validate(config), pairs=rows, out=out, quiet=True)
    return out


@pytest.fixture(scope="module", params=["adam", "muon"])
def model(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_training(tmp_path_factory.mktemp("model") / "m", optimizer=request.param)


def ask(replay: Replay, pair: int = 3) -> WordContrast:
    source, target = replay.pairs[pair]
    return WordContrast(source, (BOS, *target[:2]), (target[2], 17))


def test_the_training_that_is_run_again_is_the_one_that_was(model: Path) -> None:
    replay = Replay.open(model)
    weights = replay.remember()
    for name, parameter in load_model(model)[2].named_parameters():
        assert torch.equal(weights[name], parameter.detach()), name
    texts = replay.read_texts()
    assert sorted(texts) == sorted((one.strip(), two.strip()) for one, two in PAIRS)


def test_the_state_after_an_update_is_that_of_the_optimizer(model: Path) -> None:
    replay = Replay.open(model)
    states = replay._run(0, replay.first, 6, 1)
    for step in (1, 2, 6):
        before, after = states[step - 1], states[step]
        gradient = replay.differentiate(before.weights, step, replay._deal(step))
        told = replay.step(step, before, gradient)
        for part, own in zip(told, after, strict=True):
            for name, value in own.items():
                size = float((value - before.weights.get(name, 0 * value)).abs().max())
                assert torch.allclose(part[name], value, atol=0.03 * size + 1e-6), (step, name)


class Functional:
    """The training as a function of how much each pair counts, in double precision."""

    def __init__(self, replay: Replay):
        self.replay = replay
        replay.network.double()
        replay.first = TrainingState(
            *({name: x.double() for name, x in part.items()} for part in replay.first)
        )

    def list_states(self, amount_N: torch.Tensor | None = None) -> list[TrainingState]:
        states = [self.replay.first]
        for step in range(1, self.replay.updates + 1):
            weights, batches = states[-1].weights, self.replay._deal(step)
            gradient = self.replay.differentiate(weights, step, batches, amount_N)
            states.append(self.replay.step(step, states[-1], gradient))
        return states


def test_a_derivative_is_the_difference_of_two_trainings(tmp_path: Path) -> None:
    replay = Replay.open(run_training(tmp_path / "m", optimizer="adam", max_grad_norm=0.5))
    training, asked, count = Functional(replay), ask(replay), len(replay.pairs)
    states = training.list_states()
    sought = [replay._differentiate_lead(states[-1], asked)]
    result_QN = torch.zeros(1, count, dtype=torch.float64)
    for step in reversed(range(1, replay.updates + 1)):
        replay.step_back(step, states[step - 1], sought, result_QN)
    small = 1e-5
    for pair in range(0, count, 9):
        leads = []
        for sign in (1, -1):
            amount_N = torch.ones(count, dtype=torch.float64)
            amount_N[pair] += sign * small
            end = training.list_states(amount_N)[-1]
            leads.append(float(replay.measure_lead(end.average, asked)))
        by_difference = (leads[0] - leads[1]) / (2 * small)
        assert float(result_QN[0, pair]) == pytest.approx(by_difference, rel=2e-3, abs=1e-6)
    assert result_QN.abs().max() > 1e-4


@pytest.mark.thorough
def test_a_pair_that_is_left_out_teaches_nothing(model: Path) -> None:
    replay = Replay.open(model)
    asked = ask(replay)
    whole, same = (float(replay.measure_lead(replay.train(out), asked)) for out in ((), ()))
    assert whole == same
    without = float(replay.measure_lead(replay.train({3, 4, 5}), asked))
    foretold = float(replay.follow_back([asked])[0, 3:6].sum())
    assert without != whole
    assert abs(foretold) < 10 * abs(whole - without) + 1


@pytest.mark.thorough
def test_the_command_follows_back_and_says_so(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = PAIRS[0]
    word = target.split()[1]
    command = ["taught", str(model), source, "--word", word, "--target", target, "--top", "3"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["method"] == "replay" and found["pairs"] == len(PAIRS)
    assert found["lead"] == pytest.approx(found["replayed"], abs=1e-4) and not found["gap"]
    for row in found["for"] + found["against"]:
        assert (row["source"], row["target"]) == PAIRS[row["line"] - 1]
    assert found["for"][0]["taught"] > 0 > found["against"][0]["taught"]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert "run again and followed back" in told and "a fault of the text stands out here" in told
    assert main([*command, "--by", "estimate", "--json"]) == 0
    estimate = json.loads(capsys.readouterr().out)
    assert estimate["method"] == "estimate" and "suspects" not in estimate
    assert found["suspects"] == estimate["for"]


def test_a_replay_of_another_training_is_not_passed_off_as_the_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run_training(tmp_path / "m", steps=7, validate_every=7)
    changes = ["train.steps=14", "train.label_smoothing=0.3", "train.learning_rate=0.03"]
    resume(out, changes=changes, accept_changed_settings=True, device="cpu", quiet=True)
    own = {name: x.detach() for name, x in load_model(out)[2].named_parameters()}
    replay = Replay.open(out)
    weights = replay.train()
    apart = max(float((weights[name] - own[name]).abs().max()) for name in weights)
    assert apart > 1e-3 and replay.measure_gap(weights, own) > CLOSE
    source, target = PAIRS[0]
    command = ["taught", str(out), source, "--word", target.split()[1], "--target", target]
    command += ["--data", str(write_pairs(tmp_path))]
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["method"] == "estimate"
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "ends in other weights, apart by" in text and "followed back" not in text
    assert main([*command, "--by", "replay"]) == 2
    assert "ends in other weights" in capsys.readouterr().err


def write_pairs(folder: Path) -> Path:
    path = folder / "train.tsv"
    path.write_text("".join(f"{one}\t{two}\n" for one, two in PAIRS), encoding="utf-8")
    return path


def test_a_gap_is_a_share_of_the_way_and_is_told(model: Path) -> None:
    replay = Replay.open(model)
    start = replay.first.weights
    own = {name: x + 2 for name, x in start.items()}
    assert replay.measure_gap(own, own) == 0
    assert replay.measure_gap(start, own) == pytest.approx(1)
    near = {name: x + 1.99 for name, x in start.items()}
    assert replay.measure_gap(near, own) == pytest.approx(0.005, rel=1e-3)
    assert replay.measure_gap(near, {}) == math.inf
    exact, close = (
        tell_method(TaughtLines("replay", "", 1.0, 1.0, gap, [])) for gap in (0.0, 0.005)
    )
    assert "not exact" not in exact
    assert "apart by 0.5 % of the way" in close and "not exact" in close


def test_the_estimate_weighs_what_the_training_read(tmp_path: Path) -> None:
    out = run_training(tmp_path / "m", {"context": 1, "tag": "<2fr>", "target_tag": "<fr>"})
    replay, translator = Replay.open(out), Translator.load(out, device="cpu", precision="fp32")
    places, pairs = encode_lines(translator, PAIRS)
    assert places == [*range(len(PAIRS))] and pairs == replay.pairs
    text = recall_text(replay.setup.prepared.store, translator, PAIRS)
    assert text.numbers == [place + 1 for place in places] and text.texts == PAIRS
    assert text.pairs == pairs


@pytest.mark.parametrize("name", ["alignment_weight", "prior_weight", "risk_weight"])
def test_an_idea_in_the_loss_leaves_the_estimate(
    model: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    config = Config.load(model / "config.toml").changed(train={name: 0.5})
    monkeypatch.setattr(replaying, "read_settings", lambda *_: config)
    assert find_obstacle(model) == f"it was trained with train.{name}"


def test_what_cannot_be_followed_back_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "run" in find_obstacle(tmp_path)
    out = run_training(tmp_path / "m", rdrop_alpha=1.0)
    assert "rdrop" in find_obstacle(out)
    assert main(["taught", str(out), PAIRS[0][0], "--word", "le", "--by", "replay"]) == 2
    command = ["taught", "demo", "The cat is small.", "--word", "chat"]
    assert main(command) == 2
    assert "--data is missing" in capsys.readouterr().err
