"""Positional encoding (paper 3.5), in the paper's layout and in Tensor2Tensor's.

Tables are computed in float64, where the angles of late positions are still exact; the caller
keeps one fp32 table.

Letters: L positions; D model width; I = D / 2 frequencies.
"""

import math

import torch
from torch import Tensor

from ..config import Positions

BASE = 10000.0


def rates(d_model: int, grid: str = "paper") -> Tensor:
    """Return the angle between neighbouring positions, in radians, for each frequency.

    The shape is I, the type float64. "paper": BASE^(-2i/D), so that the slowest wave stays above
    1/BASE. "tensor2tensor": BASE^(-i/(D/2-1)), so that the slowest is 1/BASE exactly. Neither is
    a reordering of the other.
    """
    i_I = torch.arange(d_model // 2, dtype=torch.float64, device="cpu")
    steps = d_model / 2 if grid == "paper" else max(d_model // 2 - 1, 1)
    return torch.exp(-math.log(BASE) * i_I / steps)


def check_reach(tokens: int, longest: int) -> None:
    """Raise ValueError where there are more tokens than positions."""
    if tokens > longest:
        raise ValueError(f"{tokens} tokens, but positions.max_positions={longest}")


def sinusoids(settings: Positions, d_model: int) -> Tensor:
    """Return the vectors of the first `settings.max_positions` positions, L D, in float64.

    "interleaved" (the paper): dimension 2i is the sine, 2i+1 the cosine of frequency i.
    "concatenated" (Tensor2Tensor): all sines, then all cosines. "sine" (to see what the cosines
    are for): sines alone, of D frequencies.
    """
    position_L = (
        torch.arange(settings.max_positions, dtype=torch.float64, device="cpu") + settings.offset
    )
    width = 2 * d_model if settings.layout == "sine" else d_model
    angle_LI = position_L[:, None] * rates(width, settings.grid)
    waves = (angle_LI.sin(), angle_LI.cos())
    if settings.layout == "interleaved":
        table_LD = torch.stack(waves, dim=-1).flatten(1)
    elif settings.layout == "sine":
        table_LD = waves[0]
    else:
        table_LD = torch.cat(waves, dim=-1)
    return table_LD * settings.amplitude
