"""A model with random weights in the arrangement of the paper, as Marian has it."""

from __future__ import annotations

from pathlib import Path

import torch

from glassformer.config import Config, Model
from glassformer.model.files.directory import Tokenizers, build_model, save_model
from glassformer.text import train_tokenizer

SENTENCE = "The animal didn't cross the street because it was too wide."


def save_post_norm(folder: Path, norms: float = 0.0) -> Path:
    """Write such a model into a folder, and return that; `norms`: the mean weight of its norms."""
    torch.manual_seed(3)
    shape = {"d_model": 24, "heads": 3, "d_ff": 40, "encoder_layers": 2, "decoder_layers": 2}
    config = Config(model=Model(norm="post", output_bias=True, **shape))
    tokenizer = train_tokenizer([SENTENCE] * 3, 300)
    tokenizers = Tokenizers(tokenizer, tokenizer)
    network = build_model(config, tokenizers)
    for name, weight in network.named_parameters():  # none at its first value
        is_norm = name.endswith("norm.weight")
        torch.nn.init.normal_(weight, mean=norms if is_norm else 0.0, std=0.3)
    save_model(folder, config, tokenizers, network.state_dict())
    return folder
