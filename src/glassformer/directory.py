"""A model directory: all files that translating raw text needs, without any pickle.

model.safetensors   the weights, a tied one only once; fp32, or fp16 to save space
config.toml         every setting
tokenizer.json      or tokenizer.source.json and tokenizer.target.json
card.md             the data that the model was trained on, and its scores
golden.json         a few inputs with their expected translations
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .config import Config
from .disk import read_json as read_json
from .disk import write_json as write_json
from .disk import write_text as write_text
from .meta_model import find_shapes
from .model import Transformer
from .other_folders import recognise
from .tensors import (
    check_finite,
    check_tensors,
    load_tensors,
    read_notes,
    save_tensors,
    tensors_in,
)
from .text import Tokenizer
from .typed_json import check_type

WEIGHTS, CONFIG, CARD, GOLDEN = "model.safetensors", "config.toml", "card.md", "golden.json"
SHIPPED = Path(__file__).parent / "models"  # the models that come with the package
ORIGIN = "origin"  # the key of the note beside the weights
FREE = ("dropout", "attention_dropout", "activation_dropout")  # of [model]: they have no weights
SHARED, SEPARATE = "tokenizer.json", ("tokenizer.source.json", "tokenizer.target.json")


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of both sides; one and the same object if the vocabulary is shared."""

    source: Tokenizer
    target: Tokenizer

    def save(self, folder: Path) -> None:
        if self.source is self.target:
            self.source.save(folder / SHARED)
        else:
            for name, tokenizer in zip(SEPARATE, (self.source, self.target), strict=True):
                tokenizer.save(folder / name)

    @classmethod
    def load(cls, folder: Path) -> Tokenizers:
        if (folder / SEPARATE[0]).is_file():
            return cls(*(Tokenizer.load(folder / name) for name in SEPARATE))
        shared = Tokenizer.load(folder / SHARED)
        return cls(shared, shared)


def build_model(config: Config, tokenizers: Tokenizers) -> Transformer:
    """Return a network with fresh weights, shaped by the settings and the vocabulary sizes."""
    return Transformer(config.model, len(tokenizers.source), len(tokenizers.target))


def locate(model: Path | str) -> Path:
    """Return the folder of a model, given as a path or as the name of a model in the package.

    A model of that name in the working directory takes precedence.
    """
    folder, shipped = Path(model), SHIPPED / model
    is_here = any((folder / name).exists() for name in (CONFIG, WEIGHTS))
    is_name = len(folder.parts) == 1 and (shipped / WEIGHTS).is_file()
    return shipped if is_name and not is_here else folder


def save_model(
    folder: Path,
    config: Config,
    tokenizers: Tokenizers,
    weights: Mapping[str, Tensor],
    *,
    half: bool = False,
) -> None:
    """Write a model directory; each file is written whole or not at all. `half`: in fp16."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizers.save(folder)
    write_text(folder / CONFIG, config.to_toml())
    origin, dtype = _tell_origin(config, tokenizers), torch.float16 if half else None
    save_tensors(folder / WEIGHTS, weights, dtype=dtype, notes={ORIGIN: origin})


def open_model(model: Path | str) -> tuple[Config, Tokenizers, dict[str, torch.Size]]:
    """Read a model directory except for its weights; return settings, tokenizers and weight shapes.

    The weights are checked to have these names and shapes, and finite values. ValueError, in one
    sentence, if it is not a complete model directory.
    """
    folder = locate(model)
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            if said := recognise(folder):
                raise ValueError(said)
            raise ValueError(f"{folder} is no model directory: it has no {name}{_suggest(folder)}")
    config = Config.load(folder / CONFIG)
    if not config.model_fields_set >= set(Config.model_fields) - {"size", "recipe"}:
        raise ValueError(f"{folder / CONFIG}: cut short, or not written by a training")
    tokenizers = Tokenizers.load(folder)
    layers = config.model.encoder_layers + config.model.decoder_layers
    held = len(tensors_in(folder / WEIGHTS))
    if layers > held:  # checked before a meta model of so many layers is built
        raise ValueError(f"{folder / CONFIG}: {layers} layers, but {WEIGHTS} has {held} tensors")
    wanted = find_shapes(config.model, len(tokenizers.source), len(tokenizers.target))
    check_tensors(folder / WEIGHTS, wanted)
    _check_origin(folder, config, tokenizers)
    check_finite(folder / WEIGHTS)
    return config, tokenizers, wanted


def _check_origin(folder: Path, config: Config, tokenizers: Tokenizers) -> None:
    """Raise ValueError if tokenizers or settings differ from those noted beside the weights."""
    path = folder / WEIGHTS
    then = check_type(read_notes(path).get(ORIGIN, {}), dict[str, Any], f"{path}: {ORIGIN}")
    for name, value in _tell_origin(config, tokenizers).items():
        if then.get(name, value) != value:
            made = f"but the weights were made with {then[name]}"
            raise ValueError(f"{folder}: {name} is {value}, {made}")


def _tell_origin(config: Config, tokenizers: Tokenizers) -> dict[str, Any]:
    """Return what the weights depend on although no shape shows it: tokenizers and settings."""
    both = [tokenizers.source.vocabulary, tokenizers.target.vocabulary]
    model = config.model.model_dump(exclude={*FREE, "positions"})
    model |= config.model.positions.model_dump(exclude={"max_positions"})
    return {"tokenizer": sha256(json.dumps(both).encode()).hexdigest()[:16], **model}


def load_model(model: Path | str) -> tuple[Config, Tokenizers, Transformer]:
    """Return settings, tokenizers and network of a model directory, the weights in fp32.

    ValueError, in one sentence, if it is not a complete model directory.
    """
    config, tokenizers, wanted = open_model(model)
    weights = load_tensors(locate(model) / WEIGHTS, wanted)
    network = build_model(config, tokenizers)
    network.load_state_dict(weights)
    return config, tokenizers, network.eval()


def _suggest(folder: Path) -> str:
    """Return a hint at the shipped model that may be meant, if the folder does not exist."""
    names = sorted(path.name for path in SHIPPED.glob("*"))
    near = [] if folder.exists() else get_close_matches(str(folder), names, 1)
    return f" (did you mean {near[0]}?)" if near else ""
