"""The tokenizers, which turn text into token ids and back. Imports no torch."""

from ..config import BOS, EOS, PAD
from .dropout import Sampler, SeededSampler
from .normalization import Normalization
from .tokenizer import Tokenizer, Tokens
from .unicode import clean, count_surrogates

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "Normalization",
    "Sampler",
    "SeededSampler",
    "Tokenizer",
    "Tokens",
    "clean",
    "count_surrogates",
]
