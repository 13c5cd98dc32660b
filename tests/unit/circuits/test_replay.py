"""A training that is followed back: its derivatives are differences of real trainings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.unit.circuits.test_teaching import CONTRAST, PAIRS, V

from glassformer.config import EOS, Model
from glassformer.extensions.circuits import replay
from glassformer.extensions.circuits.replay import Replay, ReplayPlan
from glassformer.extensions.circuits.teaching import TokenPair
from glassformer.model.networks import build_network

PLAN = ReplayPlan(updates=40, batch=4, rate=3e-3, warmup=5)
OTHER = CONTRAST._replace(answers=(8, 11), given=CONTRAST.given[:1])


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Replay:
    monkeypatch.setattr(replay, "REMEMBER", 7)
    monkeypatch.setattr(replay, "EPSILON", 1e-3)  # tiny gradients bend what is differentiated
    torch.manual_seed(8)
    settings = {"d_model": 16, "heads": 2, "d_ff": 12, "encoder_layers": 1, "decoder_layers": 1}
    made = build_network(Model.model_validate(settings | {"norm": "pre"}), V, V)
    network: Any = made.double().eval().requires_grad_(False)
    rng = np.random.default_rng(2)
    pairs = PAIRS + [
        TokenPair((*rng.integers(5, V, 3).tolist(), EOS), (*rng.integers(5, V, 4).tolist(), EOS))
        for _ in range(6)
    ]
    return Replay(network, pairs, PLAN)


def test_a_derivative_is_the_difference_of_two_trainings(trained: Replay) -> None:
    found = trained.follow_back([CONTRAST, OTHER])
    step = 1e-5
    for pair in range(0, 10, 3):
        leads = []
        for sign in (1, -1):
            amount_N = torch.ones(10, dtype=torch.float64)
            amount_N[pair] += sign * step
            weights = trained.train(amount_N)
            leads.append([float(trained.measure_lead(weights, x)) for x in (CONTRAST, OTHER)])
        for of, (up, down) in enumerate(zip(*leads, strict=True)):
            assert float(found[of, pair]) == pytest.approx((up - down) / (2 * step), rel=1e-4)
    assert found.abs().max() > 0.01


def test_a_pair_with_no_amount_is_left_out(trained: Replay) -> None:
    amount_N = torch.ones(10, dtype=torch.float64)
    amount_N[2] = 0
    without = trained.train(amount_N)
    trained.pairs = [*trained.pairs]
    trained.pairs[2] = TokenPair((9, 9, 9, 9, EOS), (7, 7, 7, 7, EOS))
    trained.batches = [trained._pack(each.pairs.tolist()) for each in trained.batches]
    assert torch.allclose(without, trained.train(amount_N), atol=1e-9)
    assert not torch.allclose(without, trained.train(), atol=1e-3)


def test_training_lowers_the_loss(trained: Replay) -> None:
    batch = trained._pack(range(10))
    before = trained.measure_losses(trained.first, batch).sum()
    assert trained.measure_losses(trained.train(), batch).sum() < 0.8 * before
    rates = [PLAN.rate_at(n) for n in range(PLAN.updates)]
    assert max(rates) == PLAN.rate == rates[4] and rates[-1] < 0.1 * PLAN.rate
