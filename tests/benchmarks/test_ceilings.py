"""What the processor can do, and how much of it a model asks for."""

from __future__ import annotations

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.ceilings import count_flops, measure_ceilings
from glassformer.config import Model
from glassformer.model.transformer import Transformer


def test_operations_are_those_that_torch_counts() -> None:
    """Of a whole training pass: the forward pass counted by torch, and twice as many backward."""
    settings = Model(d_model=16, d_ff=24, heads=2, encoder_layers=2, decoder_layers=3)
    network, size, source, target = Transformer(settings, 40, 40).eval(), 3, 7, 5
    source_BS = torch.randint(3, 40, (size, source))
    target_BT = torch.randint(3, 40, (size, target))
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(source_BS, target_BT)
    looks = {
        "encoder": size * source**2,
        "decoder": size * target**2,
        "across": size * source * target,
    }
    counted = count_flops(settings.model_dump(), 40, size * source, size * target, looks)
    # Where nobody looks, sums of exponentials are a product with ones: a few operations more.
    assert 0.95 < 3 * counter.get_total_flops() / counted < 1.1


def test_ceilings_are_measured() -> None:
    found = measure_ceilings(seconds=0.001, cube=128, size=1 << 16)
    assert {"fp32 TFLOP/s", "bf16 TFLOP/s", "memory GB/s"} <= found.keys()
    assert all(value > 0 for value in found.values())
