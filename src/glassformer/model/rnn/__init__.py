"""The recurrent encoder-decoder that came before the Transformer, with and without attention."""

from .network import RecurrentNetwork

__all__ = ["RecurrentNetwork"]
