"""The words of the op-graph: an axis, an operand, an op, and a graph of them. No torch.

Letters of an index: h head; q, m positions that ask and that answer; k place within a head; d
place in d_model, i where it is summed over; j place among all heads side by side; f place in
d_ff; v piece of the vocabulary. An index may compute: `h*8+k`, `j//8`, `ids[q]`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

LINEAR = ("gather", "add", "copy", "matmul", "dot", "weighted_sum", "concat")


class Axis(NamedTuple):
    """One axis of a tensor: its letter, what it counts, and how many there are."""

    letter: str
    dim: str
    size: int


@dataclass(frozen=True)
class Operand:
    """Cells of another tensor, by expressions in the letters of an op."""

    name: str
    index: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Operand:
        """`query[h,q,k]`."""
        name, _, index = text.removesuffix("]").partition("[")
        return cls(name, tuple(index.split(",")))


@dataclass(frozen=True)
class Op:
    """The making of one tensor.

    The kinds in LINEAR are `scale` times a sum, plus `bias`: over `over`, of the product of the
    operands; in "add" and "copy", of the operands themselves. In the others the operands are what
    the function of that name is applied to, and `detail` is what else it needs.
    """

    name: str
    kind: str
    axes: tuple[Axis, ...] = ()
    operands: tuple[Operand, ...] = ()
    over: Axis | None = None
    scale: float = 1.0
    scale_formula: str = ""
    bias: Operand | None = None
    mask: Operand | None = None
    detail: Any = None
    derived: bool = False  # computed from what passes the windows, none itself

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(axis.dim for axis in self.axes)


class Graph(dict[str, Op]):
    """All ops by name, in the order in which the network computes them."""

    def make(
        self,
        kind: str,
        name: str,
        axes: Iterable[Axis],
        *operands: str,
        bias: str | None = None,
        mask: str | None = None,
        **more: Any,
    ) -> str:
        """Add an op, and a leaf for each parameter that it is the first to use."""
        found = tuple(map(Operand.read, operands))
        bias_found, mask_found = (Operand.read(text) if text else None for text in (bias, mask))
        for operand in (*found, *filter(None, (bias_found,))):
            self.setdefault(operand.name, Op(operand.name, "parameter"))
        self[name] = Op(name, kind, tuple(axes), found, bias=bias_found, mask=mask_found, **more)
        return name
