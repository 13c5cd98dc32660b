"""Rotary positions (Su et al. 2021, RoFormer, 3.2).

Letters: B sentences; H heads; L positions; K width of one head; I = K / 2 frequencies.
"""

import torch
from torch import Tensor

from ..positions import rates


def rotate(x_BHLK: Tensor, position_BL: Tensor) -> Tensor:
    """Return queries or keys, of which each pair of numbers is turned by its position's angle.

    The pairs are neighbours, 2i and 2i+1, as in the paper and in its positional encoding, whose
    frequencies they have. Two that are turned have a product that depends on their distance alone.
    """
    rates_I = rates(x_BHLK.size(-1)).to(x_BHLK.device)
    angle_BLI = position_BL[..., None] * rates_I  # in float64: late positions are exact
    waves = (wave.to(x_BHLK.dtype)[:, None] for wave in (angle_BLI.cos(), angle_BLI.sin()))
    cos_BHLI, sin_BHLI = waves
    even_BHLI, odd_BHLI = x_BHLK[..., ::2], x_BHLK[..., 1::2]
    turned = (
        even_BHLI * cos_BHLI - odd_BHLI * sin_BHLI,
        odd_BHLI * cos_BHLI + even_BHLI * sin_BHLI,
    )
    return torch.stack(turned, -1).flatten(-2)
