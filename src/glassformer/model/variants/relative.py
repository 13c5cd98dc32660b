"""Relative positions (Shaw et al. 2018, Self-Attention with Relative Position Representations).

Letters: B sentences; H heads; Q query positions; M memory positions; K width of one head; C kinds
of distances.
"""

import torch
from torch import Tensor, nn


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
