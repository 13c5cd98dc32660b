"""The Transformer of the paper, in plain PyTorch.

Read positions.py, attention.py, layers.py and transformer.py, in this order.
"""

from .transformer import Transformer

__all__ = ["Transformer"]
