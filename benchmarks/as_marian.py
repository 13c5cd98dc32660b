"""Export a model to Marian's format, so that Marian's decoder can be compared.

Marian has tensor2tensor's positions, with sines before cosines. With pre-norm it computes keys and
values before the norm, so only post-norm models are the same. It begins a translation with a
vector of zeros. Our ids are the words of its vocabulary.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glassformer.config import BOS, EOS, PAD, Model
from glassformer.model.files.directory import load_model, write_text

ACTIVATIONS = {"relu": "relu", "silu": "swish", "gelu": "gelu"}
ATTENTIONS = {"self": "self", "cross": "context"}
SUBLAYERS = {
    "self_attention": "self_Wo",
    "cross_attention": "context_Wo",
    "feed_forward": "ffn_ffn",
    "ssru": "rnn_ffn",
}
GATES = {"ssru.to_forget": "f", "ssru.to_candidate": ""}
KINDS = {"weight": "W", "bias": "b"}
NORM_KINDS = {"weight": "scale", "bias": "bias"}
LAYER = re.compile(r"(encoder|decoder)\.(\d+)\.(.+)\.(weight|bias)")


def write(model: Path | str, folder: Path) -> None:
    """Write model.npz and words.yml; raise ValueError for a model that Marian cannot compute."""
    config, tokenizers, network = load_model(model)
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    table, size = weights["target_embedding.table.weight"], len(tokenizers.target)
    _check(config.model, table[BOS])
    folder.mkdir(parents=True, exist_ok=True)
    rows = [EOS, PAD, *range(BOS + 2, size)]  # its first word is EOS, its second is never used
    bias = weights.get("output_bias", np.zeros(size, np.float32))
    arrays = {"Wemb": table[rows], "decoder_ff_logit_out_b": bias[rows][None]}
    for name, array in weights.items():
        if found := LAYER.fullmatch(name):
            side, number, inner, kind = found.groups()
            renamed = f"{side}_l{int(number) + 1}_{_rename(inner, kind)}"
            arrays[renamed] = array.T if array.ndim == 2 else array[None]
    arrays["special:model.yml"] = _describe(config.model, len(rows))
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    np.savez(folder / "model.npz", **whole)  # type: ignore[arg-type]
    words = ["</s>", "<unk>", *map(str, rows[2:])]
    write_text(folder / "words.yml", "".join(f'"{x}": {n}\n' for n, x in enumerate(words)))


def _check(settings: Model, start: npt.NDArray[np.float32]) -> None:
    positions = settings.positions
    wanted = {
        "norm": (settings.norm, "post"),
        "tie": (settings.tie, "three-way"),
        "positions.layout": (positions.layout, "concatenated"),
        "positions.grid": (positions.grid, "tensor2tensor"),
        "positions.offset": (positions.offset, 0),
        "positions.amplitude": (positions.amplitude, 1),
        "head_width": (settings.width, settings.d_model // settings.heads),
    }
    for name, (found, needed) in wanted.items():
        if found != needed:
            raise ValueError(f"marian has no model with {name}={found}, only {needed}")
    if start.any():
        raise ValueError("marian begins with a vector of zeros: the row of <s> is another")


def _rename(inner: str, kind: str) -> str:
    """Return Marian's name of a weight within its layer."""
    if found := re.fullmatch(r"(\w+)_residual\.norm", inner):
        return f"{SUBLAYERS[found[1]]}_ln_{NORM_KINDS[kind]}"
    if inner in GATES:
        return f"rnn_{KINDS[kind]}{GATES[inner]}"
    if found := re.fullmatch(r"(self|cross)_attention\.to_(\w)\w+", inner):
        return f"{ATTENTIONS[found[1]]}_{KINDS[kind]}{found[2]}"
    return f"ffn_{KINDS[kind]}{1 if inner == 'feed_forward.inner' else 2}"


def _describe(settings: Model, vocabulary: int) -> npt.NDArray[np.int8]:
    """Return Marian's settings in the form in which it stores them among the weights."""
    described: dict[str, Any] = {
        "type": "transformer",
        "version": "v1.12.42",
        "dim-vocabs": [vocabulary, vocabulary],
        "tied-embeddings-all": True,
        "dim-emb": settings.d_model,
        "enc-depth": settings.encoder_layers,
        "dec-depth": settings.decoder_layers,
        "transformer-heads": settings.heads,
        "transformer-dim-ffn": settings.d_ff,
        "transformer-ffn-activation": ACTIVATIONS[settings.activation],
        "transformer-preprocess": "",
        "transformer-postprocess": "dan",
        "transformer-postprocess-top": "",
        "transformer-postprocess-emb": "d",
    }
    if settings.decoder == "ssru":
        described |= {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
    lines = (f"{name}: {json.dumps(value)}\n" for name, value in described.items())
    return np.frombuffer("".join(lines).encode() + b"\0", np.int8)
