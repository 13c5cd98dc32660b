"""Export of models to Marian: model.npz, its vocabularies as SentencePiece models, decoder.yml.

Marian computes post-norm Transformers whose positions have tensor2tensor's grid, all sines before
all cosines, and begins a translation with a vector of zeros where ours has the embedding of <s>.
The exported model computes the same: the row of <s> is subtracted from the table, which shifts
what the first layers read by a constant; their biases take this shift back. All logits lose the
same number by it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glassformer.config import BOS, PAD, Config, Model
from glassformer.extensions.foreign_tokenizers.imported import UNKNOWN
from glassformer.extensions.foreign_tokenizers.sentencepiece_writer import write_sentencepiece
from glassformer.foundation.disk import check_new, prepare_beside
from glassformer.model.files.directory import Tokenizers, write_text
from glassformer.model.transformer import Transformer
from glassformer.text import Tokenizer

from .exporting import open_plain, order_dimensions, refuse_tag, reorder
from .foreign import LAYER, NEVER, read_toolkits
from .marian_npz import SETTINGS

ACTIVATIONS = {"relu": "relu", "silu": "swish"}
INWARD = ("to_query", "to_key", "to_value")

Arrays = dict[str, "np.ndarray[Any, Any]"]


@dataclass(frozen=True)
class MarianExport:
    """The files of an export, in its folder."""

    model: str
    vocabularies: tuple[str, str]
    parameters: int

    def __str__(self) -> str:
        names = ", ".join(dict.fromkeys(self.vocabularies))
        return f"{self.model} with {self.parameters:,} parameters, {names}, decoder.yml"


def export_marian(model: Path | str, out: Path) -> MarianExport:
    """Write `model` for Marian to the new folder `out`.

    ValueError, in one sentence, for a model that Marian computes otherwise.
    """
    check_new(out)
    config, tokenizers, network = open_plain(model, "Marian", ("decoder=ssru",))
    refuse_tag(model, config, "Marian")
    check_computable(model, config.model)
    check_start(model, config.model, network)
    with prepare_beside(out) as scratch:
        folder = scratch / "marian"
        folder.mkdir()
        names = _write_vocabularies(folder, tokenizers)
        arrays = _convert(config.model, network, tokenizers)
        whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        sizes = [
            len(each) + (UNKNOWN not in each.vocabulary)
            for each in (tokenizers.source, tokenizers.target)
        ]
        whole[SETTINGS] = describe_for_marian(config.model, whole, sizes)
        np.savez(folder / "model.npz", **whole)  # type: ignore[arg-type]
        write_text(folder / "decoder.yml", _spell_search(config, names))
        folder.rename(out)
    parameters = sum(array.size for array in arrays.values())
    return MarianExport("model.npz", names, parameters)


def check_computable(model: Path | str, settings: Model) -> None:
    positions = settings.positions
    expected = {
        "model.norm": (settings.norm, "post"),
        "model.positions.grid": (positions.grid, "tensor2tensor"),
        "model.positions.offset": (positions.offset, 0),
        "model.positions.amplitude": (positions.amplitude, 1.0),
        "model.head_width": (settings.width, settings.d_model // settings.heads),
    }
    if positions.layout == "learned":
        raise ValueError(f"{model} has learned positions, which Marian computes otherwise")
    if settings.activation not in ACTIVATIONS:
        raise ValueError(
            f"{model} has model.activation={settings.activation}: Marian computes "
            f"{' or '.join(ACTIVATIONS)} as we do"
        )
    wrong = {name: pair for name, pair in expected.items() if pair[0] != pair[1]}
    if wrong:
        found = " and ".join(f"{name}={result}" for name, (result, _) in wrong.items())
        needed = " and ".join(str(needed) for _, needed in wrong.values())
        advice = _advise({name: needed for name, (_, needed) in wrong.items()}, settings.decoder)
        raise ValueError(f"{model} has {found}: Marian computes {needed}; {advice}")


def _advise(needed: dict[str, Any], decoder: str) -> str:
    """Say how to train a model that Marian computes, and what takes the one that there is."""
    options = (
        f"--{name.removeprefix('model.').replace('.', '-').replace('_', '-')} {value}"
        for name, value in needed.items()
    )
    others = "" if decoder == "ssru" else ", or export this one with --format ctranslate2 or onnx"
    return f"train another with {' '.join(options)}{others}"


def check_start(model: Path | str, settings: Model, network: Transformer) -> None:
    """Raise ValueError if an SSRU, which has no bias to make up for it, begins with no zeros."""
    if settings.decoder == "ssru" and network.target_embedding.table.weight[BOS].any():
        raise ValueError(
            f"{model} begins a translation with an embedding of <s>, and Marian with zeros: train "
            "it again, with model.decoder=ssru from the first update"
        )


def _write_vocabularies(folder: Path, tokenizers: Tokenizers) -> tuple[str, str]:
    """Write one vocabulary for both sides, or two; return their names."""
    if tokenizers.source.fingerprint == tokenizers.target.fingerprint:
        write_sentencepiece(tokenizers.source, folder / "vocab.spm")
        return "vocab.spm", "vocab.spm"
    write_sentencepiece(tokenizers.source, folder / "source.spm")
    write_sentencepiece(tokenizers.target, folder / "target.spm")
    return "source.spm", "target.spm"


def _convert(settings: Model, network: Transformer, tokenizers: Tokenizers) -> Arrays:
    """Return the weights under Marian's names."""
    order = order_dimensions(settings)
    weights = {
        name: reorder(name, weight, order).cpu().double()
        for name, weight in network.state_dict().items()
        if LAYER.fullmatch(name)
    }
    tables = {
        side: table.weight.detach()[:, order].cpu().double()
        for side, table in (
            ("source", network.source_embedding.table),
            ("target", network.target_embedding.table),
            ("output", network.output_table),
        )
    }
    start = tables["target"][BOS].clone()
    is_shared = settings.tie == "three-way"
    for side in ("encoder", "decoder") if is_shared else ("decoder",):
        if start.any():
            _absorb(weights, side, start * math.sqrt(settings.d_model))
    for name in ("source", "target", "output"):
        if name == "target" or (name == "output" and settings.tie != "none") or is_shared:
            tables[name] = tables[name] - start
    arrays = {rename(name): _orient(name, weight) for name, weight in weights.items()}
    target = _add_unknown(tables["target"], tokenizers.target)
    if is_shared:
        arrays["Wemb"] = target.numpy()
    else:
        arrays["encoder_Wemb"] = _add_unknown(tables["source"], tokenizers.source).numpy()
        arrays["decoder_Wemb"] = target.numpy()
    if settings.tie == "none":
        output = _add_unknown(tables["output"], tokenizers.target)
        arrays["decoder_ff_logit_out_W"] = output.T.numpy()
    arrays["decoder_ff_logit_out_b"] = make_bias(network, tokenizers.target)
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def _absorb(weights: dict[str, Tensor], side: str, shift: Tensor) -> None:
    """Change the biases of the first layer as if its input had the shift that it lacks."""
    begin = f"{side}.0.self_attention"
    for part in INWARD:
        weights[f"{begin}.{part}.bias"] += weights[f"{begin}.{part}.weight"] @ shift
    weights[f"{begin}.to_output.bias"] += shift  # the residual connection adds the input


