"""The fast view of a network: new modules around the same parameters, with kernels for forwards.

`model/` says what is computed; here stands how, in training and without windows. A module has a
fast twin only if it is exactly that of `model/`, with PyTorch's own parts and no hooks on them; any
other is computed as it is written. On a few tokens both ways are then compared, results and
gradients: if they differ, everything is computed as it is written. Either way dropout draws from
the view's stream, so that an update depends on its seed alone.

Record a network itself, not this view, which has no windows inside its kernels.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...foundation.extensions import list_additions, load_place
from ...foundation.machine.device import autocast
from ...model.attention import MultiHeadAttention
from ...model.encoder_decoder import EncoderDecoder
from ...model.feed_forward import FeedForward
from ...model.residual import Residual
from ...model.transformer import Transformer
from ...model.variants.distances import RelativePositions
from .attend import attend
from .dropout import Dropout, DropoutStream
from .local import TWINS as VARIED
from .precision import RoundedCopy
from .residual import add, add_norm, normalize
from .ssru import TWINS as SSRU_TWINS
from .sublayers import attention, can_attend, can_run, feed_forward
from .tiles import PackedWeights

Net = TypeVar("Net", bound=nn.Module)
Say = Callable[[str], object]

# The largest differences, of results and of gradients, as shares of their lengths. Kernels round in
# another order; in bf16 that decides which inner values of so few tokens are below 0.
SAME = {"fp32": (1e-3, 1e-3), "bf16": (0.05, 0.4), "fp16": (0.01, 0.2)}
SMALL = 0.05  # of the largest gradient: below this share of it, rounding may be all there is
FIRST, LAST = 3, 20  # ids that every vocabulary has


@dataclass
class KernelState:
    """The state that the modules of one fast view share."""

    dropout: DropoutStream = field(default_factory=DropoutStream)
    packed: PackedWeights = field(default_factory=PackedWeights)
    rounded: RoundedCopy = field(default_factory=RoundedCopy)


class FastAttention(MultiHeadAttention):
    """Multi-head attention, computed whole in one kernel, or else its softmax in one."""

    state: KernelState
    dropout: Dropout  # type: ignore[assignment]

    def forward(self, x_BQD: Tensor, memory_BMD: Tensor, mask: Tensor) -> Tensor:
        lower, is_self = self.state.rounded.lower, memory_BMD is x_BQD
        x_BQD = lower(x_BQD)
        memory_BMD = x_BQD if is_self else lower(memory_BMD)
        linears = self.to_query, self.to_key, self.to_value, self.to_output
        if self.training and can_attend(x_BQD, memory_BMD, mask, linears):
            shared = self.heads, self.dropout, self.state.packed
            return attention(x_BQD, memory_BMD, mask, linears, *shared)
        return super().forward(x_BQD, memory_BMD, mask)

    def attend(self, q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, mask: Tensor) -> Tensor:
        return attend(q_BHQK, k_BHMK, v_BHMK, mask, self.dropout)


class FastFeedForward(FeedForward):
    """The feed-forward network, with max(0, x) computed in one kernel."""

    state: KernelState
    dropout: Dropout  # type: ignore[assignment]

    def forward(self, x_BLD: Tensor) -> Tensor:
        x_BLD, linears = self.state.rounded.lower(x_BLD), (self.inner, self.outer)
        if self.training and self.activation is functional.relu and can_run(x_BLD, linears):
            return feed_forward(x_BLD, linears, self.dropout, self.state.packed)
        return super().forward(x_BLD)


class FastResidual(Residual):
    """A residual connection whose sum and LayerNorm are one kernel."""

    state: KernelState
    dropout: Dropout  # type: ignore[assignment]

    def forward(self, x_BLD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        rounded = self.state.rounded
        if self.post:
            y_BLD = sublayer(rounded.lower(x_BLD))
            return add_norm(x_BLD, y_BLD, self.dropout, self.norm, rounded)
        y_BLD = sublayer(normalize(x_BLD, self.norm, rounded))
        return add(x_BLD, y_BLD, self.dropout, rounded)


class FastTransformer(Transformer):
    """A network that rounds memory once for the keys and values of all decoder layers."""

    state: KernelState

    def encode(self, source_BS: Tensor, source_mask: Tensor) -> Tensor:
        return self.state.rounded.lower(super().encode(source_BS, source_mask))


TWINS: dict[type[nn.Module], type[nn.Module]] = {
    MultiHeadAttention: FastAttention,
    FeedForward: FastFeedForward,
    Residual: FastResidual,
    Transformer: FastTransformer,
    **VARIED,
    **SSRU_TWINS,
}
for _point, _place in list_additions().items():
    if _point.startswith("twins."):
        TWINS |= load_place(_place)
PARTS = {nn.Linear, nn.LayerNorm, nn.Dropout, RelativePositions}  # known to the twins above


def fast(
    model: EncoderDecoder,
    state: KernelState | None = None,
    *,
    precision: str,
    say: Say | None = None,
    is_compiled: bool = False,
) -> EncoderDecoder:
    """Return the fast view of a network, whose precision of matrix products this will be.

    `say` is told, in a sentence, which modules have no fast twin. The view is in the mode of the
    model, and its parameters are the model's own. If `is_compiled`, `torch.compile` makes the
    kernels, of the network as it is written.
    """
    state, plain = state or KernelState(), set[str]()
    if is_compiled:
        view = _view(model, state, {}, plain)
        view.__dict__["read"] = torch.compile(view.read, dynamic=True)
        return view
    view = _view(model, state, TWINS, plain)
    if any(
        x > most for x, most in zip(find_difference(model, precision), SAME[precision], strict=True)
    ):
        view, plain = _view(model, state, {}, set()), {"model/"}
    if plain and say is not None:
        say(f"{' and '.join(sorted(plain))}: no fast twin, so computed as written, slower")
    return view


def _view(
    module: Net,
    state: KernelState,
    twins: dict[type[nn.Module], type[nn.Module]],
    plain: set[str],
    seen: dict[nn.Module, nn.Module] | None = None,
) -> Net:
    """Return the same parameters, buffers and hooks in new module objects, as fast twins if any.

    `plain` gets the names of the classes that have a fast twin of which these modules are not.
    """
    seen = {} if seen is None else seen
    if module in seen:
        return cast(Net, seen[module])
    kind = type(module)
    twin: Any = copy(module)
    seen[module] = twin
    twin.__dict__ = dict(module.__dict__)
    twin.__dict__["_modules"] = {
        name: _view(part, state, twins, plain, seen) if part is not None else None
        for name, part in module._modules.items()
    }
    if kind is nn.Dropout:
        twin.__class__, twin.__dict__["stream"] = Dropout, state.dropout
    elif kind in twins and (
        issubclass(kind, EncoderDecoder) or all(map(_is_plain, module.children()))
    ):
        twin.__class__, twin.__dict__["state"] = twins[kind], state
    elif twins and isinstance(module, tuple(twins)):
        own = sorted(type(part).__name__ for part in module.children() if not _is_plain(part))
        plain.add(f"{kind.__name__} with {', '.join(own)}" if kind in twins else kind.__name__)
    return cast(Net, twin)


def _is_plain(part: nn.Module) -> bool:
    """Return whether a part of a module does what its class in PyTorch does, and no more."""
    hooks = part._forward_hooks or part._forward_pre_hooks or part._backward_hooks
    return type(part) in PARTS and not hooks


def find_difference(model: EncoderDecoder, precision: str) -> tuple[float, float]:
    """Return how far a network and its fast view are apart: in results, and in gradients.

    It is the length of the difference as a share: of the decoder's output on a few tokens, without
    dropout, and in training mode of the gradient of a parameter, the largest. Infinite for NaN.
    """
    device = next(model.parameters()).device
    if device.type == "meta":
        return 0.0, 0.0
    quick, plain = (_view(model, KernelState(), twins, set()) for twins in (TWINS, {}))
    for module in (*quick.modules(), *plain.modules()):
        if isinstance(module, Dropout):
            module.p = 0.0
    actual, expected = (_run(network, precision, device) for network in (quick, plain))
    least = SMALL * max((float(x.norm()) for x in expected[1:]), default=0.0)
    results, *gradients = (_compare(*pair, least) for pair in zip(actual, expected, strict=True))
    return results, max(gradients, default=0.0)


def _run(network: EncoderDecoder, precision: str, device: torch.device) -> list[Tensor]:
    """Return the decoder's output, and in training mode the gradients of a sum of its values."""
    numbers, longest = torch.Generator().manual_seed(1), network.settings.positions.max_positions
    source_BS, target_BT = (
        torch.randint(FIRST, LAST, (2, min(longest, length)), generator=numbers).to(device)
        for length in (7, 5)
    )
    with torch.set_grad_enabled(network.training), autocast(precision, device):
        y_BTD = network.read(source_BS, target_BT).float()
    if not network.training:
        return [y_BTD]
    weights_BTD = torch.randn(y_BTD.shape, generator=numbers).to(device)
    parameters = [p for p in network.parameters() if p.requires_grad]
    loss = (y_BTD * weights_BTD).sum()
    return [y_BTD.detach(), *torch.autograd.grad(loss, parameters, materialize_grads=True)]


def _compare(actual: Tensor, expected: Tensor, least: float) -> float:
    """Return the length of the difference as a share of that of `expected`, or of `least`."""
    share = float((actual - expected).norm() / expected.norm().clamp(min=least))
    return share if share == share else float("inf")
