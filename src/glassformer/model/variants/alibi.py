"""Attention with linear biases, ALiBi (Press et al. 2022).

Letters: H heads.
"""

import torch
from torch import Tensor


def penalties(heads: int) -> Tensor:
    """Return what each head takes from a score for each position of distance, H, in float64.

    For 8 heads 1/2, 1/4 ... 1/256. For a number that is no power of 2, those of the next lower
    power, then every other one of twice that power, as in the authors' code.
    """
    power = largest_power(heads)
    h_H = torch.arange(heads, dtype=torch.float64, device="cpu")
    first_H, more_H = -8 * (h_H + 1) / power, -4 * (2 * (h_H - power) + 1) / power
    return 2.0 ** torch.where(h_H < power, first_H, more_H)


def largest_power(heads: int) -> int:
    """Return the largest power of 2 that is not above the number of heads."""
    return 1 << (heads.bit_length() - 1)
