"""The network on other tokens or vectors, recomputed from the op-graph in NumPy (float64)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from glassformer.see.recompute import recompute

from .parts.selection import Array

Fetch = Callable[[str], Array]
NONE: Mapping[str, Array] = {}


def read_again(
    trace: Any, ids: Sequence[int], values: Mapping[str, Array] = NONE, rows: int = 1
) -> Fetch:
    """Return a function that gives a tensor by its name, for a source of these token ids.

    values: tensors that replace those of the same name. rows: how much of the recorded translation
    the decoder reads.
    """
    graph = trace.build_graph(len(ids), rows)
    known = {"source.ids": np.array(ids), "target.ids": trace["target.ids"][:rows], **values}

    def fetch(name: str) -> Array:
        if name not in known:
            is_learned = graph[name].kind == "parameter"
            known[name] = trace[name] if is_learned else recompute(graph[name], fetch)
        return known[name]

    return fetch
