"""Sharding of a model, its gradients and its optimizer over a process group (FSDP2).

This is for models that are too large for one GPU. Each layer is a unit of its own, gathered when it
is computed; all other weights, also tied ones, are in the root unit. Files hold whole tensors, as
without sharding.
"""

import copy
from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ...model.encoder_decoder import EncoderDecoder
from ...model.transformer import Transformer

ENTRANCES = ("read", "start", "step")  # methods of the network: forward, and the search protocol
LAYER_ENTRANCES = ("make_cache", "step")  # methods of a decoder layer


def shard(model: EncoderDecoder, device: torch.device, size: int) -> EncoderDecoder:
    """Shard a model in place, 1/size of every parameter a process, and return it.

    Its gradients become the mean of those of all processes.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    mesh = init_device_mesh(device.type, (size,))
    if not isinstance(model, Transformer):
        raise ValueError(
            f"train.shard is for Transformers, not for network={model.settings.network}"
        )
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
    """Return the whole tensor; if it is sharded, all processes have to call this together."""
    return tensor.full_tensor() if is_spread(tensor) else tensor  # type: ignore[attr-defined]


def spread_like(tensor: Tensor, model: Tensor) -> Tensor:
    """Return this process's shard of a whole tensor, sharded like `model`, if that is sharded."""
    if not is_spread(model):
        return tensor
    from torch.distributed.tensor import DTensor, Replicate

    assert isinstance(model, DTensor)
    mesh = model.device_mesh
    replicas = DTensor.from_local(tensor.to(model.device), mesh, [Replicate()], run_check=False)
    return replicas.redistribute(placements=model.placements)


def local(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Return the shards of this process, and unsharded tensors as they are."""
    return [each.to_local() if is_spread(each) else each for each in tensors]  # type: ignore[attr-defined]


class Moments:
    """The state of an optimizer by parameter: the only part of it that a checkpoint needs."""

    def __init__(self) -> None:
        self.state: dict[nn.Parameter, dict[str, Tensor]] = defaultdict(dict)


def imitate(model: EncoderDecoder) -> EncoderDecoder:
    """Return a copy of a model on "meta", without values except those of non-persistent buffers."""
    plain = copy.deepcopy(model).to("meta")
    for path, module in model.named_modules():
        for name in module._non_persistent_buffers_set:
            buffer = getattr(module, name).detach().cpu().clone()
            plain.get_submodule(path).register_buffer(name, buffer, persistent=False)
    return plain


def collect(model: EncoderDecoder, plain: EncoderDecoder) -> EncoderDecoder:
    """Return the whole model on the CPU; `plain` is its copy by `imitate` from before sharding."""
    result = copy.deepcopy(plain)
    weights = {name: whole(tensor).cpu() for name, tensor in model.state_dict().items()}
    result.load_state_dict(weights, assign=True)
    return result


def collect_moments(optimizer: torch.optim.Optimizer, model: nn.Module, twin: nn.Module) -> Moments:
    moments = Moments()
    for p, same in zip(model.parameters(), twin.parameters(), strict=True):
        for key, value in optimizer.state.get(p, {}).items():
            moments.state[same][key] = whole(value).cpu()
    return moments


@torch.no_grad()
def spread_model(model: nn.Module, twin: nn.Module) -> None:
    """Copy the weights of a whole twin into the sharded model."""
    for p, same in zip(model.parameters(), twin.parameters(), strict=True):
        p.copy_(spread_like(same.detach(), p))


def spread_moments(
    optimizer: torch.optim.Optimizer, model: nn.Module, twin: nn.Module, moments: Moments
) -> None:
    for p, same in zip(model.parameters(), twin.parameters(), strict=True):
        for key, value in moments.state[same].items():
            is_alike = value.shape == p.shape
            optimizer.state[p][key] = spread_like(value, p) if is_alike else value.to(p.device)
