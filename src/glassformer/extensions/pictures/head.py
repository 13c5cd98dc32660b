"""One head of an attention: its tensors as expressions, its colour."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .parts import grammar as g
from .parts import style
from .parts.selection import Attention

PROJECTIONS = ("query", "key", "value")


class Head(NamedTuple):
    """A head, counted from 0, of the attention that a figure shows."""

    plan: g.Outline
    attention: Attention
    number: int

    @property
    def ink(self) -> str:
        return style.head_ink(self.number)

    def name(self, size: float = style.BODY, fit: float | None = None) -> g.Label:
        """Return its number and, if there is room for that (fit), its habit."""
        key = "number" if fit is None else "named"
        return g.Label(self.plan.say(key, head=self.number), size, self.ink, bold=True, fit=fit)

    def of(self, window: str, index: str = "q,k") -> g.Quantity:
        """Return a tensor of this head."""
        return self.plan.of(f"{self.attention.name}.{window}[{self.number},{index}]")

    def learned(self, projection: str) -> g.Array:
        """Return W_Q, W_K or W_V of this head; see `find_projection`."""
        return find_projection(self.plan.trace, self.attention.name, projection, self.number)

    def show_learned(self, projection: str, unit: float = 2.0, most: float = 130.0) -> g.Node:
        """Return W_Q, W_K or W_V with its name and shape; see `tensor`."""
        letter = f"$W_{projection[0].upper()}$"
        return g.tensor(self.learned(projection), letter, projection, unit=unit, most=most)


def find_projection(trace: Any, name: str, projection: str, head: int) -> g.Array:
    """Return the paper's W of one head, D K; the stored matrix is its transpose, for all heads.

    Heads may share keys and values.
    """
    stored: g.Array = trace[f"{name}.to_{projection}.weight"]
    width, heads = trace.settings.width, trace.settings.heads
    own = head * len(stored) // (width * heads)
    return np.asarray(stored[own * width : (own + 1) * width]).T
