"""Every setting of a model does something, and what cannot be is refused in one sentence."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.config import AttentionPattern, Model, Positions
from glassformer.model.transformer import Transformer

SOURCE = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]])
TARGET = torch.tensor([[1, 5, 6], [1, 8, 0]])
# One setting at a time, and what it changes: parameters (names and shapes), what is computed, or
# what is computed in training alone.
CHANGES = {
    "d_model": (16, "parameters"),
    "d_ff": (5, "parameters"),
    "heads": (4, "outputs"),
    "head_width": (3, "parameters"),
    "encoder_layers": (3, "parameters"),
    "decoder_layers": (1, "parameters"),
    "decoder": ("ssru", "parameters"),
    "dropout": (0.3, "training"),
    "attention_dropout": (0.3, "training"),
    "activation_dropout": (0.3, "training"),
    "norm": ("pre", "parameters"),
    "norm_epsilon": (0.1, "outputs"),
    "normalization": ("rms", "parameters"),
    "activation": ("silu", "outputs"),
    "gated": (True, "parameters"),
    "key_value_heads": (1, "parameters"),
    "embedding_norm": (True, "parameters"),
    "ablate": (("scale",), "outputs"),
    "attention": (AttentionPattern(pattern="local", width=1), "outputs"),
    "tie": ("none", "parameters"),
    "output_bias": (True, "parameters"),
}
PLACES = {
    "layout": ("concatenated", "outputs"),
    "grid": ("tensor2tensor", "outputs"),
    "offset": (3, "outputs"),
    "amplitude": (0.5, "outputs"),
    "combine": ("multiply", "outputs"),
}


def make_settings(**changes: Any) -> Model:
    shape = {"d_model": 12, "d_ff": 10, "heads": 2, "encoder_layers": 2, "decoder_layers": 2}
    return Model(**{**shape, "dropout": 0.0, **changes})


def build(settings: Model, source: int = 11, target: int = 11) -> Transformer:
    torch.manual_seed(1)
    return Transformer(settings, source, target)


def run(network: Transformer) -> Tensor:
    torch.manual_seed(1)
    with torch.no_grad():
        return network(SOURCE, TARGET)


def list_parameters(network: Transformer) -> dict[str, Any]:
    return {name: tuple(x.shape) for name, x in network.named_parameters()}


def find_change(one: Transformer, other: Transformer) -> str:
    if list_parameters(one) != list_parameters(other):
        return "parameters"
    if not torch.allclose(run(one.eval()), run(other.eval())):
        return "outputs"
    return "nothing" if torch.equal(run(one.train()), run(other.train())) else "training"


def test_every_setting_is_tried() -> None:
    others = {"positions", "network", "rnn", "labels", "plugin"}  # of other networks, but the first
    assert CHANGES.keys() == Model.model_fields.keys() - others
    assert PLACES.keys() == Positions.model_fields.keys() - {"max_positions", "reach"}


def test_the_same_settings_make_the_same_network() -> None:
    assert find_change(build(make_settings()), build(make_settings())) == "nothing"


@pytest.mark.parametrize("name", CHANGES)
def test_a_setting_has_an_effect(name: str) -> None:
    value, effect = CHANGES[name]
    assert find_change(build(make_settings()), build(make_settings(**{name: value}))) == effect


@pytest.mark.parametrize("name", PLACES)
def test_a_setting_of_positions_has_an_effect(name: str) -> None:
    value, effect = PLACES[name]
    other = make_settings(positions=Positions(**{name: value}))
    assert find_change(build(make_settings()), build(other)) == effect


def test_learned_positions_are_saved_and_others_are_not() -> None:
    learned = build(make_settings(positions=Positions(layout="learned", max_positions=9)))
    names = {"source_embedding.positions_LD", "target_embedding.positions_LD"}
    assert list_parameters(learned).items() >= dict.fromkeys(names, (9, 12)).items()
    assert not names & build(make_settings()).state_dict().keys()
    learned(SOURCE, TARGET).sum().backward()
    for embedding in (learned.source_embedding, learned.target_embedding):
        assert embedding.positions_LD.grad.abs().sum(1).count_nonzero() > 0


@pytest.mark.parametrize(("tie", "tables"), [("three-way", 1), ("two-way", 2), ("none", 3)])
def test_tying(tie: str, tables: int) -> None:
    """As many different tables as it says; one step moves what is shared, and only that."""
    network = build(make_settings(tie=tie))
    parts = (network.source_embedding.table, network.target_embedding.table, network.output_table)
    assert len({id(part.weight) for part in parts}) == tables
    assert (parts[1] is parts[2]) == (tie != "none")
    assert sum(x.shape == (11, 12) for x in network.parameters()) == tables


@pytest.mark.parametrize("tie", ["two-way", "none"])
def test_two_vocabularies(tie: str) -> None:
    network = build(make_settings(tie=tie), source=11, target=9)
    assert network.source_embedding.table.weight.shape == (11, 12)
    assert run(network).shape == (2, 3, 9)


def test_two_vocabularies_are_not_tied_three_ways() -> None:
    with pytest.raises(ValueError, match=r"11 tokens and the target 9: use tie=two-way"):
        build(make_settings(), source=11, target=9)


@pytest.mark.parametrize("layout", ["interleaved", "learned"])
def test_a_sentence_that_is_too_long(layout: str) -> None:
    """The longest fits, on either side; one token more is an error that names the setting."""
    network = build(make_settings(positions=Positions(layout=layout, max_positions=4)))
    fits, long = torch.ones(1, 4, dtype=torch.long), torch.ones(1, 5, dtype=torch.long)
    assert network(fits, fits).shape == (1, 4, 11)
    for pair in ((long, fits), (fits, long)):
        with pytest.raises(ValueError, match=r"5 tokens, but positions\.max_positions=4"):
            network(*pair)
    with pytest.raises(ValueError, match=r"positions\.max_positions=4"):
        network.start(long)


def test_stepping_too_far() -> None:
    network = build(make_settings(positions=Positions(max_positions=4))).eval()
    with torch.inference_mode():
        state = network.start(SOURCE)
        network.step(TARGET, state)
        network.step(TARGET[:, :1], state)
        with pytest.raises(ValueError, match=r"5 tokens, but positions\.max_positions=4"):
            network.step(TARGET[:, :1], state)


def test_first_values() -> None:
    """Xavier (Glorot and Bengio 2010) for the maps of the layers, and embeddings of length 1."""
    network = build(make_settings(d_model=64, d_ff=32, heads=1), source=300, target=300)
    limit = (6 / (64 + 32)) ** 0.5
    inner = network.encoder[0].feed_forward.inner.weight
    assert 0.95 * limit < inner.abs().max() <= limit
    length = network.output_table.weight.norm(dim=1).mean().item()
    assert length == pytest.approx(1.0, abs=0.02)
