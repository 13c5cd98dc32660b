"""What is written for Hugging Face computes the same there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import as_transformers
from glassformer.config import BOS, EOS, PAD, Config
from glassformer.model.files.directory import Tokenizers, build_model, save_model
from glassformer.text.kinds import train_tokenizer

pytest.importorskip("transformers")
SHAPE = {"d_model": 16, "d_ff": 24, "heads": 2, "encoder_layers": 2, "decoder_layers": 3}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "settings",
    [
        {"norm": "post"},
        {"norm": "pre", "activation": "gelu"},
        {"norm": "post", "tie": "none", "positions": {"layout": "concatenated"}},
        {"norm": "pre", "tie": "two-way"},
    ],
    ids=["post", "pre", "untied", "two-way"],
)
def test_it_computes_the_same(tmp_path: Path, settings: dict[str, Any]) -> None:
    from benchmarks.engines.translate_transformers import load

    torch.manual_seed(1)
    tokenizer = train_tokenizer(["a few words of text", "and a few more"], 300)
    config = Config.read({"model": {**SHAPE, **settings}})
    tokenizers = Tokenizers(tokenizer, tokenizer)
    network = build_model(config, tokenizers).eval()
    save_model(tmp_path / "model", config, tokenizers, network.state_dict())
    as_transformers.write(tmp_path / "model", tmp_path / "theirs")
    theirs = load(tmp_path / "theirs")
    source_BS = torch.tensor([[9, 8, 7, EOS], [9, EOS, PAD, PAD]])
    target_BT = torch.tensor([[BOS, 5, 6], [BOS, 11, 12]])
    with torch.inference_mode():
        wanted = network(source_BS, target_BT)
        found = theirs(
            input_ids=source_BS,
            attention_mask=(source_BS != PAD).long(),
            decoder_input_ids=target_BT,
        ).logits
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5 * max(1.0, wanted.abs().max()))


def test_what_it_cannot_compute_is_said(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(["a few words of text", "and a few more"], 300)
    config = Config.read({"model": {**SHAPE, "positions": {"layout": "learned"}}})
    tokenizers = Tokenizers(tokenizer, tokenizer)
    weights = build_model(config, tokenizers).state_dict()
    save_model(tmp_path / "model", config, tokenizers, weights)
    with pytest.raises(ValueError, match="learned positions"):
        as_transformers.write(tmp_path / "model", tmp_path / "theirs")
