"""The list of weights, beside the network that makes them."""

from __future__ import annotations

import pytest
from tests.equal.variants import VARIANTS

from glassformer.config import Config, Model, Positions
from glassformer.model.files.shapes import list_shapes
from glassformer.model.networks import build_network
from glassformer.model.transformer import Transformer

SMALL = Model(d_model=16, d_ff=24, heads=2, encoder_layers=1, decoder_layers=2)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"tie": "two-way", "norm": "pre"},
        {"tie": "none", "output_bias": True},
        {"head_width": 5, "encoder_layers": 3},
        {"positions": Positions(layout="learned", max_positions=9)},
        {"positions": Positions(layout="concatenated", max_positions=9)},
        *VARIANTS.values(),
    ],
)
def test_the_network_has_these_weights(changed: dict[str, object]) -> None:
    settings = Model.model_validate(SMALL.model_dump(exclude_unset=True) | changed)
    sizes = (30, 30) if settings.tie == "three-way" else (30, 40)
    wanted = Transformer(settings, *sizes).state_dict()
    assert list_shapes(settings, *sizes) == {name: tuple(x.shape) for name, x in wanted.items()}


@pytest.mark.parametrize(
    "rnn",
    [
        {},
        {"cell": "lstm", "bidirectional": True, "attention": "dot"},
        {"attention": "general", "input_feeding": True},
        {"bidirectional": True, "attention": "additive"},
    ],
)
def test_a_recurrent_network_has_these_weights(rnn: dict[str, object]) -> None:
    shape = {"network": "rnn", "d_model": 12, "encoder_layers": 2, "decoder_layers": 2}
    settings = Config.read({"model": {**shape, "output_bias": True, "rnn": rnn}}).model
    wanted = build_network(settings, 30, 30).state_dict()
    assert list_shapes(settings, 30, 30) == {name: tuple(x.shape) for name, x in wanted.items()}
