"""The networks by the setting `model.network`."""

from typing import Any

from ..config import Model
from ..foundation.extensions import need_addition
from .encoder_decoder import EncoderDecoder
from .language import DecoderNetwork, EncoderNetwork
from .transformer import Transformer
from .variants.plugged import find_maker

NETWORKS: dict[str, type[EncoderDecoder]] = {
    "transformer": Transformer,
    "decoder": DecoderNetwork,
    "encoder": EncoderNetwork,
}


def build_network(settings: Model, source: int, target: int) -> EncoderDecoder:
    """Return a network with fresh weights, for vocabularies of so many tokens.

    Its class is a plugin's, one of the core, or one that an extension adds.
    """
    name = settings.network
    make: Any = find_maker(settings.plugin) if settings.plugin else NETWORKS.get(name)
    make = make or need_addition(f"network.{name}", f"model.network={name}")
    return make(settings, source, target)
