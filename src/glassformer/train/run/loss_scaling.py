"""Loss scaling for fp16 (Micikevicius et al. 2018), whose gradients else round to 0 or overflow.

The loss is multiplied by a scale before the backward pass, and the gradients are divided by it
after. An update whose gradients overflow is computed again with half the scale, so none is lost;
after GROWTH updates without overflow the scale doubles. Other precisions need none of this.
"""

import torch
from torch import Tensor

FIRST, GROWTH = 2.0**16, 2000
SCALE, TRACKER = "scale", "_growth_tracker"  # what of the state of a GradScaler changes
LEAST = 1.0  # with this scale, an overflow is the network's own


class LossScale:
    """A dynamic scale, by PyTorch's GradScaler; its state is stored in each checkpoint."""

    def __init__(self, precision: str, device: torch.device):
        self.is_on = precision == "fp16"
        options = {"init_scale": FIRST, "growth_interval": GROWTH, "enabled": self.is_on}
        self.scaler = torch.amp.GradScaler(device.type, **options)  # type: ignore[arg-type]

    def enlarge(self, loss: Tensor) -> Tensor:
        """Return a loss, to run backward from, times the scale."""
        return self.scaler.scale(loss) if self.is_on else loss

    def reduce(self, optimizer: torch.optim.Optimizer, norm: Tensor) -> bool:
        """Divide the gradients and their norm by the scale, unless they overflow.

        Return whether the update has to be computed again: then the scale is smaller.
        """
        if not self.is_on:
            return False
        scale = self.scaler.get_scale()
        self.scaler.unscale_(optimizer)
        norm.div_(scale)
        has_overflowed = not bool(norm.isfinite()) and scale > LEAST
        self.scaler.update(max(scale / 2, LEAST) if has_overflowed else None)
        return has_overflowed

    def state(self) -> dict[str, float]:
        result = self.scaler.state_dict()
        return {name: result[name] for name in (SCALE, TRACKER)} if self.is_on else {}

    def load(self, state: dict[str, float]) -> None:
        """Take the state of a checkpoint; an empty one is of another precision."""
        if self.is_on and state:
            tracked = {SCALE: state[SCALE], TRACKER: int(state[TRACKER])}
            self.scaler.load_state_dict({**self.scaler.state_dict(), **tracked})
