"""The weights of a trained model and its tokenizer, for the learner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from glassformer.config import BOS, EOS, PAD
from glassformer.model.files.directory import SHIPPED, open_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from glassformer.text import Tokenizer

    Weights = Mapping[str, NDArray[np.floating[Any]]]

__all__ = ["BOS", "EOS", "HEADS", "LAYERS", "PAD", "detokenize", "load_weights", "part", "tokenize"]

MODEL = SHIPPED / "demo"  # English to French, some hundred words
HEADS, LAYERS = 8, 6  # of that model


def load_weights() -> dict[str, NDArray[np.floating[Any]]]:
    """Return the weights of the model by name, as the file has them: in fp16."""
    return {name: stored.data for name, stored in open_model(MODEL)[2].tensors.items()}


def part(weights: Weights, name: str) -> dict[str, NDArray[np.floating[Any]]]:
    """Return the weights whose names begin with `name`, without that beginning.

    `part(weights, "encoder.0.")["feed_forward.inner.bias"]` is `encoder.0.feed_forward.inner.bias`.
    KeyError if there is none.
    """
    results = {
        key.removeprefix(name): each for key, each in weights.items() if key.startswith(name)
    }
    if not results:
        raise KeyError(f"no weight begins with {name!r}")
    return results


def tokenize(sentence: str) -> list[int]:
    """Return the token ids of an English sentence, without the end token."""
    return _open_tokenizer().encode(sentence)


def detokenize(token_ids: Iterable[int]) -> str:
    """Return the text of French token ids."""
    return _open_tokenizer().decode(token_ids)


@cache
def _open_tokenizer() -> Tokenizer:
    return open_model(MODEL)[1].source
