"""Section 5.4: dropout falls on each sub-layer's output before it is added, and on the sum of
embedding and position; nowhere else, and only in training."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from glassformer.config import Model
from glassformer.model.residual import Residual
from glassformer.model.transformer import Transformer

SETTINGS = Model(d_model=8, d_ff=8, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.5)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_residual_drops_what_it_adds(norm: Any) -> None:
    """0.5 of the ones that the sub-layer says are dropped, the others doubled; x passes whole."""
    residual = Residual(SETTINGS.model_copy(update={"norm": norm}))
    residual.norm = nn.Identity()
    torch.manual_seed(1)
    x_BLD = torch.randn(5, 20, 8)
    added = residual(x_BLD, torch.ones_like) - x_BLD
    dropped = (added.abs() < 1e-6).float().mean().item()
    assert abs(dropped - 0.5) < 5 * (0.25 / added.numel()) ** 0.5
    assert torch.allclose(added[added > 0.5], torch.tensor(2.0))
    assert torch.allclose(residual.eval()(x_BLD, torch.ones_like), x_BLD + 1)


def test_an_embedding_drops_the_sum() -> None:
    embedding = Transformer(SETTINGS, 9, 9).source_embedding
    ids_BL = torch.randint(1, 9, (5, 20))
    torch.manual_seed(1)
    dropped = embedding(ids_BL)
    whole = embedding.eval()(ids_BL)
    assert torch.allclose(dropped, torch.where(dropped == 0, 0, 2 * whole))
    assert abs((dropped == 0).float().mean().item() - 0.5) < 5 * (0.25 / whole.numel()) ** 0.5


def test_there_is_no_other_dropout() -> None:
    at_work = {
        name
        for name, module in Transformer(SETTINGS, 9, 9).named_modules()
        if isinstance(module, nn.Dropout) and module.p
    }
    assert at_work == {
        f"{owner}.dropout"
        for owner in (
            "source_embedding",
            "target_embedding",
            "encoder.0.self_attention_residual",
            "encoder.0.feed_forward_residual",
            "decoder.0.self_attention_residual",
            "decoder.0.cross_attention_residual",
            "decoder.0.feed_forward_residual",
        )
    }
