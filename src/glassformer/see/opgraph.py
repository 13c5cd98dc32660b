"""The graph of a recording: for each tensor, the equation that computes it from others.

The catalogue has the equation of each window, in the local names of its module: `normed`, `x`,
`to_query.weight`. The wiring, recorded from the network itself, says which tensor each local name
is. Together they make the graph: for every tensor an equation in full names. Explanations of
cells, formulas, code, pictures and the test that recomputes every tensor are all made from it.
Imports no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ..config import PARTS, Model
from ..foundation.messages import LANGUAGES
from .catalogue import Entry, look_up, read_derived, read_modules
from .document import Wiring
from .expression import (
    Cells,
    Constant,
    Expression,
    Letter,
    Number,
    Operation,
    Reduction,
    list_children,
    parse_equation,
    walk,
    with_children,
)

DIMS = {
    "H": "head",
    "K": "width",
    "D": "d_model",
    "F": "d_ff",
    "I": "input",
    "V": "vocabulary",
    "1": "any",
}


class Axis(NamedTuple):
    """One axis of a tensor: its letter, what it counts, and its size."""

    letter: str
    dim: str
    size: int


@dataclass(frozen=True)
class Equation:
    """The equation of one tensor; inputs and parameters have no right side."""

    name: str
    kind: str  # "input", "parameter", "window", or "derived" from windows and none itself
    axes: tuple[Axis, ...] = ()
    right: Expression | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)  # the number of values of each letter
    module: str = ""  # the class of the module that makes it, where that has no windows

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(axis.dim for axis in self.axes)

    @property
    def derived(self) -> bool:
        return self.kind == "derived"

    @property
    def is_norm(self) -> bool:
        return self.module.endswith("Norm")

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """Return the names of the tensors on the right side, in the order of the equation."""
        parts = walk(self.right) if self.right else ()
        return tuple(dict.fromkeys(part.name for part in parts if isinstance(part, Cells)))


class Graph(dict[str, Equation]):
    """All equations by name, in the order in which the network computes them."""


def build_graph(
    settings: Model,
    wiring: Wiring,
    source: int,
    target: int,
    source_vocabulary: int,
    target_vocabulary: int,
) -> Graph:
    """Return the graph of a network for a recording of `source` and `target` positions."""
    sizes = {
        "S": source,
        "T": target,
        "D": settings.d_model,
        "H": settings.heads,
        "K": settings.width,
        "F": settings.d_ff,
        "I": 2 * settings.d_model,
        "V": target_vocabulary,
        "1": 1,
        "share": settings.heads // (settings.key_value_heads or settings.heads),
        "power": 1 << (settings.heads.bit_length() - 1),  # the largest of 2 within heads
    }
    return _Builder(settings, wiring, sizes).build()


def list_values(settings: Model) -> dict[str, object]:
    """Return the settings by which an equation is chosen, by their own names.

    A part that can be left out is there as `without_PART`, True or False.
    """
    tables = (settings, settings.attention, settings.positions, settings.rnn)
    values = {name: value for table in tables for name, value in vars(table).items()}
    left_out = {f"without_{part}": part in settings.ablate for part in PARTS}
    return values | left_out | {"shares": settings.key_value_heads is not None}


class _Builder:
    """A builder of the graph, window by window."""

    def __init__(self, settings: Model, wiring: Wiring, sizes: Mapping[str, int]):
        self.settings, self.wiring, self.sizes = settings, wiring, sizes
        self.network = settings.network
        self.values = list_values(settings)
        self.graph = Graph()

    def build(self) -> Graph:
        for side, size in (("source", "S"), ("target", "T")):
            axis = Axis("q", side, self.sizes[size])
            self.graph[f"{side}.ids"] = Equation(f"{side}.ids", "input", (axis,))
        for name, maker in self.wiring.windows.items():
            self._add_window(name, maker)
            self._add_derived(name.rpartition(".")[0])
        return self.graph

    def _add_window(self, name: str, maker: str) -> None:
        """Add a window with its own equation, or with that of the PyTorch module that made it."""
        entry = look_up(name, network=self.network)
        if entry is None:
            raise ValueError(f"{name} is not in the catalogue")
        if text := entry.choose_equation(self.values):
            self._add(name, "window", text, entry, name.rpartition(".")[0])
            return
        kind, stem = self.wiring.modules[maker].kind, name.removesuffix(".normed")
        if (parts := read_modules(self.network).get(kind)) is None:
            raise ValueError(f"the catalogue has no equation of {name} with these settings")
        for part, text in parts.items():
            if part in LANGUAGES:
                continue
            if part == "output":
                self._add(name, "window", text, entry, maker, stem, kind)
            else:
                derived = look_up(f"{stem}.{part}", network=self.network)
                assert derived
                self._add(f"{stem}.{part}", "derived", text, derived, maker, stem)

    def _add_derived(self, module: str) -> None:
        """Add the derived tensors of a module whose windows are all in the graph."""
        for kind, entry in read_derived(self.network).items():
            name = f"{module}.{kind.rpartition('.')[2]}".lstrip(".")
            text = entry.choose_equation(self.values)
            if not text or name in self.graph or look_up(name, network=self.network) is not entry:
                continue
            parts = (part for part in walk(parse_equation(text)[1]) if isinstance(part, Cells))
            windows = (f"{module}.{part.name}".lstrip(".") for part in parts)
            if all(each in self.graph for each in windows if each in self.wiring.windows):
                self._add(name, "derived", text, entry, module)

    def _add(
        self,
        name: str,
        kind: str,
        text: str,
        entry: Entry,
        module: str,
        stem: str = "",
        made_by: str = "",
    ) -> None:
        left, right = parse_equation(text)
        letters = [part.name for part in left.index if isinstance(part, Letter)]
        axes = self._lay_out(name, letters, [size for size in entry.shape if size != "B"])
        wired = self._wire(right, module, stem)
        sizes = {axis.letter: axis.size for axis in axes} | self._measure(wired)
        self.graph[name] = Equation(name, kind, axes, wired, sizes, made_by)

    def _lay_out(self, name: str, letters: list[str], shape: list[str]) -> tuple[Axis, ...]:
        """Return the axes of a tensor; the catalogue gives its shape in letters."""
        is_source = name.startswith(("source", "encoder", "memory"))
        own = "source" if is_source else "target"
        other = "source" if is_source or "cross_attention" in name else "target"
        dims = DIMS | {"S": "source", "T": "target"}
        dims["Q"] = "query" if "M" in shape else own
        dims["M"] = other if "K" in shape else "key"
        sizes = {"Q": self.sizes[own[0].upper()], "M": self.sizes[other[0].upper()], **self.sizes}
        pairs = zip(letters, shape, strict=True)
        return tuple(Axis(letter, dims[size], sizes[size]) for letter, size in pairs)

    def _wire(self, part: Expression, module: str, stem: str) -> Expression | None:
        """Return an expression in full names and numbers; None if the network lacks a part."""
        if isinstance(part, Constant):
            return Number(self._look_up(part.name, module))
        wired = [self._wire(child, module, stem) for child in list_children(part)]
        if isinstance(part, Operation) and part.sign in "+-" and wired[0] and not wired[1]:
            return wired[0]
        if None in wired:
            return None
        result = with_children(part, tuple(filter(None, wired)))
        if isinstance(result, Cells):
            name = self._resolve(result.name, module, stem)
            return Cells(name, self._fit(result.index, name)) if name else None
        return result

    def _resolve(self, local: str, module: str, stem: str) -> str | None:
        """Return the full name of a module's local name; None if the network has no such tensor."""
        called = self.wiring.modules.get(module)
        full = f"{module}.{local}".lstrip(".")
        for name in (stem and f"{stem}.{local}", full):
            if name in self.graph or name in self.wiring.windows:  # of an earlier position
                return name
        if called and local in called.inputs:
            return called.inputs[local]
        if local in self.graph:
            return local
        if called and called.constants.get(local, 0) is None:
            return None
        self.graph[full] = Equation(full, "parameter")
        return full

    def _fit(self, index: tuple[Expression, ...], name: str) -> tuple[Expression, ...]:
        """Return an index with 0 on each axis that is broadcast."""
        axes = self.graph[name].axes if name in self.graph else ()
        if not axes:
            return index
        pairs = zip(index, axes, strict=True)
        return tuple(Number(0) if axis.dim == "any" else at for at, axis in pairs)

    def _look_up(self, name: str, module: str) -> float:
        """Return the value of a constant: a size, or a number of the module or the settings."""
        constants = self.wiring.modules[module].constants if module else {}
        for known in (self.sizes, constants, self.values):
            if isinstance(value := known.get(name), int | float):
                return value
        raise ValueError(f"{name} is neither a size nor a number of {module}")

    def _measure(self, right: Expression | None) -> dict[str, int]:
        """Return the number of values of each letter of a sum: the size of the axis it indexes."""
        sizes = dict(self.defaults)
        for part in walk(right) if right else ():
            if isinstance(part, Cells):
                axes = self.graph[part.name].axes if part.name in self.graph else ()
                for at, axis in zip(part.index, axes, strict=False):
                    if isinstance(at, Letter):
                        sizes[at.name] = axis.size
        return {
            part.letter: sizes[part.letter]
            for part in (walk(right) if right else ())
            if isinstance(part, Reduction)
        }

    @cached_property
    def defaults(self) -> dict[str, int]:
        """Return the number of values of letters along the axes of parameters."""
        h, k = self.sizes["H"], self.sizes["K"]
        return {
            "h": h,
            "k": k,
            "j": h * k,
            **{letter.lower(): size for letter, size in self.sizes.items()},
            "i": self.sizes["D"],
        }
