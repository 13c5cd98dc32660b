"""Every tensor of a recording, made again from its operands in NumPy and float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.equal.variants import VARIANTS

from glassformer.config import Config
from glassformer.model.files.directory import Tokenizers, build_model
from glassformer.see import record
from glassformer.see.recompute import recompute
from glassformer.text.kinds import train_tokenizer
from glassformer.translator import Translator

ODD = {
    "d_model": 22,
    "heads": 3,
    "head_width": 5,
    "d_ff": 13,
    "encoder_layers": 2,
    "decoder_layers": 3,
}
EVEN = {"d_model": 32, "heads": 4, "d_ff": 64, "encoder_layers": 1, "decoder_layers": 2}
WAVES = {"max_positions": 32}
SHIFTED = {
    "layout": "concatenated",
    "grid": "tensor2tensor",
    "offset": 1,
    "amplitude": 0.5,
    "max_positions": 32,
}
SETTINGS: dict[str, dict[str, Any]] = {
    f"{norm}-{positions.get('layout', 'interleaved')}-{tie}-{size}": {
        **shape,
        "norm": norm,
        "positions": positions,
        "tie": tie,
        "activation": activation,
    }
    for norm in ("post", "pre")
    for positions, tie, size, shape, activation in (
        (WAVES, "three-way", "odd", ODD, "relu"),
        (SHIFTED, "two-way", "even", EVEN, "silu"),
        ({"layout": "learned", "max_positions": 32}, "none", "odd", ODD, "gelu"),
        (WAVES, "two-way", "bias", EVEN | {"output_bias": True}, "relu"),
    )
}
SETTINGS |= {
    name: {**ODD, "positions": WAVES, **changes}
    | {"positions": {**WAVES, **changes.get("positions", {})}}
    for name, changes in VARIANTS.items()
}
LINES = ["the cat is on the mat", "a dog runs in the tree", "so it is"]


@pytest.fixture(params=list(SETTINGS))
def translator(request: pytest.FixtureRequest) -> Translator:
    torch.manual_seed(4)
    tokenizer = train_tokenizer(LINES, 300)
    config = Config.read({"model": SETTINGS[request.param], "decode": {"max_extra": 4}})
    model = build_model(config, Tokenizers(tokenizer, tokenizer))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                torch.nn.init.normal_(parameter, mean=0.5)
    return Translator(config, Tokenizers(tokenizer, tokenizer), model, device="cpu")


def test_every_tensor_follows_from_its_operands(translator: Translator) -> None:
    trace = record(translator, "the dog is so", target="a cat on the mat")
    assert [name for name in trace.graph if name in trace.tensors] == trace.names()
    for name in trace.names():
        made, recorded = recompute(trace.graph[name], trace.__getitem__), trace[name]
        assert made.shape == recorded.shape
        if recorded.dtype == bool:
            assert np.array_equal(made, recorded), name
        else:
            apart = np.abs(made - recorded).max()
            assert apart <= 1e-5 * max(1.0, np.abs(made).max()), (name, apart)
    used = {name for equation in trace.graph.values() for name in equation.operands}
    assert set(trace.parameters) <= used, "a weight that nothing is made of"


def test_from_nothing_but_ids_and_weights(translator: Translator) -> None:
    """All the way in float64, no recorded value in between: the network once more, in NumPy.

    Where a decoder is recurrent, each pass makes one more position right.
    """
    trace = record(translator, "the dog is so", target="a cat on the mat")
    given = dict(trace.ids) | dict(trace.parameters)
    windows = [name for name in trace.graph if name not in given]
    made = given | {
        name: np.zeros([axis.size for axis in trace.graph[name].axes]) for name in windows
    }
    is_recurrent = translator.config.model.decoder == "ssru"
    for _ in range(len(trace.target) if is_recurrent else 1):
        for name in windows:
            made[name] = recompute(trace.graph[name], made.__getitem__)
    apart = np.abs(made["logits"] - trace["logits"]).max()
    assert apart <= 1e-4 * max(1.0, np.abs(made["logits"]).max())
    assert np.array_equal(made["choice"], trace["logits"].argmax(-1))
