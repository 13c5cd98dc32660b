"""Text and the ids of its pieces: the way in and the way out. Imports no torch."""

from ..config import BOS, EOS, PAD
from .dropout import Sampler
from .tokenizer import Pieces, Tokenizer
from .unicode import clean, count_surrogates

__all__ = ["BOS", "EOS", "PAD", "Pieces", "Sampler", "Tokenizer", "clean", "count_surrogates"]
