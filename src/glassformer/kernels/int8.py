"""The interface of the int8 decoder in C: its structures, its library and a check of its products.

`native/decode.c` computes; the plain twin is the packed network of `engine/` in int8.
`can_decode` says whether the library can be used.

Letters: F outputs of a linear map; K its inputs; N rows; V vocabulary; L positions; D model width.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_double, c_int, c_int32, c_int64, c_void_p
from functools import cache

import torch
from torch import Tensor

from . import native
from .calls import point

SIDE, DEEP = 16, 64  # outputs and inputs of a linear map are padded to multiples of these
ACTIVATIONS = {"none": 0, "relu": 1, "silu": 2, "gelu": 3}
TILES = 3  # the level of a processor with AMX


class LinearStruct(ctypes.Structure):
    """The C structure of a quantized linear map."""

    _fields_ = (
        *((name, c_void_p) for name in ("weight", "scale", "sum", "bias")),
        *((name, c_int64) for name in ("inputs", "outputs")),
    )


class NormStruct(ctypes.Structure):
    """The C structure of a LayerNorm."""

    _fields_ = (("gain", c_void_p), ("bias", c_void_p))


MAPS = ("query_key_value", "output", "query", "memory", "cross_output", "inner", "outer")
NORMS = ("self_norm", "cross_norm", "norm")


class LayerStruct(ctypes.Structure):
    """The C structure of an encoder layer or a decoder layer."""

    _fields_ = (*((name, LinearStruct) for name in MAPS), *((name, NormStruct) for name in NORMS))


class SideStruct(ctypes.Structure):
    """The C structure of an encoder or a decoder."""

    _fields_ = (
        *((name, c_int64) for name in ("width", "model", "inside", "heads")),
        *((name, c_int64) for name in ("is_post", "activation", "tiled", "layers")),
        ("epsilon", c_double),
        ("layer", POINTER(LayerStruct)),
        ("last_norm", NormStruct),
        ("words", c_void_p),
        ("places", c_void_p),
        ("vocabulary", c_int64),
        ("reach", c_int64),
    )


class StoreStruct:
    """The owner of the tensors to which C structures point."""

    def __init__(self) -> None:
        self.held: list[object] = []

    def point(self, x: Tensor, dtype: torch.dtype = torch.float32) -> int:
        x = x.detach().to("cpu", dtype).contiguous()
        self.held.append(x)
        return point(x)

    def pack(self, weight_FK: Tensor, bias_F: Tensor | None) -> LinearStruct:
        """Quantize W to int8, with a scale for each output; return its C structure."""
        library = get_library()
        weight_FK = weight_FK.detach().float().contiguous()
        outputs, inputs = weight_FK.shape
        wide, deep = pad(outputs, SIDE), pad(inputs, DEEP)
        packed = torch.zeros(wide * deep, dtype=torch.int8)
        scale_F = torch.zeros(wide, dtype=torch.float32)
        sum_F = torch.zeros(wide, dtype=torch.int32)
        library.decode_pack(
            point(weight_FK), outputs, inputs, deep, point(packed), point(scale_F), point(sum_F)
        )
        all_bias_F = torch.zeros(wide, dtype=torch.float32)
        if bias_F is not None:
            all_bias_F[:outputs] = bias_F
        pointers = (self.point(packed, torch.int8), self.point(scale_F))
        return LinearStruct(
            *pointers, self.point(sum_F, torch.int32), self.point(all_bias_F), deep, wide
        )

    def norm(self, gain_D: Tensor, bias_D: Tensor) -> NormStruct:
        return NormStruct(self.point(gain_D.clone()), self.point(bias_D.clone()))

    def layers(self, layers: list[LayerStruct]) -> ctypes.Array[LayerStruct]:
        array = (LayerStruct * len(layers))(*layers)
        self.held.append(array)
        return array


def pad(size: int, to: int) -> int:
    return -(-size // to) * to


@cache
def get_library() -> ctypes.CDLL:
    library = native.load_library("decode")
    if library is None:
        raise RuntimeError(f"no native kernels: {native.explain_library('decode')}")
    p, q = c_void_p, c_int64
    library.decode_level.restype = c_int
    library.decode_pack.argtypes = (p, q, q, q, p, p, p)
    library.decode_multiply.argtypes = (p, p, q, q, c_int32, c_int, c_int, p, p, p)
    library.decode_room.argtypes, library.decode_room.restype = (p, q, q, c_int), c_int64
    library.decode_read.argtypes = (p, p, p, p, p, q, q, p, p, p, c_int)
    asked, wanted = (p, p, q, *(7 * (p,)), q, p, p, p, q), (p, q, p)
    library.decode_step.argtypes = (*asked, *wanted, p, c_int)
    return library


@cache
def can_decode() -> bool:
    """Return whether the library is available and its products are right."""
    if native.load_library("decode") is None or get_library().decode_level() < 1:
        return False
    weight_FK = torch.linspace(-1, 1, 24 * 80).mul(99).sin().view(24, 80)
    bias_F, x_NK = torch.linspace(-1, 1, 24), torch.linspace(0, 300, 40 * 80).cos().view(40, 80)
    expected_NF = x_NK @ weight_FK.T + bias_F
    found = [
        multiply_int8(x_NK[:rows], weight_FK, bias_F, tiled=has_int8_tiles()) for rows in (3, 40)
    ]
    return all(bool((each - expected_NF[: len(each)]).abs().max() < 0.3) for each in found)


def has_int8_tiles() -> bool:
    return bool(get_library().decode_level() == TILES)


def multiply_int8(
    x_NK: Tensor,
    weight_FK: Tensor,
    bias_F: Tensor | None,
    *,
    zero: int = 128,
    tiled: bool = False,
    relu: bool = False,
) -> Tensor:
    """Return x Wᵀ + b, N F, from the int8 kernel.

    zero: the zero point of x: 128, or 0 where nothing in x is negative.
    """
    store, rows, inputs = StoreStruct(), *x_NK.shape
    packed = store.pack(weight_FK, bias_F)
    x_NK = x_NK.float().contiguous()
    whole = torch.zeros(pad(rows, 32) * (packed.inputs + DEEP), dtype=torch.uint8)
    scale_N, y_NF = torch.empty(rows), torch.empty(rows, packed.outputs)
    get_library().decode_multiply(
        ctypes.byref(packed),
        point(x_NK),
        rows,
        inputs,
        zero,
        tiled,
        relu,
        point(whole),
        point(scale_N),
        point(y_NF),
    )
    return y_NF[:, : len(weight_FK)]
