"""The recurrent encoder-decoder that came before the Transformer, with and without attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.foundation.lazy import import_lazily

if TYPE_CHECKING:
    from .network import RecurrentNetwork

ADDS = {
    "network.rnn": "network.RecurrentNetwork",
    "twins.rnn": "recurrent.TWINS",
    "catalogue.rnn": "catalogue.FILES",
}

__all__ = ["RecurrentNetwork"]

_HOMES = {"network": ("RecurrentNetwork",)}

__getattr__ = import_lazily(__name__, _HOMES)
