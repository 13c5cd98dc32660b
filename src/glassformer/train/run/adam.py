"""The state and the step of Adam (paper 5.3), for optimizers that use it for some parameters."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.optim.adam import adam

from ...config import Train

ADAM = ("exp_avg", "exp_avg_sq", "step")  # the state of Adam for each parameter
FACTOR = "factor"  # the key of a parameter group: its rate is that many times the common one


def begin_adam(p: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the state of Adam for a parameter before its first step, in the order of ADAM."""
    return torch.zeros_like(p), torch.zeros_like(p), torch.zeros((), device=p.device)


def step_adam(
    parameters: list[Tensor],
    grads: list[Tensor],
    state: Iterable[list[Tensor]],
    train: Train,
    rate: float,
    *,
    fused: bool | None = None,
) -> None:
    """Make a step of Adam, with weight decay as in AdamW; `state` is in the order of ADAM."""
    averages, squares, steps = state
    adam(
        parameters,
        grads,
        averages,
        squares,
        [],
        steps,
        fused=fused,
        amsgrad=False,
        beta1=train.betas[0],
        beta2=train.betas[1],
        lr=rate,
        weight_decay=train.weight_decay,
        decoupled_weight_decay=True,
        eps=train.epsilon,
        maximize=False,
    )
