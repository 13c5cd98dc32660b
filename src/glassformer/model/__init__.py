"""The network, in the paper's order. Read: positions, attention, layers, transformer."""

from .transformer import Transformer

__all__ = ["Transformer"]
