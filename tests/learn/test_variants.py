"""Each variant of the Transformer learns to copy: a tiny network of each."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from glassformer.config import Config, Decode
from glassformer.decode import search
from glassformer.engine.kernels.cross_entropy import smoothed_cross_entropy
from glassformer.model.networks import build_network

V, BOS, EOS, LENGTH, STEPS = 12, 1, 2, 5, 240
SHAPE: dict[str, Any] = {
    "d_model": 32,
    "d_ff": 64,
    "heads": 4,
    "encoder_layers": 1,
    "decoder_layers": 1,
}
# Each idea is in one of them: one way to place tokens, and one other change.
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {"norm": "post"},
    "concatenated, gelu": {"positions": {"layout": "concatenated"}, "activation": "gelu"},
    "sine, multi-query": {"positions": {"layout": "sine"}, "key_value_heads": 1},
    "learned, gated": {"positions": {"layout": "learned"}, "gated": True, "activation": "silu"},
    "rotary, grouped-query": {"positions": {"layout": "rotary"}, "key_value_heads": 2},
    "alibi, rms": {"positions": {"layout": "alibi"}, "normalization": "rms"},
    "relative, local": {
        "positions": {"layout": "relative", "reach": 4},
        "attention": {"pattern": "local", "width": 2},
    },
    "multiplied, strided": {
        "positions": {"combine": "multiply"},
        "attention": {"pattern": "strided", "width": 2, "stride": 3},
    },
    "side by side, global and local": {
        "positions": {"combine": "concatenate"},
        "attention": {"pattern": "global+local", "width": 2},
    },
}


def draw(count: int, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(3, V, (count, LENGTH), generator=generator)


def measure_copying(settings: dict[str, Any]) -> float:
    """Train a network on copying; return the share of right tokens of new texts, greedily."""
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(2)
    model = Config.read({"model": {"norm": "pre", "dropout": 0.0, **SHAPE, **settings}}).model
    network = build_network(model, V, V)
    optimizer = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=STEPS)
    end = torch.full((48, 1), EOS)
    for _ in range(STEPS):
        words = draw(48, generator)
        source_BS = torch.cat((words, end), 1)
        given_BT = torch.cat((torch.full_like(end, BOS), words), 1)
        y_ND = network.read(source_BS, given_BT).flatten(0, 1)
        wanted_N = source_BS.flatten()
        loss = smoothed_cross_entropy(y_ND, network.output_table.weight, wanted_N, 0.0)
        optimizer.zero_grad()
        (loss / len(wanted_N)).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    texts = draw(50, generator).tolist()
    with torch.inference_mode():
        found = search(network.eval(), [[*row, EOS] for row in texts], Decode(search="greedy"))
    right = sum(
        a == b
        for row, (best,) in zip(texts, found, strict=True)
        for a, b in zip(row, best.tokens, strict=False)
    )
    return right / (50 * LENGTH)


@pytest.mark.thorough
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_learns_to_copy(variant: str) -> None:
    assert measure_copying(VARIANTS[variant]) > 0.9


def test_without_positions_only_the_mask_tells_the_order() -> None:
    """The encoder's output is then a set: the decoder knows the words, not their places."""
    assert 0.2 < measure_copying({"positions": {"layout": "none"}}) < 0.9
