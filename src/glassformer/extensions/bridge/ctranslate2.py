"""Export of models to CTranslate2, a C++ inference engine; each export is compared with ours.

The folder has CTranslate2's own files, the tokenizer, the settings, the card, and parity.json.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.config import BOS, EOS, Model
from glassformer.foundation.disk import check_new, prepare_beside
from glassformer.foundation.machine.extras import need
from glassformer.model.attention import MultiHeadAttention
from glassformer.model.embedding import Embedding
from glassformer.model.feed_forward import FeedForward
from glassformer.model.files.directory import Tokenizers, write_json
from glassformer.model.positions import sinusoids
from glassformer.model.transformer import Transformer
from glassformer.text import Tokenizer

from .exporting import open_plain, write_companions
from .parity import Parity, Progress, ask_model, choose_by_parity, compare_models

if TYPE_CHECKING:
    from ctranslate2.specs import TransformerSpec

# float16 and bfloat16 are for GPUs; on a CPU, CTranslate2 computes in float32 instead.
QUANTIZATIONS = ("float32", "int8", "int16", "float16", "bfloat16")
ACTIVATIONS = {"relu": "RELU", "silu": "SWISH", "gelu": "GELU"}
REACH = 2048  # positions that the table has at least: beyond it, CTranslate2 fails
PARITY = "parity.json"


Spell = Callable[[Tokenizer], list[str]]


def list_tokens(tokenizer: Tokenizer) -> list[str]:
    """Return the vocabulary as we spell it."""
    return list(tokenizer.vocabulary)


def export_ctranslate2(
    model: Path | str,
    out: Path,
    *,
    quantization: str = "float32",
    texts: Sequence[str] | None = None,
    progress: Progress | None = None,
    spell: Spell = list_tokens,
) -> Parity:
    """Write `model` for CTranslate2 to the new folder `out`; return the comparison with ours.

    They are compared on the first 200 of `texts`, or on random tokens without texts. `spell`: the
    vocabulary as the user of the export spells it. Raises ValueError if the difference is larger
    than rounding explains; then nothing is written.
    """
    if quantization not in QUANTIZATIONS:
        known = ", ".join(QUANTIZATIONS)
        raise ValueError(f"quantization={quantization}: one of {known}")
    check_new(out)
    need("ctranslate2")
    config, tokenizers, network = open_plain(model, "CTranslate2")
    sources = choose_by_parity(config, tokenizers.source, texts)
    expected = ask_model(network, sources, progress)
    vocabularies = spell(tokenizers.source), spell(tokenizers.target)
    with prepare_beside(out) as scratch:
        exact, final = scratch / "float32", scratch / quantization
        _write(exact, config.model, network, tokenizers, "float32", spell)
        parity = compare_models(exact, "float32", network, vocabularies, expected)
        parity.check()
        if final != exact:
            _write(final, config.model, network, tokenizers, quantization, spell)
            parity = compare_models(final, quantization, network, vocabularies, expected)
            parity.check()
        parity = replace(parity, tag=config.data.tag)
        write_companions(final, model, config, tokenizers)
        write_json(final / PARITY, asdict(parity))
        final.rename(out)
    return parity


def _write(
    folder: Path,
    settings: Model,
    network: Transformer,
    tokenizers: Tokenizers,
    quantization: str,
    spell: Spell,
) -> None:
    folder.mkdir()
    spec = describe_ctranslate2(settings, network, tokenizers, spell)
    spec.validate()
    spec.optimize(quantization)
    spec.save(str(folder))


def describe_ctranslate2(
    settings: Model, network: Transformer, tokenizers: Tokenizers, spell: Spell = list_tokens
) -> TransformerSpec:
    """Return CTranslate2's specification of the network, with the weights and vocabularies."""
    from ctranslate2.specs import common_spec, transformer_spec

    shape: dict[str, Any] = {
        "num_heads": settings.heads,
        "head_dim": settings.width,
        "pre_norm": settings.norm == "pre",
        "activation": common_spec.Activation[ACTIVATIONS[settings.activation]],
    }
    spec = transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(settings.encoder_layers, **shape),
        transformer_spec.TransformerDecoderSpec(settings.decoder_layers, **shape),
    )
    _set_stack(spec.encoder, network.encoder, network.encoder_norm)
    _set_stack(spec.decoder, network.decoder, network.decoder_norm)
    _set_embedding(spec.encoder, spec.encoder.embeddings[0], network.source_embedding, settings)
    _set_embedding(spec.decoder, spec.decoder.embeddings, network.target_embedding, settings)
    spec.decoder.projection.weight = _numbers(network.output_table.weight)
    if network.output_bias is not None:
        spec.decoder.projection.bias = _numbers(network.output_bias)
    source, target = spell(tokenizers.source), spell(tokenizers.target)
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.config.bos_token = spec.config.decoder_start_token = target[BOS]
    spec.config.eos_token = target[EOS]
    spec.config.unk_token = "<unk>" if "<unk>" in target else target[BOS]  # ours need no <unk>
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = settings.norm_epsilon
    return spec


def _set_stack(spec: Any, layers: Any, last_norm: nn.Module) -> None:
    for part, layer in zip(spec.layer, layers, strict=True):
        _set_attention(
            part.self_attention, layer.self_attention, layer.self_attention_residual.norm
        )
        if hasattr(part, "attention"):
            _set_attention(
                part.attention, layer.cross_attention, layer.cross_attention_residual.norm
            )
        _set_feed_forward(part.ffn, layer.feed_forward, layer.feed_forward_residual.norm)
    if isinstance(last_norm, nn.LayerNorm):
        _set_norm(spec.layer_norm, last_norm)


def _set_attention(spec: Any, attention: MultiHeadAttention, norm: nn.LayerNorm) -> None:
    """Set the weights of attention. W_Q, W_K and W_V are one matrix, or W_K and W_V across."""
    _set_norm(spec.layer_norm, norm)
    inward = [attention.to_query, attention.to_key, attention.to_value]
    if len(spec.linear) == 3:
        _set_linear(spec.linear[0], inward.pop(0))
    _set_linear(spec.linear[-2], *inward)
    _set_linear(spec.linear[-1], attention.to_output)


def _set_feed_forward(spec: Any, feed_forward: FeedForward, norm: nn.LayerNorm) -> None:
    _set_norm(spec.layer_norm, norm)
    _set_linear(spec.linear_0, feed_forward.inner)
    _set_linear(spec.linear_1, feed_forward.outer)


def _set_embedding(spec: Any, table: Any, embedding: nn.Module, settings: Model) -> None:
    """Set embedding and table of positions; CTranslate2 itself scales by √d_model."""
    assert isinstance(embedding, Embedding)
    table.weight = _numbers(embedding.table.weight)
    positions_LD = embedding.positions_LD
    if settings.positions.layout != "learned":
        longest = max(settings.positions.max_positions, REACH)
        positions = settings.positions.model_copy(update={"max_positions": longest})
        positions_LD = sinusoids(positions, settings.d_model)
    spec.position_encodings.encodings = _numbers(positions_LD)


def _set_linear(spec: Any, *linears: nn.Linear) -> None:
    spec.weight = np.concatenate([_numbers(linear.weight) for linear in linears])
    spec.bias = np.concatenate([_numbers(linear.bias) for linear in linears])


def _set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = _numbers(norm.weight), _numbers(norm.bias)


def _numbers(x: Tensor) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return a copy of a tensor as float32 NumPy array, because quantising overwrites it."""
    return x.detach().to(torch.float32, copy=True).numpy()
