"""Packed networks for fast translation; they implement the search protocol, as `model/` does."""

from .choice import PRECISIONS, Example
from .engine import Engine
from .weights import Weights

__all__ = ["PRECISIONS", "Engine", "Example", "Weights"]
