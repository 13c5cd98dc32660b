"""The engines that compute a trained network: one in C for processors, and one in PyTorch.

weights         the weights of a model, and which engine computes them in which precision
native_engine   the engine in C (`native/`) with its workers; imports no torch
torch_engine    the search and the scoring of `decode/` over the network in PyTorch
"""

from .precision import PRECISIONS, Example
from .weights import Weights

__all__ = ["PRECISIONS", "Example", "Weights"]
