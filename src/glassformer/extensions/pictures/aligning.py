"""The cross-attention that is drawn, if the caller chose none: the one that aligns words best.

Letters: H heads; Q queries; M memory, that is keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glassformer.see.document import AlignmentHead

from .parts.selection import Array, pick


def measure_information(weights_HQM: Array) -> Array:
    """Return the mutual information of query and key, in nats, for each head; H.

    It says how much a row's query tells about the key that its head attends to. It is 0 if all
    rows have the same weights, whether these are on one key or spread over all.
    """

    def entropy(share: Array) -> Array:
        return np.asarray(-(share * np.log(np.maximum(share, 1e-30))).sum(-1))

    weights_HQM = weights_HQM.astype(np.float64)
    return np.asarray(entropy(weights_HQM.mean(1)) - entropy(weights_HQM).mean(1))


def find_aligner(trace: Any) -> AlignmentHead:
    """Return the head, or the mean of a layer, that was measured to align words best.

    Of a model that was not measured, or was edited, it is the head with the most information.
    """
    measured: AlignmentHead | None = None if trace.edits else trace.document.aligner
    if measured:
        return measured
    layer, head = find_aligning_head(trace)
    return AlignmentHead(layer=layer, head=head, row="predicts")


def find_aligning_head(
    trace: Any, layer: int | None = None, head: int | None = None
) -> tuple[int, int]:
    """Return a layer and one head: those given, or else measured, or with the most information."""
    measured, count = trace.document.aligner, trace.settings.decoder_layers
    if layer is None and measured and not trace.edits:
        layer = measured.layer
        head = measured.head if head is None else head
    layers = range(count) if layer is None else [pick(layer, count, "layer")]
    result = np.stack(
        [measure_information(trace[f"decoder.{n}.cross_attention.weights"]) for n in layers]
    )
    if head is not None:
        head = pick(head, result.shape[1], "head")
        return layers[int(result[:, head].argmax())], head
    best, head = divmod(int(result.argmax()), result.shape[1])
    return layers[best], head
