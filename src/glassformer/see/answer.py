"""A recording in brief, as JSON: its words, probabilities and attention, for a first look."""

from __future__ import annotations

from typing import Any

from .derive import has_attention, mean_cross_attention
from .trace import Trace

SHOWN = ("text", "translation", "source", "predicted", "predictions", "edits", "confidence")


def describe_answer(trace: Trace) -> dict[str, Any]:
    """Return a recording in brief, as the first screen of the app reads it.

    `attention` is the cross-attention of each predicted token, the mean of all layers and heads; it
    is empty for a network without attention.
    """
    document = trace.document
    return {
        "network": document.settings.network,
        "d_model": document.settings.d_model,
        **document.model_dump(mode="json", include={*SHOWN}),
        "problems": [each.model_dump() for each in document.problems],
        "attention": mean_cross_attention(trace).tolist() if has_attention(trace) else [],
    }
