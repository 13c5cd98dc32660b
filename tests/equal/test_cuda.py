"""On a GPU: the same words, the same updates, and in bf16 nearly so."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest
import torch

from glassformer.config import BOS, EOS, PAD, Decode, Model, Train
from glassformer.data.batches import Batch
from glassformer.decode import score_targets, search
from glassformer.model.transformer import Transformer
from glassformer.train.run.updates import Updater

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

GPU = torch.device("cuda")
V = 61
SHAPE = Model(d_model=32, d_ff=48, heads=4, encoder_layers=2, decoder_layers=2, dropout=0.0)
SEARCHES = {
    "greedy": Decode(search="greedy", max_extra=6),
    "beam": Decode(beam=4, max_extra=6),
    "rules": Decode(beam=3, no_repeat_ngram_size=2, min_length=3, max_extra=6),
    "sample": Decode(search="sample", top_p=0.9, max_extra=6),
}


@pytest.fixture
def network() -> Transformer:
    """Sure enough of itself that no two hypotheses tie."""
    torch.manual_seed(5)
    network = Transformer(SHAPE, V, V).eval()
    with torch.no_grad():
        network.output_table.weight.mul_(3)
    return network


@pytest.fixture
def sources() -> list[list[int]]:
    draw = random.Random(4)
    return [[*draw.choices(range(3, V), k=draw.randint(0, 11)), EOS] for _ in range(24)]


def make_batch(seed: int) -> Batch:
    draw = np.random.default_rng(seed)
    source, target = draw.integers(3, V, (8, 9)), draw.integers(3, V, (8, 7))
    target[:, 0], target[:, -1] = BOS, EOS
    source[0, 4:], target[0, 3:] = (EOS, *[PAD] * 4), (EOS, *[PAD] * 3)
    return Batch(source, target, np.arange(8))


@pytest.mark.parametrize("name", SEARCHES)
def test_the_same_words(network: Transformer, sources: list[list[int]], name: str) -> None:
    found = []
    with torch.inference_mode():
        for device in (torch.device("cpu"), GPU):
            network = network.to(device)
            best = search(network, sources, SEARCHES[name], device=device)
            found.append([each.tokens for (each,) in best])
    assert found[0] == found[1]


def test_the_same_probabilities(network: Transformer, sources: list[list[int]]) -> None:
    targets = [[*reversed(source[:-1])] for source in sources]
    with torch.inference_mode():
        on_cpu = score_targets(network, sources, targets)
        on_gpu = score_targets(network.to(GPU), sources, targets, device=GPU)
    for one, other in zip(on_cpu, on_gpu, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_the_same_updates(network: Transformer, optimizer: str) -> None:
    train = Train(optimizer=optimizer, ema=0.9)
    losses = []
    for device in (torch.device("cpu"), GPU):
        updater = Updater(copy.deepcopy(network), train, device, "fp32")
        outcomes = [updater.update(n, 1e-3, [make_batch(n)]) for n in range(1, 6)]
        losses.append([outcome.loss for outcome in outcomes])
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_bf16_learns(network: Transformer) -> None:
    """The same batch again and again; attention is the vendor's, in bf16."""
    updater = Updater(network, Train(), GPU, "bf16")
    losses = [updater.update(n, 1e-3, [make_batch(1)]).loss for n in range(1, 41)]
    assert losses[-1] < 0.8 * losses[0]
