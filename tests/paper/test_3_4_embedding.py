"""Section 3.4: embeddings times the root of d_model, and one matrix for in and out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from glassformer.config import Model, Positions
from glassformer.model.transformer import Transformer

SETTINGS = Model(d_model=10, d_ff=6, heads=2, encoder_layers=1, decoder_layers=1)


def test_words_and_places_are_added(array: Any, scatter: Any) -> None:
    network = scatter(Transformer(SETTINGS, 7, 7))
    ids_BL = torch.tensor([[3, 6, 2], [5, 2, 0]])
    table = array(network.output_table.weight)
    actual = array(network.source_embedding(ids_BL))
    for b, ids in enumerate(ids_BL.tolist()):
        for position, token in enumerate(ids):
            for d in range(10):
                angle = position / 10000 ** (2 * (d // 2) / 10)
                place = math.cos(angle) if d % 2 else math.sin(angle)
                expected = table[token, d] * math.sqrt(10) + place
                assert abs(actual[b, position, d] - expected) < 1e-5


def test_places_given_and_places_counted_agree(scatter: Any) -> None:
    for layout in ("interleaved", "learned"):
        settings = SETTINGS.model_copy(update={"positions": Positions(layout=layout)})
        embedding = scatter(Transformer(settings, 7, 7)).target_embedding
        ids_BL = torch.tensor([[3, 6, 2], [5, 2, 0]])
        asked = embedding(ids_BL[:, 1:], torch.tensor([[1, 2], [1, 2]]))
        assert torch.equal(asked, embedding(ids_BL)[:, 1:])


def test_the_output_is_the_same_matrix(array: Any, scatter: Any) -> None:
    """A logit is a dot product with the very row that the token is read by."""
    network = scatter(Transformer(SETTINGS, 7, 7))
    y_BTD = torch.randn(1, 2, 10)
    table, y = array(network.source_embedding.table.weight), array(y_BTD)[0]
    expected = [[place @ row for row in table] for place in y]
    np.testing.assert_allclose(array(network.logits(y_BTD))[0], expected, rtol=1e-5, atol=1e-5)


def test_first_values(array: Any) -> None:
    """Embeddings begin with variance 1/d_model: scaled up, they are as large as 1."""
    table = Transformer(SETTINGS.model_copy(update={"d_model": 64}), 999, 999).output_table
    assert abs(array(table.weight).std() * math.sqrt(64) - 1) < 0.02
