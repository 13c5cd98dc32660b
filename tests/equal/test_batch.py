"""What else is in the batch changes nothing: neither numbers nor words."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from glassformer.config import Decode, Model
from glassformer.decode import search
from glassformer.engine.kernels.cross_entropy import smoothed_cross_entropy
from glassformer.model.transformer import Transformer

V, BOS, EOS = 23, 1, 2
SEARCHES = {
    "greedy": Decode(search="greedy"),
    "beam": Decode(beam=4),
    "first": Decode(beam=3, stop="first", no_repeat_ngram_size=2),
    "sample": Decode(search="sample", top_p=0.95, temperature=1.2),
}


def test_logits(
    network: Transformer, batch: tuple[Tensor, Tensor], equal: Callable[..., None]
) -> None:
    """A sentence in company, padded and all, against the same sentence alone and unpadded."""
    with torch.inference_mode():
        together_BTV = network(*batch)
        for source, target, logits_TV in zip(*batch, together_BTV, strict=True):
            source, target = source[source != 0], target[target != 0]
            alone_TV = network(source[None], target[None])[0]
            equal(logits_TV[: len(target)], alone_TV)


@pytest.fixture(scope="module")
def copier() -> Transformer:
    """A network that has begun to learn to copy: as sure as real ones, and as unsure."""
    torch.manual_seed(3)
    settings = Model(d_model=64, d_ff=96, heads=4, encoder_layers=2, decoder_layers=2, norm="pre")
    network = Transformer(settings, V, V)
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(160):
        words_BL = torch.randint(3, V, (32, 4))
        begin, end = (words_BL.new_full((len(words_BL), 1), token) for token in (BOS, EOS))
        source_BS, target_BT = torch.cat([words_BL, end], 1), torch.cat([begin, words_BL], 1)
        y_ND = network.read(source_BS, target_BT).flatten(0, 1)
        table_VD = network.output_table.weight
        loss = smoothed_cross_entropy(y_ND, table_VD, source_BS.flatten(), 0.1) / len(y_ND)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return network.eval()


@pytest.mark.parametrize("name", SEARCHES)
def test_words(copier: Transformer, name: str) -> None:
    """Alone, all at once, in small batches and refilled: the same tokens, and equal scores."""
    draw = random.Random(4)
    sources = [[*draw.choices(range(3, V), k=draw.randint(0, 9)), EOS] for _ in range(40)]
    settings = SEARCHES[name].model_copy(update={"max_extra": 6})
    with torch.inference_mode():
        alone = [
            search(copier, [source], settings, lines=[line])[0][0]
            for line, source in enumerate(sources)
        ]
        for refill, budget in [(False, 10_000), (False, 60), (True, 150)]:
            found = search(copier, sources, settings, refill=refill, budget=budget)
            assert [best.tokens for (best,) in found] == [best.tokens for best in alone]
            assert [best.score for (best,) in found] == pytest.approx(
                [best.score for best in alone], abs=1e-5
            )
    copied = sum(best.tokens == source[:-1] for best, source in zip(alone, sources, strict=True))
    assert 0 < copied < len(sources), "all right or all wrong: too sure, or too unsure, to tell"
