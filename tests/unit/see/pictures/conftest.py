"""Recordings of small random models, as the pictures see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from glassformer.config import Config, Decode
from glassformer.model.files.directory import Tokenizers, build_model
from glassformer.see import Trace, record
from glassformer.text.kinds import train_tokenizer
from glassformer.translator import Translator

LINES = ["the cat is on the mat", "a dog runs", "two birds sing in the old tree", "so it is"]
SHAPES: dict[str, dict[str, Any]] = {
    "post": {"d_model": 12, "d_ff": 14, "heads": 2, "encoder_layers": 3, "decoder_layers": 2},
    "pre": {
        "d_model": 16,
        "d_ff": 10,
        "heads": 16,
        "head_width": 3,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "norm": "pre",
        "tie": "none",
    },
}


@pytest.fixture(scope="session")
def see() -> Callable[..., Trace]:
    """see("post", "a text") records; a target that is given is not searched for."""
    tokenizer = train_tokenizer(LINES * 4, 340)

    def make(shape: str, text: str, **options: Any) -> Trace:
        torch.manual_seed(3)
        config = Config.read({"model": SHAPES[shape]})
        tokenizers = Tokenizers(tokenizer, tokenizer)
        model = build_model(config, tokenizers)
        for parameter in model.parameters():
            if parameter.dim() == 1:
                torch.nn.init.normal_(parameter, mean=0.5, std=0.3)
        translator = Translator(config, tokenizers, model, device="cpu")
        return record(translator, text, **options)

    return make


@pytest.fixture(scope="session")
def trace(see: Callable[..., Trace]) -> Trace:
    """Found by a beam search of a few steps."""
    decode = Decode(search="beam", beam=2, max_extra=2)
    return see("post", "so it is on the old mat", decode=decode)


@pytest.fixture(scope="session")
def other(see: Callable[..., Trace]) -> Trace:
    """The smallest: one layer, a text of one word; but the most heads."""
    return see("pre", "so", target="it is")
