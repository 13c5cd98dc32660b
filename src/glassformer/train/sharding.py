"""A model, its gradients and its optimizer spread over a group (FSDP2), where one GPU is too small.

Each layer is a group of its own, gathered when its turn comes; whatever is tied, and all else, is
in the root's group. What is written to the disk is whole, as if nothing had been spread.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ..model import Transformer

ENTRANCES = ("read", "start", "step")  # of the network: forward, and the search protocol
LAYER_ENTRANCES = ("remember", "step")  # of a decoder layer


def shard(model: Transformer, device: torch.device, size: int) -> Transformer:
    """Keep 1/size of every parameter here; gradients come out as the mean of everybody's."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    mesh = init_device_mesh(device.type, (size,))
    for layer in (*model.encoder, *model.decoder):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    for layer in model.decoder:
        for name in LAYER_ENTRANCES:
            register_fsdp_forward_method(layer, name)
    for name in ENTRANCES:
        register_fsdp_forward_method(model, name)
    return model


def is_spread(tensor: Tensor) -> bool:
    return hasattr(tensor, "full_tensor")  # a DTensor


def whole(tensor: Tensor) -> Tensor:
    """All of it, gathered if it is spread: then everybody has to ask."""
    return tensor.full_tensor() if is_spread(tensor) else tensor  # type: ignore[attr-defined]


def spread_like(tensor: Tensor, model: Tensor) -> Tensor:
    """Our part of a tensor that everybody has whole, if `model` is spread."""
    if not is_spread(model):
        return tensor
    from torch.distributed.tensor import DTensor, Replicate

    assert isinstance(model, DTensor)
    mesh = model.device_mesh
    replicas = DTensor.from_local(tensor.to(model.device), mesh, [Replicate()], run_check=False)
    return replicas.redistribute(placements=model.placements)


def local(tensors: Iterable[Tensor]) -> list[Tensor]:
    """The parts that are here."""
    return [each.to_local() if is_spread(each) else each for each in tensors]  # type: ignore[attr-defined]


class Moments:
    """What an optimizer remembers, by parameter: the part of one that a checkpoint asks for."""

    def __init__(self) -> None:
        self.state: dict[nn.Parameter, dict[str, Tensor]] = defaultdict(dict)


def imitate(model: Transformer) -> Transformer:
    """The same modules without numbers, but for those that no checkpoint has."""
    plain = copy.deepcopy(model).to("meta")
    for path, module in model.named_modules():
        for name in module._non_persistent_buffers_set:
            buffer = getattr(module, name).detach().cpu().clone()
            plain.get_submodule(path).register_buffer(name, buffer, persistent=False)
    return plain


def collect(model: Transformer, plain: Transformer) -> Transformer:
    """The whole model, on the CPU; `plain` is what `imitate` made of it before it was spread."""
    found = copy.deepcopy(plain)
    weights = {name: whole(tensor).cpu() for name, tensor in model.state_dict().items()}
    found.load_state_dict(weights, assign=True)
    return found


def collect_moments(optimizer: torch.optim.Optimizer, model: nn.Module, twin: nn.Module) -> Moments:
    found = Moments()
    for p, same in zip(model.parameters(), twin.parameters(), strict=True):
        for key, value in optimizer.state.get(p, {}).items():
            found.state[same][key] = whole(value).cpu()
    return found


@torch.no_grad()
def spread_model(model: nn.Module, twin: nn.Module) -> None:
    """Put into the model that is spread what its whole twin has."""
    for p, same in zip(model.parameters(), twin.parameters(), strict=True):
        p.copy_(spread_like(same.detach(), p))


def spread_moments(
    optimizer: torch.optim.Optimizer, model: nn.Module, twin: nn.Module, moments: Moments
) -> None:
    for p, same in zip(model.parameters(), twin.parameters(), strict=True):
        for key, value in moments.state[same].items():
            is_alike = value.shape == p.shape
            optimizer.state[p][key] = spread_like(value, p) if is_alike else value.to(p.device)
