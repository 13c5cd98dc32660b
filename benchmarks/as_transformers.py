"""Export a model with Hugging Face's names, so that its `generate` can be compared."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from glassformer.config import Model
from glassformer.model.files.directory import load_model, write_json
from glassformer.model.files.tensors import save_tensors
from glassformer.model.transformer import Transformer

ATTENTIONS = {"self": "self_attn", "cross": "encoder_attn"}
PARTS = {"query": "q", "key": "k", "value": "v"}
NAMES: dict[str, Callable[[re.Match[str]], str]] = {
    r"(self|cross)_attention\.to_(\w+)": lambda found: (
        f"{ATTENTIONS[found[1]]}.{PARTS.get(found[2], 'out')}_proj"
    ),
    r"(self|cross)_attention_residual\.norm": lambda found: f"{ATTENTIONS[found[1]]}_layer_norm",
    r"feed_forward_residual\.norm": lambda found: "final_layer_norm",
    r"feed_forward\.inner": lambda found: "fc1",
    r"feed_forward\.outer": lambda found: "fc2",
}


def write(model: Path | str, folder: Path) -> None:
    """Write model.json and weights.safetensors.

    Raise ValueError for a model that no class of Hugging Face computes.
    """
    config, tokenizers, network = load_model(model)
    settings = config.model
    if not isinstance(network, Transformer):
        raise ValueError(f"no class of Hugging Face computes network={settings.network}")
    _check(settings)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        "source": network.source_embedding.table.weight,
        "target": network.target_embedding.table.weight,
        "output": network.output_table.weight,
        "places": network.source_embedding.get_buffer("positions_LD"),
    }
    for name, tensor in network.state_dict().items():
        if renamed := _rename(name):
            weights[renamed] = tensor
        elif name == "output_bias":
            weights["final_logits_bias"] = tensor[None]
    copies = {name: torch.clone(tensor.detach()) for name, tensor in weights.items()}
    save_tensors(folder / "weights.safetensors", copies)
    write_json(folder / "model.json", _describe(settings, len(tokenizers.target)))


def _check(settings: Model) -> None:
    if settings.positions.layout == "learned":
        raise ValueError("transformers has no such model with learned positions")
    if settings.head_width not in (None, settings.d_model // settings.heads):
        raise ValueError("transformers has no such model with a head width of its own")


def _rename(name: str) -> str | None:
    """Return Hugging Face's name of a weight; None if it belongs to no layer."""
    if found := re.match(r"(encoder|decoder)_norm\.(\w+)", name):
        return f"model.{found[1]}.layer_norm.{found[2]}"
    if not (found := re.match(r"(encoder|decoder)\.(\d+)\.(.+)\.(weight|bias)", name)):
        return None
    inner = found[3]
    for pattern, rename in NAMES.items():
        inner = re.sub(f"^{pattern}$", rename, inner)
    return f"model.{found[1]}.layers.{found[2]}.{inner}.{found[4]}"


def _describe(settings: Model, vocabulary: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "norm": settings.norm,
        "vocab_size": vocabulary,
        "d_model": settings.d_model,
        "activation_function": settings.activation,
        "scale_embedding": True,
        "max_position_embeddings": settings.positions.max_positions,
        "dropout": 0.0,
    }
    for side in ("encoder", "decoder"):
        described[f"{side}_layers"] = getattr(settings, f"{side}_layers")
        described[f"{side}_attention_heads"] = settings.heads
        described[f"{side}_ffn_dim"] = settings.d_ff
    return described
