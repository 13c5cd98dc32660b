"""The gradient of an update against torch's own loss on the model's own logits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, kl_div

from glassformer.config import BOS, EOS, PAD, Model, Train
from glassformer.data.batches import Batch
from glassformer.model.transformer import Transformer
from glassformer.train.run.updates import Updater

SHAPE: dict[str, Any] = {"d_model": 16, "d_ff": 24, "heads": 2, "dropout": 0.0}
VOCABULARY = 40


def make_updater(train: Train | None = None, **settings: Any) -> Updater:
    torch.manual_seed(1)
    shape = Model(**SHAPE | settings, encoder_layers=1, decoder_layers=1)
    model = Transformer(shape, VOCABULARY, VOCABULARY)
    if model.output_bias is not None:
        torch.nn.init.normal_(model.output_bias)
    return Updater(model, train or Train(), torch.device("cpu"), "fp32")


def make_batch(seed: int, rows: int = 3) -> Batch:
    random = np.random.default_rng(seed)
    source = random.integers(3, VOCABULARY, (rows, 6))
    target = random.integers(3, VOCABULARY, (rows, 5))
    target[:, 0], target[:, -1] = BOS, EOS
    target[0, 3:], source[0, 4:] = (EOS, PAD), (EOS, PAD)
    return Batch(source, target, np.arange(rows))


@pytest.mark.parametrize("bias", [False, True])
def test_gradients_are_those_of_torchs_loss(bias: bool) -> None:
    updater, batch = make_updater(output_bias=bias), make_batch(0)
    share = updater.backward(batch, targets=7)
    found = {name: p.grad for name, p in updater.model.named_parameters()}
    updater.optimizer.zero_grad()
    target_BT = torch.from_numpy(batch.target_BT)
    logits_BTV = updater.model(torch.from_numpy(batch.source_BS), target_BT[:, :-1])
    loss = (
        cross_entropy(
            logits_BTV.flatten(0, 1),
            target_BT[:, 1:].flatten(),
            ignore_index=PAD,
            label_smoothing=0.1,
            reduction="sum",
        )
        / 7
    )
    loss.backward()  # type: ignore[no-untyped-call]
    assert share.item() == pytest.approx(loss.item(), rel=1e-5)
    for name, p in updater.model.named_parameters():
        torch.testing.assert_close(found[name], p.grad, rtol=1e-4, atol=1e-5, msg=name)


@pytest.mark.parametrize("bias", [False, True])
def test_consistency_draws_two_readings_together(bias: bool) -> None:
    """R-Drop's loss: the mean of both readings', and a quarter of alpha of what parts them."""
    updater, batch = make_updater(output_bias=bias, dropout=0.4), make_batch(0)
    updater.train = updater.train.model_copy(update={"rdrop_alpha": 3.0})
    updater.network.train()
    updater._seed(1, batch)
    share = updater.backward(batch, targets=7)
    found = {name: p.grad for name, p in updater.model.named_parameters()}
    updater.optimizer.zero_grad()
    updater._seed(1, batch)
    target_BT = torch.from_numpy(batch.target_BT)
    wanted_BT = target_BT[:, 1:]
    logits = [
        updater.network(torch.from_numpy(batch.source_BS), target_BT[:, :-1])[wanted_BT != PAD]
        for _ in range(2)
    ]
    wanted_N, (p, q) = wanted_BT[wanted_BT != PAD], (each.log_softmax(-1) for each in logits)
    rights = [cross_entropy(x, wanted_N, label_smoothing=0.1, reduction="sum") for x in logits]
    apart = sum(kl_div(a, b, reduction="sum", log_target=True) for a, b in ((p, q), (q, p)))
    assert apart > 0.01
    loss = (sum(rights) / 2 + 3.0 / 4 * apart) / 7
    loss.backward()
    assert share.item() == pytest.approx(loss.item(), rel=1e-5)
    for name, parameter in updater.model.named_parameters():
        assert parameter.grad is not None
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-4, atol=1e-5, msg=name)


def test_micro_batches_add_up_to_one_batch() -> None:
    whole, parts = make_updater(), make_updater()
    first, second = make_batch(0), make_batch(1)
    both = Batch(
        np.concatenate((first.source_BS, second.source_BS)),
        np.concatenate((first.target_BT, second.target_BT)),
        np.arange(6),
    )
    one, two = whole.update(1, 1e-3, [both]), parts.update(1, 1e-3, [first, second])
    assert one.loss == pytest.approx(two.loss, rel=1e-5)
    assert one.gradient_norm == pytest.approx(two.gradient_norm, rel=1e-4)
    assert (one.source_tokens, one.target_tokens) == (two.source_tokens, two.target_tokens)


@pytest.mark.parametrize("share", [0.3, 0.7, 1.5])
def test_the_gradient_is_clipped_at_the_norm_that_was_set(share: float) -> None:
    """What the optimizer gets has the norm `max_grad_norm`, or its own where that is smaller."""
    whole = make_updater(Train(max_grad_norm=None)).update(1, 1e-3, [make_batch(0)]).gradient_norm
    updater, norms = make_updater(Train(max_grad_norm=share * whole)), []
    updater.optimizer.register_step_pre_hook(lambda *_: norms.append(updater._norm().item()))
    outcome = updater.update(1, 1e-3, [make_batch(0)])
    assert outcome.gradient_norm == pytest.approx(whole, rel=1e-4)
    assert norms == [pytest.approx(min(share, 1.0) * whole, rel=1e-3)]


def test_the_average_forgets_its_beginning_sooner_than_ema_says() -> None:
    """Its decay at update n is the smaller of `ema` and (1 + n) / (10 + n), as in TensorFlow."""
    updater = make_updater(Train(ema=0.9))
    for step, decay in ((1, 2 / 11), (2, 3 / 12), (70, 71 / 80), (81, 0.9), (5000, 0.9)):
        before = [p.clone() for p in updater.best_model.parameters()]
        updater.update(step, 1e-2, [make_batch(step)])
        for old, new, found in zip(
            before, updater.model.parameters(), updater.best_model.parameters(), strict=True
        ):
            torch.testing.assert_close(found, decay * old + (1 - decay) * new, rtol=0, atol=1e-6)


def test_a_gradient_that_is_not_finite_moves_nothing() -> None:
    updater = make_updater()
    with torch.no_grad():
        updater.model.output_table.weight[5].fill_(float("nan"))
    before = [p.clone() for p in updater.model.parameters()]
    assert not updater.update(1, 1e-3, [make_batch(0)]).is_finite
    for old, new in zip(before, updater.model.parameters(), strict=True):
        assert torch.equal(old.nan_to_num(7), new.nan_to_num(7))


@pytest.mark.thorough
@pytest.mark.parametrize("rdrop_alpha", [0.0, 0.5])
def test_no_value_is_asked_for_on_the_way(
    monkeypatch: pytest.MonkeyPatch, rdrop_alpha: float
) -> None:
    """PyTorch's device "meta" goes the way of a GPU, and has no values that it could tell."""
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: False)  # it knows no "meta"
    model = Transformer(Model(**SHAPE | {"dropout": 0.1}), VOCABULARY, VOCABULARY)
    train = Train(rdrop_alpha=rdrop_alpha, ema=0.9)
    updater = Updater(model, train, torch.device("meta"), "fp32")
    updater.model.train()
    loss = updater._forward_backward(1, [make_batch(0), make_batch(1)], targets=14)
    norm = updater._norm()
    assert loss.is_meta and norm.is_meta
    torch.nn.utils.clip_grads_with_norm_(updater.model.parameters(), 1.0, norm)
    updater._step(1, 1e-3)
    with pytest.raises(NotImplementedError, match="no data"):
        updater.update(1, 1e-3, [make_batch(0)])
