"""Matrix products for training in bf16 on AMX tiles: `native/train_product.c`.

The twin of each is a line of torch that rounds at the same points: see `tests/unit/kernels`.
Weights are packed for the forward and the backward pass at once; `PackedWeights` keeps them.

Letters: N rows; I inputs of a linear map; F its outputs.
"""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial

import torch
from torch import Tensor

from .calls import call, open_kernels, point_apart

STEP = 32  # rows and columns of the blocks of the packed layout


@cache
def _open() -> ctypes.CDLL | None:
    library = open_kernels(
        "train_product",
        pack_weight="pll pp l i",
        multiply_packed="plll pl p i pl f pp l i",
        multiply_deep="plll pl p i",
        multiply_turned="pll plll pp ii",
    )
    return library if library and library.has_tiles() else None


def has_tiles() -> bool:
    """Return whether this processor has AMX tiles and this process may use them."""
    return torch.cpu._is_amx_tile_supported() and _open() is not None


@dataclass(frozen=True)
class PackedMatrices:
    """The packed weights of one linear map, or of several side by side that read the same."""

    ahead: Tensor  # the right side of x Wᵀ
    back: Tensor  # the right side of y W
    bias_F: Tensor | None  # fp32
    outs: int
    ins: int


class PackedWeights:
    """The packed weights of one network, which are kept as long as its weights do not change."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], tuple[Sequence[Tensor], PackedMatrices]] | None = None

    @contextmanager
    def keep(self) -> Iterator[None]:
        """Keep packed weights within the context, where weights must not change."""
        before, self._kept = self._kept, {}
        try:
            yield
        finally:
            self._kept = before

    def pack(self, weights: Sequence[Tensor], biases: Sequence[Tensor] = ()) -> PackedMatrices:
        """Return fp32 weights, F I, packed one below the other."""
        if self._kept is None:
            return pack_tiles(weights, biases)
        key = tuple(map(id, weights))
        if key not in self._kept:  # weights are kept alive, so that no other tensor gets their ids
            self._kept[key] = (*weights,), pack_tiles(weights, biases)
        return self._kept[key][1]


def pack_tiles(weights: Sequence[Tensor], biases: Sequence[Tensor] = ()) -> PackedMatrices:
    """Return fp32 weights, F I, packed one below the other."""
    library = _open()
    assert library is not None
    weights, biases = ([each.detach() for each in several] for several in (weights, biases))
    bias_F = torch.cat([b.float() for b in biases]) if biases else None
    if any(len(w) % STEP for w in weights[:-1]):
        weights = [torch.cat(list(weights))]
    outs, ins = sum(map(len, weights)), weights[0].size(1)
    deep, wide = -(-outs // STEP) * STEP, -(-ins // STEP) * STEP
    ahead, back = (torch.empty(deep * wide, dtype=torch.bfloat16) for _ in range(2))
    first = 0
    for w in weights:
        w_FI = w.float().contiguous()
        assert w_FI.shape == (len(w), ins) and w_FI.device.type == "cpu"
        places = ahead[first * wide :], back[first * STEP :]
        call(library.pack_weight, w_FI, len(w_FI), ins, *places, deep)
        first += len(w)
    return PackedMatrices(ahead, back, bias_F, outs, ins)


def multiply_tiles(x_NI: Tensor, packed: PackedMatrices, relu: bool = False) -> Tensor:
    """Return x Wᵀ + b, N F, in bf16; with `relu`, negative values become 0."""
    out_NF = x_NI.new_empty(len(x_NI), packed.outs)
    _multiply(x_NI, packed.ahead, packed.ins, out_NF, packed.bias_F, relu)
    return out_NF


def exponentiate(x_NI: Tensor, packed: PackedMatrices, out_NF: Tensor) -> Tensor:
    """Write exp(x Wᵀ) to `out_NF` in bf16; return its row sums before rounding, N, in fp32."""
    assert out_NF.shape == (len(x_NI), packed.outs)
    _check(out_NF, packed.outs)
    sum_N = torch.empty(len(x_NI), dtype=torch.float32)
    _multiply(x_NI, packed.ahead, packed.ins, out_NF, totals=sum_N)
    return sum_N


def multiply_deep(y_NF: Tensor, packed: PackedMatrices) -> Tensor:
    """Return y W, N I, in fp32, for a W with many more rows than columns."""
    library = _open()
    assert library is not None
    _check(y_NF, packed.outs)
    out_NI = torch.empty(len(y_NF), packed.ins, dtype=torch.float32)
    shape = y_NF.stride(0), len(y_NF), packed.outs
    call(library.multiply_deep, point_apart(y_NF), *shape, packed.back, packed.ins, out_NI)
    return out_NI


def multiply_back(
    y_NF: Tensor, packed: PackedMatrices, gate_NI: Tensor | None = None, scale: float = 1.0
) -> Tensor:
    """Return y W, N I, in bf16; with a gate, scaled where the gate is not 0, and 0 elsewhere."""
    out_NI = y_NF.new_empty(len(y_NF), packed.ins)
    _multiply(y_NF, packed.back, packed.outs, out_NI, gate=gate_NI, scale=scale)
    return out_NI


def _multiply(
    x: Tensor,
    right: Tensor,
    depth: int,
    out: Tensor,
    bias: Tensor | None = None,
    relu: bool = False,
    gate: Tensor | None = None,
    scale: float = 1.0,
    totals: Tensor | None = None,
) -> None:
    library = _open()
    assert library is not None
    _check(x, depth)
    if gate is not None:
        _check(gate, out.size(1))
        assert len(gate) == len(x)
    gated = (None, 0) if gate is None else (point_apart(gate), gate.stride(0))
    left, result = (point_apart(x), x.stride(0), len(x)), (point_apart(out), out.stride(0))
    arguments = bias, relu, *gated, scale, totals
    call(library.multiply_packed, *left, depth, right, out.size(1), *arguments, *result)


def multiply_turned(
    y_NF: Tensor, x_NI: Tensor, onto_FI: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the gradients of a weight, yᵀ x, F I, and of its bias, the column sums of y, in fp32.

    With `onto_FI`, yᵀ x is added to it in place, and the column sums are not computed.
    """
    library = _open()
    assert library is not None
    rows, outs, ins = len(y_NF), y_NF.size(1), x_NI.size(1)
    fp32 = partial(torch.empty, dtype=torch.float32)
    _check(y_NF, outs)
    _check(x_NI, ins)
    assert len(x_NI) == rows
    if not rows:
        return fp32(outs, ins).zero_() if onto_FI is None else onto_FI, fp32(outs).zero_()
    w_FI, sum_F = fp32(outs, ins), fp32(outs)
    if onto_FI is not None:
        assert onto_FI.shape == (outs, ins) and onto_FI.is_contiguous()
        assert onto_FI.dtype == torch.float32
        w_FI = onto_FI
    y, x = (point_apart(y_NF), y_NF.stride(0)), (point_apart(x_NI), x_NI.stride(0))
    sums = None if onto_FI is not None else sum_F
    call(library.multiply_turned, *y, outs, *x, ins, rows, w_FI, sums, sums is None)
    return w_FI, sum_F


def _check(x: Tensor, width: int) -> None:
    """Assert that x has bf16 rows on the CPU, each without gaps."""
    assert x.dim() == 2 and x.dtype == torch.bfloat16 and x.device.type == "cpu"
    assert x.size(1) == width and (width == 1 or x.stride(1) == 1)
    assert len(x) < 2 or x.stride(0) >= width
