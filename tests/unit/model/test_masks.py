"""Who may look at whom, cell by cell."""

from __future__ import annotations

import torch

from glassformer.config import Model
from glassformer.foundation.tap import record as watch
from glassformer.model.masks import cached_mask, causal_mask, padding_mask
from glassformer.model.transformer import Transformer


def test_padding() -> None:
    mask = padding_mask(torch.tensor([[5, 2, 0], [1, 0, 0]]))
    assert mask.tolist() == [[[[True, True, False]]], [[[True, False, False]]]]


def test_causal() -> None:
    """A position sees itself and its past: what is hidden lies strictly above the diagonal."""
    mask = causal_mask(5)
    assert mask.shape == (1, 1, 5, 5)
    for query in range(5):
        for memory in range(5):
            assert mask[0, 0, query, memory] == (memory <= query)


def test_cached() -> None:
    """Rows of unequal lengths: query q of a row of length n sees the positions up to n + q."""
    mask = cached_mask(torch.tensor([0, 3]), queries=2, capacity=6)
    assert mask.shape == (2, 1, 2, 6)
    for row, length in enumerate([0, 3]):
        for query in range(2):
            for memory in range(6):
                assert mask[row, 0, query, memory] == (memory <= length + query)


def test_the_decoder_looks_neither_ahead_nor_at_padding() -> None:
    """In training too; memory's padding is hidden from both sides."""
    settings = Model(d_model=8, d_ff=8, heads=2, encoder_layers=1, decoder_layers=1)
    source_BS, target_BT = torch.tensor([[5, 2, 0]]), torch.tensor([[1, 5, 0, 0]])
    with watch(Transformer(settings, 9, 9)) as (view, trace):
        view(source_BS, target_BT)
    seen = {
        name: (trace[f"{name}.weights"][0] > 0)[0].tolist()
        for name in (
            "encoder.0.self_attention",
            "decoder.0.self_attention",
            "decoder.0.cross_attention",
        )
    }
    assert seen["encoder.0.self_attention"] == [[[True, True, False]] * 3] * 2
    assert seen["decoder.0.cross_attention"] == [[[True, True, False]] * 4] * 2
    first, second = [True, False, False, False], [True, True, False, False]
    assert seen["decoder.0.self_attention"] == [[first, second, second, second]] * 2


def test_no_number_depends_on_what_comes_later() -> None:
    """A change of one target token moves no logit before it, and no padding moves any."""
    settings = Model(d_model=8, d_ff=8, heads=2, encoder_layers=1, decoder_layers=2)
    network = Transformer(settings, 9, 9).eval()
    source_BS, target_BT = torch.tensor([[5, 6, 2]]), torch.tensor([[1, 5, 6, 7]])
    logits_TV = network(source_BS, target_BT)[0]
    changed_TV = network(source_BS, torch.tensor([[1, 5, 8, 7]]))[0]
    assert torch.equal(changed_TV[:2], logits_TV[:2])
    assert not torch.isclose(changed_TV[2:], logits_TV[2:]).all(-1).any()
    padded = network(torch.tensor([[5, 6, 2, 0, 0]]), torch.tensor([[1, 5, 6, 7, 0]]))
    torch.testing.assert_close(padded[0, :4], logits_TV)
