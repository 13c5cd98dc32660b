"""Which head of cross-attention to draw, where nobody chose one.

Letters: H heads; Q queries; M memory, that is keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .selection import Array, pick


def measure_information(weights_HQM: Array) -> Array:
    """How much the row says about where a head looks: mutual information in nats, one a head.

    0 where every row looks alike, be it sharply at one key or at all of them.
    """

    def entropy(share: Array) -> Array:
        return np.asarray(-(share * np.log(np.maximum(share, 1e-30))).sum(-1))

    weights_HQM = weights_HQM.astype(np.float64)
    return np.asarray(entropy(weights_HQM.mean(1)) - entropy(weights_HQM).mean(1))


def find_aligner(trace: Any, layer: int | None = None, head: int | None = None) -> tuple[int, int]:
    """Layer and head: those given; else, of what is open, the head with most information."""
    count = trace.settings.decoder_layers
    layers = range(count) if layer is None else [pick(layer, count, "layer")]
    found = np.stack(
        [measure_information(trace[f"decoder.{n}.cross_attention.weights"]) for n in layers]
    )
    if head is not None:
        head = pick(head, found.shape[1], "head")
        return layers[int(found[:, head].argmax())], head
    best, head = divmod(int(found.argmax()), found.shape[1])
    return layers[best], head
