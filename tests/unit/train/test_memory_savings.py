"""fp16 with loss scaling, gradient checkpointing, determinism and torch.compile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.config import Config, Train
from glassformer.model.files.tensors import load_tensors
from glassformer.train import resume, train
from glassformer.train.run.checkpoint import read_progress
from glassformer.train.run.loss_scaling import FIRST, LossScale
from glassformer.train.run.process import repeat_bits
from glassformer.train.run.updates import Updater

from .conftest import Settings
from .test_updates import make_batch, make_updater


def make_gradients(updater: Updater) -> dict[str, torch.Tensor]:
    updater._seed(1, make_batch(0))
    updater.backward(make_batch(0), targets=7)
    found = {
        name: p.grad.clone() for name, p in updater.model.named_parameters() if p.grad is not None
    }
    updater.optimizer.zero_grad()
    return found


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("network", ["transformer", "rnn"])
def test_checkpointing_changes_no_gradient(norm: str, network: str) -> None:
    """With dropout: what is computed again has to draw the same."""
    how: dict[str, Any] = {"dropout": 0.3, "attention_dropout": 0.2, "norm": norm}
    plain = make_gradients(make_updater(Train(), **how))
    spared = make_gradients(make_updater(Train(gradient_checkpointing=True), **how))
    assert plain.keys() == spared.keys()
    for name in plain:
        torch.testing.assert_close(spared[name], plain[name], rtol=0, atol=0, msg=name)


def test_checkpointing_keeps_less() -> None:
    """Bytes that autograd keeps between the passes."""

    def count(updater: Updater) -> int:
        kept = 0

        def keep(x: torch.Tensor) -> torch.Tensor:
            nonlocal kept
            kept += x.nbytes
            return x

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
            updater._measure(make_batch(0, rows=64))
        return kept

    assert count(make_updater(Train(gradient_checkpointing=True))) < count(make_updater()) / 2


def test_a_run_with_checkpointing_is_the_same(
    tmp_path: Path, corpus: list[Path], settings: Settings
) -> None:
    for name, more in (("plain", {}), ("spared", {"gradient_checkpointing": True})):
        train(settings(**more), corpus, tmp_path / name, quiet=True)
    one, other = (load_tensors(tmp_path / f"{n}/model.safetensors") for n in ("plain", "spared"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_the_scale_halves_and_grows() -> None:
    scale = LossScale("fp16", torch.device("cpu"))
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight])

    def give(value: float) -> bool:
        weight.grad = torch.full((3,), value)
        return scale.reduce(optimizer, weight.grad.norm())

    assert scale.enlarge(torch.ones(())) == FIRST
    assert give(float("inf")) and scale.enlarge(torch.ones(())) == FIRST / 2
    norm = torch.tensor(FIRST)
    weight.grad = torch.full((3,), FIRST)
    assert not scale.reduce(optimizer, norm)
    assert torch.equal(weight.grad, torch.full((3,), 2.0)) and norm == 2
    for _ in range(1999):
        assert not give(1.0)
    assert scale.enlarge(torch.ones(())) == FIRST
    for _ in range(16):
        assert give(float("nan"))
    assert not give(float("nan"))  # with the least scale it is no overflow, but the network's own
    again = LossScale("fp16", torch.device("cpu"))
    again.load(scale.state())
    assert again.state() == scale.state() != LossScale("fp16", torch.device("cpu")).state()


def test_an_overflow_costs_no_update() -> None:
    """The gradients of an update are those of fp32, up to rounding, whatever the scale was."""
    fp16 = make_updater(Train(precision="fp16"))
    fp16 = Updater(fp16.model, fp16.train, torch.device("cpu"), "fp16")
    fp16.loss_scale.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40)
    seen: list[dict[str, torch.Tensor]] = []
    step = fp16._step
    fp16._step = lambda *how: (seen.append(copy_gradients(fp16)), step(*how))  # type: ignore[method-assign, func-returns-value]
    outcome = fp16.update(1, 0.01, [make_batch(0)])
    assert outcome.is_finite and fp16.loss_scale.scaler.get_scale() < 2.0**40
    plain = make_updater(Train(max_grad_norm=None))
    wanted = plain.update(1, 0.0, [make_batch(0)])
    assert outcome.gradient_norm == pytest.approx(wanted.gradient_norm, rel=0.02)
    assert outcome.loss == pytest.approx(wanted.loss, rel=1e-3)
    assert len(seen) == 1


def copy_gradients(updater: Updater) -> dict[str, torch.Tensor]:
    return {n: p.grad.clone() for n, p in updater.model.named_parameters() if p.grad is not None}


def test_fp16_resumes_bit_for_bit(
    tmp_path: Path, corpus: list[Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(steps=8, precision="fp16", checkpoint_every=3)
    train(config, corpus, tmp_path / "whole", quiet=True, device="cpu")
    update = Updater.update

    def dies(self: Updater, step: int, *rest: Any) -> Any:
        if step == 5:
            raise KeyboardInterrupt
        return update(self, step, *rest)

    monkeypatch.setattr(Updater, "update", dies)
    with pytest.raises(KeyboardInterrupt):
        train(config, corpus, tmp_path / "broken", quiet=True, device="cpu")
    monkeypatch.undo()
    resume(tmp_path / "broken", quiet=True, device="cpu")
    one, other = (
        max((tmp_path / name / "run/checkpoints").iterdir()) for name in ("whole", "broken")
    )
    for name in ("weights", "optimizer"):
        a, b = (load_tensors(path / f"{name}.safetensors") for path in (one, other))
        assert a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)
    assert read_progress(one).loss_scale == read_progress(other).loss_scale
    assert read_progress(one).loss_scale["scale"] > 1


def test_the_switch_of_determinism_is_put_back() -> None:
    with repeat_bits(True):
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
    with repeat_bits(False):
        assert not torch.are_deterministic_algorithms_enabled()


def test_deterministic_trainings_are_equal(
    tmp_path: Path, corpus: list[Path], settings: Settings
) -> None:
    for name in ("one", "other"):
        train(settings(deterministic=True), corpus, tmp_path / name, quiet=True)
    one, other = (load_tensors(tmp_path / f"{n}/model.safetensors") for n in ("one", "other"))
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside of torch.compile
def test_a_compiled_network_has_the_same_loss() -> None:
    from torch._inductor.cpp_builder import get_cpp_compiler

    try:
        get_cpp_compiler()
    except RuntimeError:
        pytest.skip("torch.compile needs a C++ compiler")
    plain, compiled = make_updater(), make_updater(Train(compile=True))
    for number in range(3):
        one, other = (
            each.update(number + 1, 1e-3, [make_batch(number)]) for each in (plain, compiled)
        )
        assert other.loss == pytest.approx(one.loss, rel=1e-4)
        assert other.gradient_norm == pytest.approx(one.gradient_norm, rel=1e-3)


@pytest.mark.parametrize(
    "changes", [{"compile": True}, {"gradient_checkpointing": True}, {"precision": "fp16"}]
)
def test_sharding_refuses(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is not possible with shard=true"):
        Config.read({"train": {"shard": True, **changes}})
