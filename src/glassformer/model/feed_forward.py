"""The position-wise feed-forward network (paper 3.3).

Letters: B sentences; L positions; D model width; F inner width.
"""

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional

from ..config import Model
from ..foundation.tap import Watchable, tap

Activation = Callable[[Tensor], Tensor]
NAMES = "relu", "silu", "gelu"
ACTIVATIONS: dict[str, Activation] = {name: getattr(functional, name) for name in NAMES}


class FeedForward(Watchable):
    """The network max(0, x W₁ + b₁) W₂ + b₂, which is applied to each position separately.

    The settings may name another activation than the paper's max(0, x).
    """

    def __init__(self, settings: Model):
        super().__init__()
        self.inner = nn.Linear(settings.d_model, settings.d_ff)
        self.outer = nn.Linear(settings.d_ff, settings.d_model)
        self.activation = ACTIVATIONS[settings.activation]
        self.dropout = nn.Dropout(settings.activation_dropout)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Return the network's output, B L D."""
        inner_BLF = tap(self, "inner", self.inner(x_BLD))
        hidden_BLF = tap(self, "hidden", self.activation(inner_BLF))
        return tap(self, "output", self.outer(self.dropout(hidden_BLF)))
