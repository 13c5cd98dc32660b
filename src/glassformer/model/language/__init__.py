"""Language models: one side of the Transformer alone, on the same layers."""

from .decoder import DecoderNetwork
from .encoder import EncoderNetwork

__all__ = ["DecoderNetwork", "EncoderNetwork"]
