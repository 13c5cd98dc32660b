"""LoRA (Hu et al. 2022): matrices that learn by a product of two small ones, B A, of rank r.

W = W0 + B A is kept as one matrix, so the network, its kernels and the model directory are ordinary
ones. What is learned are A and B: their gradients follow from that of W, and Adam keeps moments of
them alone. Clipping is by the gradient of W.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...config import Train
from .adam import ADAM, FACTOR, begin_adam, step_adam

A, B = "lora_a", "lora_b"
FACTORS = (A, B)


class LoRA(torch.optim.Optimizer):
    """Adam on the two factors of the change of each matrix.

    A begins at random, by the seed and the matrix's number, B as zeros: so the first network is the
    one given.
    """

    def __init__(self, matrices: Sequence[nn.Parameter], train: Train):
        super().__init__([{"params": list(matrices), FACTOR: 1.0}], {"lr": 0.0})
        self.train = train

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        group = self.param_groups[0]
        for number, p in enumerate(group["params"]):
            if p.grad is not None:
                self._learn(p, number, group["lr"])

    def _learn(self, p: nn.Parameter, number: int, rate: float) -> None:
        state = self.state[p]
        if not state:
            state.update(self._begin(p, number))
        a, b, scale = state[A], state[B], self.scale
        grad = p.grad.float() if p.grad is not None else torch.zeros_like(p)
        before = b @ a
        grads = {A: scale * (b.T @ grad), B: scale * (grad @ a.T)}
        columns = ([state[f"{each}_{name}"] for name in FACTORS] for each in ADAM)
        step_adam([a, b], [grads[name] for name in FACTORS], columns, self.train, rate)
        p.add_(b @ a - before, alpha=scale)

    @property
    def scale(self) -> float:
        """Return the factor on B A: alpha over the rank."""
        assert self.train.lora_rank is not None
        return self.train.lora_alpha / self.train.lora_rank

    def _begin(self, p: nn.Parameter, number: int) -> dict[str, Any]:
        rank = self.train.lora_rank
        assert rank is not None
        seed = (self.train.seed * 100_003 + number) % 2**63
        generator = torch.Generator().manual_seed(seed)
        a = torch.randn(rank, p.size(1), generator=generator) / p.size(1) ** 0.5
        factors: dict[str, Tensor] = {A: a.to(p.device), B: p.new_zeros(p.size(0), rank)}
        state: dict[str, Any] = dict(factors)
        for name, factor in factors.items():
            moments = zip(ADAM, begin_adam(factor), strict=True)
            state |= {f"{each}_{name}": x for each, x in moments}
        return state


def adapt(model: nn.Module) -> None:
    """Freeze all but the matrices that LoRA adapts. ValueError if none is left to train."""
    for name, p in model.named_parameters():
        if not (p.dim() == 2 and name.startswith(("encoder.", "decoder."))):
            p.requires_grad_(False)
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError("train.lora_rank: every matrix is frozen, so nothing is left to train")
