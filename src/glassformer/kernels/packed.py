"""Packed linear maps: weights in bf16 or int8, in the memory layout that oneDNN prefers.

oneDNN computes, through operators of PyTorch that are not public. Each is tested once before its
first use; where it is absent or wrong, the plain twin, `linear` in fp32, takes its place.

Letters: N rows; K inputs of the map; F its outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.functional import linear

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "relu": functional.relu,
    "silu": functional.silu,
    "gelu": functional.gelu,
}
FUSED = {"none", "relu"}  # activations that the bf16 product applies itself
ROWS = 256  # rows quantized at once, so that they stay in a core's cache
LARGEST = 127  # the largest int8 number used, of either sign
TINY = 1e-20  # the scale of a row of zeros

Linear = Callable[[Tensor], Tensor]  # N K -> N F; the input may have any precision


def pack_linear(
    weight_FK: Tensor, bias_F: Tensor | None, precision: str, activation: str = "none"
) -> Linear:
    """Return a function for activation(x Wᵀ + b), with W in fp32, bf16 or int8.

    Its output is fp32 or bf16.
    """
    if precision == "int8" and can_multiply("int8"):
        return Int8(weight_FK, bias_F, activation)
    if precision == "bf16" and can_multiply("bf16"):
        return Bf16(weight_FK, bias_F, activation)
    return Fp32(weight_FK, bias_F, activation)


class Fp32:
    """A linear map in fp32: the plain twin of the others."""

    def __init__(self, weight_FK: Tensor, bias_F: Tensor | None, activation: str):
        self.weight_FK, self.bias_F, self.activate = weight_FK, bias_F, ACTIVATIONS[activation]

    def __call__(self, x_NK: Tensor) -> Tensor:
        return self.activate(linear(x_NK.float(), self.weight_FK, self.bias_F))


class Bf16:
    """A linear map in bf16, summed in fp32, rounded to bf16."""

    def __init__(self, weight_FK: Tensor, bias_F: Tensor | None, activation: str):
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight_FK.bfloat16(), ROWS)
        self.bias_F = None if bias_F is None else bias_F.bfloat16()
        self.fused = activation if activation in FUSED else "none"
        self.activate = ACTIVATIONS["none" if activation in FUSED else activation]

    def __call__(self, x_NK: Tensor) -> Tensor:
        product_NF = torch.ops.mkldnn._linear_pointwise.default(
            x_NK.bfloat16(), self.weight, self.bias_F, self.fused, [], ""
        )
        return self.activate(product_NF)


class Int8:
    """A linear map in int8; each row of x and each output of W has a scale of its own.

    The integer product is exact, so the result of a row does not depend on other rows.
    """

    def __init__(self, weight_FK: Tensor, bias_F: Tensor | None, activation: str):
        scale_F1 = weight_FK.abs().amax(1, keepdim=True).clamp_(min=TINY) / LARGEST
        quantized_FK = (weight_FK / scale_F1).round_().to(torch.int8)
        self.weight = torch.ops.onednn.qlinear_prepack(quantized_FK, [ROWS, weight_FK.size(1)])
        self.scale_F = scale_F1[:, 0].contiguous()
        self.zero_F = torch.zeros(len(weight_FK), dtype=torch.long)
        self.bias_F = torch.zeros_like(self.scale_F) if bias_F is None else bias_F.clone()
        self.activate = ACTIVATIONS[activation]

    def __call__(self, x_NK: Tensor) -> Tensor:
        if len(x_NK) <= ROWS:
            return self._multiply(x_NK)
        return torch.cat([self._multiply(part_NK) for part_NK in x_NK.split(ROWS)])

    def _multiply(self, x_NK: Tensor) -> Tensor:
        x_NK = x_NK.float()
        scale_N1 = x_NK.abs().amax(1, keepdim=True).mul_(1 / LARGEST).clamp_(min=TINY)
        quantized_NK = (x_NK / scale_N1).round_().to(torch.int8)
        product_NF = torch.ops.onednn.qlinear_pointwise.default(
            quantized_NK,
            1.0,
            0,
            self.weight,
            self.scale_F,
            self.zero_F,
            None,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        return self.activate(torch.addcmul(self.bias_F, product_NF, scale_N1, out=product_NF))


@cache
def can_multiply(precision: str) -> bool:
    """Return whether PyTorch has that product on this processor, and computes it right."""
    if precision == "fp32":
        return True
    weight_FK = torch.linspace(-1, 1, 24 * 16).sin().view(24, 16)
    bias_F, x_NK = torch.linspace(-1, 1, 24), torch.linspace(2, -2, 5 * 16).cos().view(5, 16)
    expected_NF = Fp32(weight_FK, bias_F, "relu")(x_NK)
    try:
        packed = Int8 if precision == "int8" else Bf16
        found_NF = packed(weight_FK, bias_F, "relu")(x_NK)
    except (RuntimeError, AttributeError, NotImplementedError, TypeError):
        return False
    return bool((found_NF - expected_NF).abs().max() < 0.1)
