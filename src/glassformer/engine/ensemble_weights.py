"""The weights of several models that translate together: PyTorch computes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .weights import Encode, Weights

if TYPE_CHECKING:
    from ..decode import Network


class EnsembleWeights(Weights):
    """The weights of models with one vocabulary; alignment and `network` are the first one's."""

    is_native = False

    def __init__(self, members: Sequence[Weights], encode: Encode, **how: Any) -> None:
        """Take loaded members, all on one device. ValueError if int8 is asked for."""
        if how.get("precision") == "int8":
            raise ValueError("precision=int8 is for one model, not for several together: use fp32")
        first = members[0]
        super().__init__(first.origin, first.settings, encode, **how)
        self.members = list(members)

    @cached_property
    def view(self) -> Network[Any]:
        from ..decode.ensemble import Ensemble

        return Ensemble([each.view for each in self.members])

    @property
    def parameters(self) -> int:
        """Return the number of weights of all members."""
        return sum(each.parameters for each in self.members)
