"""The tokenizers, which turn text into token ids and back. Imports no torch."""

from typing import TYPE_CHECKING

from ..config import BOS, EOS, PAD
from ..foundation.lazy import import_lazily
from .normalization import Normalization
from .tokenizer import Tokenizer, Tokens
from .unicode import clean, count_surrogates

if TYPE_CHECKING:  # for training
    from .dropout import Sampler, SeededSampler
    from .kinds import load_tokenizer, train_tokenizer

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
    "load_tokenizer",
    "train_tokenizer",
]

_HOMES = {
    "dropout": ("Sampler", "SeededSampler"),
    "kinds": ("load_tokenizer", "train_tokenizer"),
}

__getattr__ = import_lazily(__name__, _HOMES)
