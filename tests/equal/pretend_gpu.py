"""A GPU that is not there: its tensors are computed by the processor, but only among themselves.

Like a real one, it refuses a product with a tensor that is in the processor's memory, and gives no
array of NumPy. So code that forgets where its tensors are fails here as it would on a GPU. It says
nothing about speed, rounding or memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_map_only

GPU, CPU = torch.device("cuda:0"), torch.device("cpu")
aten = torch.ops.aten
MIXES = {aten.copy_.default, aten.index.Tensor, aten.index_put_.default, aten.index_put.default}
SHARED = "Expected all tensors to be on the same device, but found at least two, cuda:0 and cpu"


class GpuTensor(Tensor):
    """A tensor of the pretended GPU; what is in it, the processor holds."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, held: Tensor, requires_grad: bool = False) -> GpuTensor:
        made = Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device="meta",  # what C++ sees, and autograd allows
            requires_grad=requires_grad,
        )
        made.held = held
        return made

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return GPU

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return True

    @property
    def is_meta(self) -> bool:  # type: ignore[override]
        return False

    def numpy(self, **how: Any) -> Any:  # type: ignore[override]
        raise TypeError("can't convert a tensor of cuda:0 to numpy: use Tensor.cpu() first")

    __array__ = numpy  # type: ignore[assignment]

    def tolist(self) -> Any:
        return self.held.tolist()

    def data_ptr(self) -> int:
        return self.held.data_ptr()

    def __repr__(self, **how: Any) -> str:  # type: ignore[override]
        return f"GpuTensor({self.held})"

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if function not in MIXES and "pack" not in function.__name__:
            tree_map_only(Tensor, _refuse_array, (args, kwargs))
        goes_out = kwargs.get("device") == CPU
        if "device" in kwargs:
            kwargs["device"] = CPU
        opened = tree_map_only(GpuTensor, lambda each: each.held, (args, kwargs))
        out = function(*opened[0], **opened[1])
        if goes_out or (function is aten.copy_.default and not isinstance(args[0], GpuTensor)):
            return out  # in the processor's memory
        if function is aten._pack_padded_sequence.default:
            return GpuTensor(out[0]), out[1]  # how many rows each position has, the processor knows
        wrapped = tree_map_only(Tensor, GpuTensor, out)
        return return_and_correct_aliasing(function, args, kwargs, wrapped)


def _refuse_array(each: Tensor) -> None:
    if not isinstance(each, GpuTensor) and each.dim():
        raise RuntimeError(f"{SHARED}; {each.device} {tuple(each.shape)}")


def is_gpu(device: object) -> bool:
    return torch.device(device).type == "cuda" if isinstance(device, (str, torch.device)) else False


def _take_index(index: Any) -> Any:
    """Return an index as it is on the GPU: a list or an array becomes a tensor there."""
    if isinstance(index, list):
        index = torch.tensor(index)
    return (
        GpuTensor(index)
        if isinstance(index, Tensor) and not isinstance(index, GpuTensor)
        else index
    )


class _Go(torch.autograd.Function):
    """The way to the GPU, and of the gradient back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dtype: torch.dtype | None) -> Tensor:
        ctx.dtype = x.dtype
        return GpuTensor(x.detach().to(dtype=dtype, copy=True) if dtype else x.detach().clone())

    @staticmethod
    def backward(ctx: Any, dx: Any) -> Any:
        return dx.cpu().to(ctx.dtype), None


class Pretend(TorchFunctionMode):
    """Makes what is asked for on a GPU in the processor's memory, and marks it."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if function is Tensor.pin_memory:
            return args[0]
        if function is Tensor.cuda:
            function, args = Tensor.to, (args[0], GPU)
        if function is Tensor.to and self._goes(args, kwargs):
            x = args[0]
            others = [
                each for each in (*args[1:], *kwargs.values()) if isinstance(each, torch.dtype)
            ]
            if isinstance(x, GpuTensor):
                return x.to(others[0]) if others else x
            return _Go.apply(x, others[0] if others else None)
        if function in (Tensor.__getitem__, Tensor.__setitem__) and isinstance(args[0], GpuTensor):
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            return function(args[0], tuple(map(_take_index, index)), *args[2:], **kwargs)
        if is_gpu(kwargs.get("device")) and not any(isinstance(each, GpuTensor) for each in args):
            kwargs["device"] = CPU
            wants = kwargs.pop("requires_grad", False)
            made = function(*args, **kwargs)
            return GpuTensor(made, wants) if isinstance(made, Tensor) else made
        return function(*args, **kwargs)

    def _goes(self, args: Any, kwargs: dict[str, Any]) -> bool:
        given = (*args[1:], *kwargs.values())
        return any(is_gpu(each) or isinstance(each, GpuTensor) for each in given)


class PretendBelow(TorchDispatchMode):
    """Does the same for what PyTorch itself makes beside a tensor, where that one seems to be."""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        beside = kwargs.get("device")
        if beside is not None and beside.type == "meta" and not types:
            return GpuTensor(function(*args, **{**kwargs, "device": CPU}))
        return function(*args, **kwargs)


def _no_grad(mode: bool = True) -> AbstractContextManager[object]:
    return torch.no_grad() if mode else nullcontext()


@contextmanager
def pretend_gpu() -> Iterator[None]:
    """Let there be a GPU, for one thread."""
    swaps = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)  # which keeps tied weights tied
    there = {
        "is_available": lambda: True,
        "is_bf16_supported": lambda including_emulation=True: True,
        "device_count": lambda: 0,
        "empty_cache": lambda: None,
    }
    try:
        with (
            patch.multiple(torch.cuda, **there),
            patch("torch.inference_mode", _no_grad),
            Pretend(),
            PretendBelow(),
        ):
            yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(swaps)
