"""Positions that attention knows by their distances: rotary, relative, and linear biases.

Rotary: Su et al. 2021, RoFormer, 3.2. Relative: Shaw et al. 2018, Self-Attention with Relative
Position Representations. Linear biases, ALiBi: Press et al. 2022.

Letters: B sentences; H heads; L positions; Q query positions; M memory positions; K width of one
head; I = K / 2 frequencies; C kinds of distances.
"""

import torch
from torch import Tensor, nn

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


class RelativePositions(nn.Module):
    """A vector for each distance, added to keys, and one added to values; all heads share them.

    Distances beyond `reach` have the vector of `reach`. Entry i is distance i - reach of the key
    from the query, so that what stands before has negative distances.
    """

    def __init__(self, width: int, reach: int):
        super().__init__()
        self.reach = reach
        self.key_CK = nn.Parameter(torch.empty(2 * reach + 1, width))
        self.value_CK = nn.Parameter(torch.empty(2 * reach + 1, width))
        for table in (self.key_CK, self.value_CK):
            nn.init.xavier_uniform_(table)

    def find_kinds(self, distance_BQM: Tensor) -> Tensor:
        """Return the entry of each distance."""
        return distance_BQM.clamp(-self.reach, self.reach) + self.reach

    def score(self, q_BHQK: Tensor, kind_BQM: Tensor) -> Tensor:
        """Return the products of queries with the vectors added to keys, B H Q M (equation 4).

        All C products are computed once; each distance takes its own.
        """
        scores_BHQC = q_BHQK @ self.key_CK.T
        kind_BHQM = kind_BQM[:, None].expand(*scores_BHQC.shape[:3], -1)
        return scores_BHQC.gather(-1, kind_BHQM)

    def read(self, weights_BHQM: Tensor, kind_BQM: Tensor) -> Tensor:
        """Return the weighted sum of the vectors added to values, B H Q K (equation 3)."""
        weights_BHQC = weights_BHQM.new_zeros(*weights_BHQM.shape[:3], len(self.value_CK))
        kind_BHQM = kind_BQM[:, None].expand_as(weights_BHQM)
        return weights_BHQC.scatter_add(-1, kind_BHQM, weights_BHQM) @ self.value_CK


def penalties(heads: int) -> Tensor:
    """Return what each head takes from a score for each position of distance, H, in float64.

    For 8 heads 1/2, 1/4 ... 1/256. For a number that is no power of 2, those of the next lower
    power, then every other one of twice that power, as in the authors' code.
    """
    power = 1 << (heads.bit_length() - 1)
    h_H = torch.arange(heads, dtype=torch.float64, device="cpu")
    first_H, more_H = -8 * (h_H + 1) / power, -4 * (2 * (h_H - power) + 1) / power
    return 2.0 ** torch.where(h_H < power, first_H, more_H)
