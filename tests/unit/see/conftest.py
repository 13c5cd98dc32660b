"""Small translators with nothing left at a round number, and what they say of one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from glassformer.config import Config
from glassformer.model.files.directory import Tokenizers, build_model
from glassformer.see import Trace, record
from glassformer.text.kinds import train_tokenizer
from glassformer.translator import Translator

LINES = ["the cat is on the mat", "a dog runs", "two birds sing in the old tree", "so it is"]
SENTENCE = " the cat is on a tree, é"
SHAPE = {
    "d_model": 22,
    "heads": 3,
    "head_width": 5,
    "d_ff": 13,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "positions": {"max_positions": 40},
}

Make = Callable[..., Translator]


@pytest.fixture(scope="session")
def make() -> Make:
    """A translator with these settings of the model, on top of `SHAPE`."""
    tokenizer = train_tokenizer(LINES, 310)

    def make(**settings: Any) -> Translator:
        torch.manual_seed(5)
        config = Config.read(
            {"model": SHAPE | settings, "decode": {"beam": 3, "max_extra": 3, "max_ratio": 0.5}}
        )
        model = build_model(config, Tokenizers(tokenizer, tokenizer))
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() == 1:
                    torch.nn.init.normal_(parameter, mean=0.5, std=0.5)
            model.output_table.weight.mul_(3)
        return Translator(config, Tokenizers(tokenizer, tokenizer), model, device="cpu")

    return make


@pytest.fixture(scope="session", params=["post", "pre"])
def translator(request: pytest.FixtureRequest, make: Make) -> Translator:
    return make(norm=request.param)


@pytest.fixture(scope="session")
def trace(translator: Translator) -> Trace:
    return record(translator, SENTENCE)
