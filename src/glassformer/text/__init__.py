"""Text and the ids of its tokens: the way in and the way out. Imports no torch."""

from ..config import BOS, EOS, PAD
from .dropout import Sampler
from .tokenizer import Tokenizer, Tokens
from .unicode import clean, count_surrogates

__all__ = ["BOS", "EOS", "PAD", "Sampler", "Tokenizer", "Tokens", "clean", "count_surrogates"]
