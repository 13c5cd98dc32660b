"""The networks by the setting `model.network`."""

from ..config import Model
from ..extensions.rnn import RecurrentNetwork
from .encoder_decoder import EncoderDecoder
from .language import DecoderNetwork, EncoderNetwork
from .transformer import Transformer
from .variants.plugged import find_maker

NETWORKS: dict[str, type[EncoderDecoder]] = {
    "transformer": Transformer,
    "rnn": RecurrentNetwork,
    "decoder": DecoderNetwork,
    "encoder": EncoderNetwork,
}


def build_network(settings: Model, source: int, target: int) -> EncoderDecoder:
    """Return a network with fresh weights, for vocabularies of so many tokens."""
    make = find_maker(settings.plugin) if settings.plugin else NETWORKS[settings.network]
    network: EncoderDecoder = make(settings, source, target)
    return network
