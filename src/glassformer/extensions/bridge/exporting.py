"""Steps that exports share: which models they take, and the files beside the weights."""

import shutil
from collections.abc import Container
from pathlib import Path

import torch
from torch import Tensor

from glassformer.config import Config, Model
from glassformer.model.files.directory import (
    CARD,
    CONFIG,
    Tokenizers,
    load_model,
    locate,
    split_pair,
    write_text,
)
from glassformer.model.files.shapes import list_shapes
from glassformer.model.transformer import Transformer

# Maps whose outputs go to the residual stream; all others read it.
OUTWARD = ("to_output", "outer")


def order_dimensions(settings: Model) -> Tensor:
    """Return our dimension for each of an engine that has all sines before all cosines."""
    dimension = torch.arange(settings.d_model)
    if settings.positions.layout == "concatenated":
        return dimension
    return torch.cat((dimension[0::2], dimension[1::2]))


def reorder(name: str, weight: Tensor, order: Tensor) -> Tensor:
    """Return the weight or bias of a layer with the dimensions of the residual stream in order."""
    part, _, kind = name.rpartition(".")
    if ".ssru." in name and kind == "weight":  # reads and writes it
        return weight[order][:, order]
    if part.endswith((*OUTWARD, "norm")) or ".ssru." in name:
        return weight[order]
    return weight[:, order] if kind == "weight" else weight


def open_plain(
    model: Path | str, what: str, known: Container[str] = ()
) -> tuple[Config, Tokenizers, Transformer]:
    """Return the settings of a model for its pair of languages, its tokenizers and its network.

    ValueError, in one sentence, if it is not the paper's Transformer, as `what` needs it, or if it
    translates into several languages and `model` names none after an @. known: variations that
    `what` knows, as `name=value`.
    """
    config, tokenizers, network = load_model(model)
    if not isinstance(network, Transformer):
        raise ValueError(
            f"{model} has network={config.model.network}: only Transformers are exported"
        )
    if others := [each for each in config.model.list_variations() if each not in known]:
        raise ValueError(f"{model} has {others[0]}, which {what} does not know")
    if config.data.target_tag or not config.text.source_eos:
        raise ValueError(
            f"{model} has text.source_eos=false or data.target_tag, which {what} does not know"
        )
    if config.data.context:
        raise ValueError(
            f"{model} has data.context={config.data.context}, which {what} does not know: only "
            "glassformer reads the sentences before a sentence with it"
        )
    sizes = (len(each.vocabulary) for each in tokenizers)
    if unknown := network.state_dict().keys() - list_shapes(config.model, *sizes):
        raise ValueError(f"{model} has the weight {min(unknown)}, which {what} does not know")
    return choose_pair(model, config), tokenizers, network


def choose_pair(model: Path | str, config: Config) -> Config:
    """Return the settings for the languages after an @, or for all if they are one target.

    ValueError, in one sentence that lists the pairs, for several targets, or none of these.
    """
    try:
        return config.narrow(split_pair(model)[1])
    except ValueError as error:
        raise ValueError(f"{locate(model)}: {error}") from None


def refuse_tag(model: Path | str, config: Config, what: str) -> None:
    """Raise ValueError if each source has to begin with a tag, which `what` cannot add."""
    if config.data.tag:
        raise ValueError(
            f"{model} reads {config.data.tag} before each source, which {what} cannot add: export "
            "it with --format transformers, which adds it, or train a model for this pair alone"
        )


def write_companions(
    folder: Path, model: Path | str, config: Config, tokenizers: Tokenizers
) -> None:
    """Write tokenizers, settings and card beside the weights of an export."""
    tokenizers.save(folder)
    write_text(folder / CONFIG, config.to_toml())
    if (locate(model) / CARD).is_file():
        shutil.copyfile(locate(model) / CARD, folder / CARD)
