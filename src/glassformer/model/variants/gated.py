"""The feed-forward network with a gate (Shazeer 2020, GLU Variants Improve Transformer).

Letters: B sentences; L positions; D model width; F inner width.
"""

from torch import Tensor, nn

from ...config import Model
from ...foundation.tap import tap
from ..feed_forward import FeedForward


class GatedFeedForward(FeedForward):
    """The network (f(x W₁ + b₁) ⊙ (x V + c)) W₂ + b₂: one factor is a gate for the other.

    Shazeer calls it ReGLU, SwiGLU or GEGLU, by the activation f. The paper has no biases; this
    has those of its plain twin.
    """

    def __init__(self, settings: Model):
        super().__init__(settings)
        self.gate = nn.Linear(settings.d_model, settings.d_ff)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Return the network's output, B L D."""
        inner_BLF = tap(self, "inner", self.inner(x_BLD))
        gate_BLF = tap(self, "gate", self.gate(x_BLD))
        hidden_BLF = tap(self, "hidden", self.activation(inner_BLF) * gate_BLF)
        return tap(self, "output", self.outer(self.dropout(hidden_BLF)))
