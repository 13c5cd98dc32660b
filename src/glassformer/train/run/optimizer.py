"""The optimizers: Adam (paper 5.3), and Muon (Jordan et al., 2024), which needs fewer updates.

Muon orthogonalizes the updates of matrices, so that they are equally large in all directions.
"""

import inspect
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from ...config import Train
from .adam import ADAM, FACTOR, begin_adam, step_adam
from .lora import LoRA
from .sharding import spread_like, whole

# Coefficients of a x + b x³ + c x⁵ (Newton-Schulz), which moves singular values of (0, 1] to about
# 1; the steeper it is at 0, the fewer rounds are needed.
A, B, C = 3.4445, -4.7750, 2.0315
ROUNDS = 5
LARGE = 1 << 16  # numbers of a matrix
MOMENTUM = 0.95
SCALE = 0.2  # root mean square of a step over the rate: as in Adam, so that one rate serves both


def make_optimizer(model: nn.Module, train: Train, precision: str) -> torch.optim.Optimizer:
    """Return the optimizer that `train.optimizer` names, for all parameters to be trained."""
    if not train.compile:
        _leave_compiler_out()
    optimizer = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    if train.lora_rank:
        return LoRA([p for _, p in optimizer], train)
    tables = [p for name, p in optimizer if is_table(name)]
    rest = [p for name, p in optimizer if not is_table(name)]
    groups = [{"params": rest, FACTOR: 1.0}, {"params": tables, FACTOR: train.embedding_lr_scale}]
    if train.optimizer == "muon":
        # Embeddings are tables of rows, not maps between directions, so Adam updates them.
        layers = [p for name, p in optimizer if name.startswith(("encoder.", "decoder."))]
        matrices = [p for p in layers if p.dim() == 2]
        return Muon(groups, matrices, train, precision)
    parameters = [p for _, p in optimizer]
    kind: Any = torch.optim.AdamW if train.weight_decay else torch.optim.Adam
    return (kind if train.compile else _make_plain(kind))(
        groups,
        lr=0.0,
        betas=train.betas,
        eps=train.epsilon,
        weight_decay=train.weight_decay,
        fused=_can_fuse(parameters),
    )


def _leave_compiler_out() -> None:
    """Let optimizers do without the import of torch._dynamo, which takes as long as that of torch.

    PyTorch imports its compiler at the first call of a method that the compiler must not touch, for
    the function that marks the method; a mark that is there it takes as it is.
    """
    for method in vars(torch.optim.Optimizer).values():
        if inner := getattr(method, "__wrapped__", None):
            vars(inner).setdefault("__dynamo_disable", inner)


@cache
def _make_plain(kind: Any) -> Any:
    """Return the optimizer with a step that does not tell the compiler where it begins and ends."""
    step = torch.no_grad()(inspect.unwrap(kind.step))
    return type(kind.__name__, (kind,), {"step": step})


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate * group[FACTOR]


def is_table(name: str) -> bool:
    return name.endswith("table.weight")


class Muon(torch.optim.Optimizer):
    """The Muon optimizer for `matrices`, and Adam for all other parameters.

    A step of Muon is the moving average of the gradient with its singular values set to about 1.
    Weight decay is decoupled, as in AdamW.
    """

    def __init__(
        self, groups: list[dict[str, Any]], matrices: list[nn.Parameter], train: Train, as_in: str
    ):
        apart = set(map(id, matrices))
        rest = [
            {**group, "params": [p for p in group["params"] if id(p) not in apart]}
            for group in groups
        ]
        super().__init__([{"params": matrices, FACTOR: 1.0}, *rest], {"lr": 0.0})
        self.train, self.dtype = train, torch.bfloat16 if as_in == "bf16" else torch.float32

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        matrices, *groups = self.param_groups
        alike: dict[torch.Size, list[Tensor]] = defaultdict(list)
        for p in matrices["params"]:
            if p.grad is not None:
                alike[p.shape].append(p)
        for several in alike.values():
            self._turn(several, matrices["lr"])
        for group in groups:
            self._adam([p for p in group["params"] if p.grad is not None], group["lr"])

    def _turn(self, matrices: list[Tensor], rate: float) -> None:
        """Update N matrices of one shape as one batch."""
        states = [self.state[p] for p in matrices]
        for p, state in zip(matrices, states, strict=True):
            state.setdefault("momentum", torch.zeros_like(p))
        gradient = torch.stack([whole(p.grad) for p in matrices if p.grad is not None])
        average = torch.stack([whole(state["momentum"]) for state in states])
        average.lerp_(gradient, 1 - MOMENTUM)
        for state, momentum in zip(states, average, strict=True):
            state["momentum"].copy_(spread_like(momentum, state["momentum"]))
        looking_ahead = gradient.lerp_(average, MOMENTUM)
        step = make_orthogonal(looking_ahead.to(self.dtype)).float()
        step.mul_(-rate * SCALE * max(step.shape[1:]) ** 0.5)
        for p, each in zip(matrices, step, strict=True):
            p.mul_(1 - rate * self.train.weight_decay).add_(spread_like(each, p))

    def _adam(self, parameters: list[Tensor], rate: float) -> None:
        for p in parameters:
            if not self.state[p]:
                self.state[p] = dict(zip(ADAM, begin_adam(p), strict=True))
        grads = [p.grad for p in parameters if p.grad is not None]
        states = [self.state[p] for p in parameters]
        columns = ([state[name] for state in states] for name in ADAM)
        step_adam(parameters, grads, columns, self.train, rate, fused=_can_fuse(parameters))


def make_orthogonal(matrices: Tensor) -> Tensor:
    """Return matrices with the same singular vectors and singular values between 0.6 and 1.3.

    Tiny singular values may stay smaller. On a CPU, large matrices are faster one by one.
    """
    if matrices.size(1) > matrices.size(2):
        return make_orthogonal(matrices.mT).mT
    if matrices.device.type == "cpu" and matrices[0].numel() >= LARGE:
        return torch.stack([_iterate(each, torch.addmm) for each in matrices])
    return _iterate(matrices, torch.baddbmm)


def _iterate(x: Tensor, add_product: Callable[..., Tensor]) -> Tensor:
    """Return one matrix, or several as a batch, after ROUNDS of Newton-Schulz."""
    norms = torch.linalg.vector_norm(x, dim=(-2, -1), keepdim=True, dtype=torch.float32)
    x = (x / norms.clamp(min=1e-7)).to(x.dtype)
    for _ in range(ROUNDS):
        square = x @ x.mT
        pull = add_product(square, square, square, beta=B, alpha=C)
        x = add_product(x, pull, x, beta=A)
    return x


def _can_fuse(parameters: Sequence[Tensor]) -> bool:
    return all(p.device.type in ("cpu", "cuda") for p in parameters)
