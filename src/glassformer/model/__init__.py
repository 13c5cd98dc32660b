"""The Transformer of the paper, in plain PyTorch, and its recurrent predecessor.

Read positions.py, attention.py, layers.py and transformer.py, in this order; then, in rnn/,
cells.py, attention.py, layers.py and network.py.
"""

from ..config import Model
from .encoder_decoder import EncoderDecoder
from .rnn import RecurrentNetwork
from .transformer import Transformer

__all__ = ["EncoderDecoder", "RecurrentNetwork", "Transformer", "build_network"]

NETWORKS = {"transformer": Transformer, "rnn": RecurrentNetwork}


def build_network(settings: Model, source: int, target: int) -> EncoderDecoder:
    """Return a network with fresh weights, for vocabularies of so many tokens."""
    return NETWORKS[settings.network](settings, source, target)
