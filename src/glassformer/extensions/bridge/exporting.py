"""Steps that exports share: which models they take, and the files beside the weights."""

import shutil
from collections.abc import Container
from pathlib import Path

import torch
from torch import Tensor

from glassformer.config import Config, Model
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.files.directory import CARD, CONFIG, Tokenizers, locate, write_text
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


def check_plain(
    model: Path | str,
    config: Config,
    network: EncoderDecoder,
    what: str,
    known: Container[str] = (),
) -> Transformer:
    """Return the network. ValueError if it is not the paper's Transformer, as `what` needs it.

    known: variations that `what` knows, as `name=value`.
    """
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
    return network


def write_companions(
    folder: Path, model: Path | str, config: Config, tokenizers: Tokenizers
) -> None:
    """Write tokenizers, settings and card beside the weights of an export."""
    tokenizers.save(folder)
    write_text(folder / CONFIG, config.to_toml())
    if (locate(model) / CARD).is_file():
        shutil.copyfile(locate(model) / CARD, folder / CARD)
