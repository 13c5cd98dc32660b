"""The residual connection around each sub-layer, and its normalization (paper 3.1).

Letters: B sentences; L positions; D model width.
"""

from collections.abc import Callable

from torch import Tensor, nn

from ..config import Model
from ..foundation.tap import Watchable, tap


def make_norm(settings: Model) -> nn.Module:
    """Return the normalization of the D numbers of a position (Ba et al., 2016).

    The settings may ask for RMSNorm, which has no mean and no bias (Zhang and Sennrich, 2019), or
    for none.
    """
    if "norm" in settings.ablate:
        return nn.Identity()
    kind = nn.RMSNorm if settings.normalization == "rms" else nn.LayerNorm
    return kind(settings.d_model, eps=settings.norm_epsilon)


class Residual(Watchable):
    """A residual connection around a sub-layer: LayerNorm(x + Sublayer(x)) in the paper ("post");
    x + Sublayer(LayerNorm(x)) in most later work ("pre")."""

    def __init__(self, settings: Model):
        super().__init__()
        self.norm = make_norm(settings)
        self.dropout = nn.Dropout(settings.dropout)
        self.post = settings.norm == "post"

    def forward(self, x_BLD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return x plus the sub-layer's output, B L D, with dropout and LayerNorm."""
        if self.post:
            sum_BLD = tap(self, "sum", x_BLD + self.dropout(sublayer(x_BLD)))
            return tap(self, "normed", self.norm(sum_BLD))
        normed_BLD = tap(self, "normed", self.norm(x_BLD))
        return tap(self, "sum", x_BLD + self.dropout(sublayer(normed_BLD)))
