"""The Transformer of the paper, in plain PyTorch, its recurrent predecessor, and language models.

Read positions.py, attention.py, residual.py, layers.py and transformer.py, in this order; then, in
rnn/, cells.py, attention.py, layers.py and network.py; then language/. What later work changed in
the Transformer is in variants/.
"""

from ..config import Model
from .encoder_decoder import EncoderDecoder
from .language import DecoderNetwork, EncoderNetwork
from .rnn import RecurrentNetwork
from .transformer import Transformer
from .variants.plugged import find_maker

__all__ = ["EncoderDecoder", "RecurrentNetwork", "Transformer", "build_network"]

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
