"""Parts of a layer that are left out, to see what they are good for.

Letters: B sentences; L positions; D model width.
"""

from collections.abc import Callable

from torch import Tensor

from ...foundation.tap import Watchable, tap
from ..residual import Residual


class WithoutResidual(Residual):
    """Dropout and LayerNorm as around any sub-layer, but x does not pass beside it."""

    def forward(self, x_BLD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the sub-layer's output alone, B L D."""
        if self.post:
            sum_BLD = tap(self, "sum", self.dropout(sublayer(x_BLD)))
            return tap(self, "normed", self.norm(sum_BLD))
        normed_BLD = tap(self, "normed", self.norm(x_BLD))
        return tap(self, "sum", self.dropout(sublayer(normed_BLD)))


class LeftOut(Watchable):
    """The place of a sub-layer that the network does not have."""

    def forward(self, x_BLD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return x."""
        return x_BLD