def _add_unknown(table: Tensor, tokenizer: Tokenizer) -> Tensor:
    """Return a table with a row for what is unknown, which SentencePiece must have."""
    if UNKNOWN in tokenizer.vocabulary:
        return table
    return torch.cat((table, torch.zeros(1, table.size(1), dtype=table.dtype)))


def make_bias(network: Transformer, tokenizer: Tokenizer) -> np.ndarray[Any, Any]:
    """Return the bias of the logits, with which padding and <s> are never chosen."""
    bias = torch.zeros(len(tokenizer)) if network.output_bias is None else network.output_bias
    bias = bias.detach().clone()
    bias[[PAD, BOS]] = NEVER
    if UNKNOWN not in tokenizer.vocabulary:
        bias = torch.cat((bias, torch.tensor([NEVER])))
    return bias[None].numpy()


def rename(name: str) -> str:
    """Return Marian's name of a weight of a layer."""
    names = read_toolkits()["marian"]
    match = LAYER.fullmatch(name)
    assert match
    side, number, part, kind = match.groups()
    begin = names[f"{side}_layer"].format(int(number) + names["first_layer"])
    block, _, inner = part.partition(".")
    theirs = names[side].get(part)
    if theirs is None:
        begin, theirs = begin + names[side][block], names["attention"][inner]
    return begin + theirs.split()[kind == "bias"]


def _orient(name: str, weight: Tensor) -> np.ndarray[Any, Any]:
    return (weight.T if weight.dim() == 2 else weight[None]).numpy()


def describe_for_marian(
    settings: Model, names: Container[str], sizes: Sequence[int]
) -> np.ndarray[Any, Any]:
    """Return Marian's settings in the form in which it stores them among the weights.

    names: those of the weights. sizes: of both vocabularies.
    """
    described: dict[str, Any] = {
        "type": "transformer",
        "version": "v1.12.0",
        "dim-vocabs": [*sizes],
        "tied-embeddings-all": "Wemb" in names,
        "tied-embeddings": "Wemb" not in names and "decoder_ff_logit_out_W" not in names,
        "tied-embeddings-src": False,
        "dim-emb": settings.d_model,
        "enc-depth": settings.encoder_layers,
        "dec-depth": settings.decoder_layers,
        "transformer-heads": settings.heads,
        "transformer-dim-ffn": settings.d_ff,
        "transformer-ffn-depth": 2,
        "transformer-ffn-activation": ACTIVATIONS[settings.activation],
        "transformer-preprocess": "",
        "transformer-postprocess": "dan",
        "transformer-postprocess-top": "",
        "transformer-postprocess-emb": "d",
        "transformer-train-position-embeddings": False,
    }
    if settings.decoder == "ssru":
        described |= {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
    lines = (f"{name}: {json.dumps(value)}\n" for name, value in described.items())
    return np.frombuffer("".join(lines).encode() + b"\0", np.int8)


def _spell_search(config: Config, vocabularies: tuple[str, str]) -> str:
    """Return decoder.yml: the files, with paths from its folder, and the search."""
    lines = ["relative-paths: true", "models:", "  - model.npz", "vocabs:"]
    lines += [f"  - {name}" for name in vocabularies]
    lines += [f"beam-size: {config.decode.beam}", f"normalize: {_find_alpha(config)}"]
    return "\n".join([*lines, "word-penalty: 0", "allow-unk: false", ""])


def _find_alpha(config: Config) -> float:
    """Return the exponent by which Marian divides a score by the length; 0 if ours is another."""
    is_power = config.decode.length_penalty == "power"
    return config.decode.alpha if is_power else 0.0
