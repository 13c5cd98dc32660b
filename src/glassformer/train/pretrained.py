"""Beginning with parts of language models: an encoder, a decoder and their tables, by name.

A weight whose name and shape a pre-trained model has begins as that of the model; every other is
drawn as usual. So the encoder of a translation model begins as a masked language model, its
decoder, without cross-attention, as a causal one, and a classifier as either's tables and layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..config import SIDE_OF, Config
from ..directory import FREE, load_model, locate, open_model, save_model
from .init_from import TOKENIZER, record_origin

INITIAL = "initial"  # the copies in the run's folder: a run that has begun needs no original
# What a network need not have in common with a model that it begins with.
OWN = {"network", "labels", "rnn", *SIDE_OF.values(), *FREE}


def inherit_shape(
    folders: Sequence[Path | str], raw: Mapping[str, Any], changes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return raw settings with the shape and the vocabulary of the models.

    The sides of a translation model get as many layers as the language model of that side has.
    `changes` will be applied on top; here they tell the network.
    """
    given = dict(change.replace('"', "").split("=", 1) for change in changes if "=" in change)
    network = given.get("model.network", "transformer")
    model: dict[str, Any] = {}
    text: dict[str, Any] = {}
    for folder in folders:
        config = open_model(folder)[0]
        model |= config.model.model_dump(exclude=OWN, exclude_none=True, exclude_unset=True)
        side = SIDE_OF.get(config.model.network, "")
        if side and side == SIDE_OF.get(network, side):
            model[side] = getattr(config.model, side)
        text |= {name: getattr(config.text, name) for name in TOKENIZER}
    return {**raw, "model": model, "text": text}


def copy_models(folders: Sequence[Path | str], run: Path, config: Config) -> list[dict[str, Any]]:
    """Copy the models to the run's folder, and the tokenizers of the first; return their origins.

    ValueError if one has another vocabulary than the first, or shares no layer with the network.
    """
    origins, first = list[dict[str, Any]](), None
    for number, folder in enumerate(map(locate, folders)):
        own, tokenizers, model = load_model(folder)
        first = first or tokenizers
        if tokenizers.source.vocabulary != first.source.vocabulary:
            raise ValueError(
                f"{folder} has other tokens than {folders[0]}: train it --init-from that"
            )
        _check(folder, own, config)
        save_model(run / INITIAL / str(number), own, tokenizers, model.state_dict())
        origins.append(record_origin(folder, "kept"))
    if first:
        first.save(run)
    return origins


def _check(folder: Path, own: Config, config: Config) -> None:
    """Raise ValueError for a setting that makes the weights of a model useless."""
    names = [name for name in type(own.model).model_fields if name not in OWN]
    then = {name: getattr(own.model, name) for name in names}
    for changed in config.model.list_changed((), **then):
        name = changed.partition("=")[0]
        known = f"{name}={attrgetter(name)(own.model)}"
        raise ValueError(f"model.{changed} does not fit {folder}, which has {known}")
    if config.text.vocabulary != own.text.vocabulary:
        raise ValueError(
            f"text.vocabulary={config.text.vocabulary} has no effect: the tokens of {folder} are "
            f"kept (text.vocabulary={own.text.vocabulary})"
        )


def load_parts(network: nn.Module, run: Path) -> list[str]:
    """Give a fresh network what it has in common with the models in the run's folder.

    Return, in a sentence for each model, what it gave, and what is drawn as usual.
    """
    said, drawn = list[str](), dict(network.named_parameters())
    for folder in sorted((run / INITIAL).glob("*"), key=lambda path: int(path.name)):
        known = load_model(folder)[2].state_dict()
        taken = _take(network, known)
        for name in taken:
            drawn.pop(name, None)
        said.append(f"{', '.join(_sum_up(taken)) or 'nothing'} from model {folder.name}")
    if said and drawn:
        said.append(f"drawn as usual: {', '.join(_sum_up(drawn))}")
    return said


def _take(network: nn.Module, known: Mapping[str, Tensor]) -> list[str]:
    """Copy the weights of the same name and shape; return their names."""
    taken = []
    with torch.no_grad():
        for name, weight in network.named_parameters(remove_duplicate=False):
            if name in known and known[name].shape == weight.shape:
                weight.copy_(known[name])
                taken.append(name)
    return taken


def _sum_up(names: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """Return the parts that weights belong to: `encoder.self_attention`, `output_table`."""
    parts = [[part for part in name.split(".") if not part.isdigit()] for name in names]
    return list(dict.fromkeys(".".join(part[:2]) for part in parts))
