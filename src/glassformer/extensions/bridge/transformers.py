"""Export of models to Hugging Face's transformers: MarianMT with norm=post, Pegasus with pre.

Both have the paper's Transformer, with all sines before all cosines. A model whose sines and
cosines stand in turns is the same once its d_model dimensions are put in another order.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from glassformer.config import BOS, EOS, PAD, Config, Model
from glassformer.foundation.disk import check_new, prepare_beside, write_bytes
from glassformer.model.files.directory import Tokenizers, write_json
from glassformer.model.transformer import Transformer
from glassformer.text import Tokenizer
from glassformer.text.layout import CONTROLS

from .exporting import open_plain, order_dimensions, reorder
from .foreign import LAYER, read_toolkits
from .parity import ROUNDING, Rows, choose_by_parity

ACTIVATIONS = {"relu": "relu", "silu": "silu", "gelu": "gelu"}
CLASSES = {
    "post": ("marian", "MarianMTModel"),
    "pre": ("pegasus", "PegasusForConditionalGeneration"),
}
EPSILON = 1e-5  # of their LayerNorm, which no setting changes


@dataclass(frozen=True)
class TransformersParity:
    """How the logits of both compare; nothing if transformers is not installed."""

    kind: str
    sentences: int
    largest_difference: float

    def __str__(self) -> str:
        if not self.sentences:
            return f"{self.kind}; not compared: transformers is not installed"
        return f"{self.kind}: logits differ by {self.largest_difference:.2g} at most"


def export_transformers(
    model: Path | str, out: Path, *, texts: Sequence[str] | None = None
) -> TransformersParity:
    """Write `model` as a checkpoint of transformers to the new folder `out`.

    If transformers is installed, logits are compared first, on the first 20 of `texts` or on random
    tokens. ValueError if they differ by more than rounding explains, or for a model that none of
    its classes computes; then nothing is written.
    """
    check_new(out)
    config, tokenizers, network = open_plain(model, "transformers")
    _check_settings(model, config)
    sources = choose_by_parity(config, tokenizers.source, texts)[:20]
    with prepare_beside(out) as scratch:
        whole = scratch / "transformers"
        whole.mkdir()
        weights = {name: x.contiguous() for name, x in _rename(config.model, network).items()}
        # transformers 4 opens no file that does not say which toolkit wrote it.
        write_bytes(whole / "model.safetensors", save(weights, {"format": "pt"}))
        write_json(whole / "config.json", _describe(config, network))
        search = {"num_beams": config.decode.beam, "suppress_tokens": [PAD, BOS], **_SPECIALS}
        write_json(whole / "generation_config.json", search)
        _write_tokenizers(whole, tokenizers, config.data.tag)
        parity = _compare(whole, config.model, network, sources)
        whole.rename(out)
    return parity


_SPECIALS = {"pad_token_id": PAD, "eos_token_id": EOS, "decoder_start_token_id": BOS}


def _check_settings(model: Path | str, config: Config) -> None:
    settings, positions = config.model, config.model.positions
    expected = {
        "model.positions.grid": (positions.grid, "paper"),
        "model.positions.offset": (positions.offset, 0),
        "model.positions.amplitude": (positions.amplitude, 1.0),
        "model.norm_epsilon": (settings.norm_epsilon, EPSILON),
        "model.head_width": (settings.width, settings.d_model // settings.heads),
    }
    if positions.layout == "learned":
        raise ValueError(f"{model} has learned positions, which no class of transformers has so")
    for name, (result, needed) in expected.items():
        if result != needed:
            raise ValueError(f"{model} has {name}={result}: transformers computes {needed}")


def _rename(settings: Model, network: Transformer) -> dict[str, Tensor]:
    """Return the weights under their names, the dimensions in their order."""
    names, order = read_toolkits()["huggingface"], order_dimensions(settings)
    tensors: dict[str, Tensor] = {}
    for name, weight in network.state_dict().items():
        if match := LAYER.fullmatch(name):
            side, number, part, kind = match.groups()
            block, _, inner = part.partition(".")
            theirs = names[side].get(part) or names[side][block] + names["attention"][inner]
            renamed = f"{names[f'{side}_layer'].format(number)}{theirs}.{kind}"
            tensors[renamed] = reorder(name, weight, order)
        elif norm := _STACK_NORM.get(name.partition(".")[0]):
            tensors[f"{norm}.{name.rpartition('.')[2]}"] = weight[order]
    source, target = (
        table[:, order]
        for table in (network.source_embedding.table.weight, network.target_embedding.table.weight)
    )
    bias = network.output_bias
    tensors["final_logits_bias"] = torch.zeros(1, len(target)) if bias is None else bias[None]
    if settings.tie == "three-way":
        return {**tensors, "model.shared.weight": source}
    tensors |= {"model.encoder.embed_tokens.weight": source}
    tensors |= {"model.decoder.embed_tokens.weight": target}
    return {**tensors, "lm_head.weight": network.output_table.weight[:, order]}


_STACK_NORM = {
    "encoder_norm": "model.encoder.layer_norm",
    "decoder_norm": "model.decoder.layer_norm",
}


def _describe(config: Config, network: Transformer) -> dict[str, Any]:
    settings = config.model
    kind, name = CLASSES[settings.norm]
    shared = settings.tie == "three-way"
    if kind == "pegasus" and not shared:
        raise ValueError("with norm=pre, transformers needs tie=three-way: one table for all")
    settings_json: dict[str, Any] = {
        "architectures": [name],
        "model_type": kind,
        "vocab_size": network.source_embedding.table.weight.size(0),
        "decoder_vocab_size": network.output_table.weight.size(0),
        "d_model": settings.d_model,
        "scale_embedding": True,
        "activation_function": ACTIVATIONS[settings.activation],
        "max_position_embeddings": settings.positions.max_positions,
        "dropout": settings.dropout,
        "attention_dropout": settings.attention_dropout,
        "activation_dropout": settings.activation_dropout,
        "share_encoder_decoder_embeddings": shared,
        "tie_word_embeddings": settings.tie != "none",
        "forced_eos_token_id": None,
        "is_encoder_decoder": True,
        "bos_token_id": BOS,
        **_SPECIALS,
    }
    for side in ("encoder", "decoder"):
        settings_json[f"{side}_layers"] = getattr(settings, f"{side}_layers")
        settings_json[f"{side}_attention_heads"] = settings.heads
        settings_json[f"{side}_ffn_dim"] = settings.d_ff
    return settings_json


def _write_tokenizers(folder: Path, tokenizers: Tokenizers, tag: str | None) -> None:
    """Write the tokenizer of sources, which puts the tag before them, and that of targets."""
    _write_tokenizer(folder, tokenizers.source, tag)
    if tokenizers.target is not tokenizers.source:
        _write_tokenizer(folder / "target_tokenizer", tokenizers.target, None)


def _write_tokenizer(folder: Path, tokenizer: Tokenizer, tag: str | None) -> None:
    """Write a tokenizer that ends a text with </s>, and begins it with the tag, if there is one."""
    folder.mkdir(exist_ok=True)
    path = folder / "tokenizer.json"
    tokenizer.save(path)
    payload: dict[str, Any] = json.loads(path.read_text("utf-8"))
    special = {CONTROLS[EOS]: EOS} | ({tag: tokenizer.tags[tag]} if tag else {})
    end, *begin = ({"SpecialToken": {"id": name, "type_id": 0}} for name in special)
    payload["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [*begin, {"Sequence": {"id": "A", "type_id": 0}}, end],
        "pair": [*begin, *({"Sequence": {"id": x, "type_id": 0}} for x in "AB"), end],
        "special_tokens": {
            name: {"id": name, "ids": [id], "tokens": [name]} for name, id in special.items()
        },
    }
    write_json(path, payload)
    facts = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    facts |= {"pad_token": CONTROLS[PAD], "bos_token": CONTROLS[BOS], "eos_token": CONTROLS[EOS]}
    write_json(folder / "tokenizer_config.json", facts)


def _compare(
    folder: Path, settings: Model, network: Transformer, sources: Rows
) -> TransformersParity:
    """Compare logits on sources, each read as its own translation too."""
    kind, name = CLASSES[settings.norm]
    try:
        import transformers
    except ImportError:
        return TransformersParity(kind, 0, 0.0)
    verbosity = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()  # positions are computed: a warning misses them
    try:
        theirs = getattr(transformers, name).from_pretrained(folder).eval()
    finally:
        transformers.logging.set_verbosity(verbosity)
    limit = min(len(network.output_table.weight), len(network.source_embedding.table.weight))
    largest, scale = 0.0, 1.0
    with torch.inference_mode():
        for row in sources:
            inputs = torch.tensor([[BOS, *(id for id in row if id < limit)]])
            source = torch.tensor([[*row, EOS]])
            ours = network(source, inputs)
            result = theirs(source, decoder_input_ids=inputs).logits
            largest = max(largest, (ours - result).abs().max().item())
            scale = max(scale, ours.abs().max().item())
    if not largest <= 10 * ROUNDING * scale:
        raise ValueError(f"not exported: logits of transformers differ by {largest:.2g}")
    return TransformersParity(kind, len(sources), largest)
