"""Reading and writing weights as safetensors, a tied weight only once, with notes beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from .disk import write_bytes
from .former_names import rename_tensor
from .typed_json import check_type

FLOATS = ("F32", "F16", "BF16")  # as safetensors names them
NOTES, ALIASES = "notes", "aliases"  # what is written beside the weights
MAPPED = 1 << 24  # bytes


def save_tensors(
    path: Path,
    tensors: Mapping[str, Tensor],
    *,
    dtype: torch.dtype | None = None,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write tensors as safetensors; one that has several names is written once, with its aliases.

    `notes` and aliases share one metadata entry, since several would be written in any order.
    """
    first: dict[tuple[int, torch.Size], str] = {}
    aliases: dict[str, str] = {}
    unique: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        key = (tensor.data_ptr(), tensor.shape)
        if tensor.numel() and key in first:
            aliases[name] = first[key]
        else:
            first[key] = name
            unique[name] = tensor.detach().to("cpu", dtype).contiguous()
    noted = {NOTES: json.dumps({ALIASES: aliases, **notes})} if notes else {}
    write_bytes(path, save(unique, noted or {ALIASES: json.dumps(aliases)}))


def load_tensors(path: Path, shapes: Mapping[str, torch.Size] | None = None) -> dict[str, Tensor]:
    """Return the tensors of a file by name, a tied one under each of its names.

    With `shapes`, ValueError unless names and shapes are exactly those; this is checked first.
    """
    if shapes is not None:
        check_tensors(path, shapes)
    with _opened(path) as (file, aliases):
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return tensors | {name: tensors[other] for name, other in aliases.items()}


def read_tensors(path: Path) -> Callable[[str], Tensor]:
    """Return a function from the name of a weight to a copy of it in fp32."""
    view = _map_tensors(path)
    return lambda name: view(name).to(torch.float32, copy=True)


def _map_tensors(path: Path) -> Callable[[str], Tensor]:
    """Return a function from the name of a weight to a view of it, in the file's number format.

    The file is mapped into memory, and mapped anew after MAPPED bytes, so that little of it stays
    in memory. ValueError if the file was replaced meanwhile.
    """
    with _opened(path) as (_, aliases):
        pass
    file: Any = None
    there, read_since = path.stat().st_ino, 0  # bytes read since the file was mapped

    def read(name: str) -> Tensor:
        nonlocal file, read_since
        with _explained(path):
            if file is None or read_since > MAPPED:
                file, read_since = _Renamed(safe_open(path, "pt")), 0
                if path.stat().st_ino != there:
                    raise ValueError(f"{path}: replaced while it was being read")
            tensor: Tensor = file.get_tensor(aliases.get(name, name))
        read_since += tensor.nbytes
        return tensor

    return read


def check_whole(path: Path) -> None:
    """Raise ValueError unless the file is as large as its header says. Little of it is read."""
    with _opened(path):
        pass


def check_finite(path: Path) -> None:
    """Raise ValueError, naming the tensor, if some of the weights are NaN or infinite."""
    view = _map_tensors(path)
    with _opened(path) as (file, _):
        names = list(file.keys())
    for name in names:
        tensor = view(name)
        # One pass: a finite sum has only finite terms. Otherwise all of them are checked.
        if not tensor.sum(dtype=torch.float32).isfinite() and not tensor.isfinite().all():
            raise ValueError(
                f"{path}: some of {name} are not finite numbers: get the file anew, or train "
                "again from an earlier checkpoint"
            )


def check_tensors(path: Path, shapes: Mapping[str, torch.Size]) -> None:
    """Raise ValueError unless a file has exactly these names and shapes, and only floats."""
    with _opened(path) as (file, aliases):
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        found = {name: torch.Size(each.get_shape()) for name, each in slices.items()}
        found |= {name: found[other] for name, other in aliases.items()}
        if found != shapes:
            raise ValueError(f"{path}: {_difference(found, shapes)}")
        for name, each in slices.items():
            if each.get_dtype() not in FLOATS:
                raise ValueError(f"{path}: {name} is of {each.get_dtype()}, not fp32 or fp16")


def tensors_in(path: Path) -> list[str]:
    """Return the names of the weights, tied ones under each of their names."""
    with _opened(path) as (file, aliases):
        return [*file.keys(), *aliases]


def read_notes(path: Path) -> dict[str, Any]:
    """Return the notes that were written beside the weights."""
    with _opened(path) as (file, _):
        return _read_notes(path, file)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, str]]]:
    """Yield an open safetensors file and its aliases, further name to stored name.

    ValueError if the file is damaged.
    """
    with _explained(path), safe_open(path, "pt") as file:
        aliases = _read_notes(path, file)[ALIASES]
        found = {rename_tensor(name): rename_tensor(other) for name, other in aliases.items()}
        yield _Renamed(file), found


class _Renamed:
    """An open safetensors file that finds its tensors by today's names."""

    def __init__(self, file: Any):
        self.file = file
        self.stored = {rename_tensor(name): name for name in file.keys()}  # noqa: SIM118

    def keys(self) -> list[str]:
        return list(self.stored)

    def get_tensor(self, name: str) -> Tensor:
        tensor: Tensor = self.file.get_tensor(self.stored.get(name, name))
        return tensor

    def get_slice(self, name: str) -> Any:
        return self.file.get_slice(self.stored.get(name, name))

    def metadata(self) -> dict[str, str] | None:
        found: dict[str, str] | None = self.file.metadata()
        return found


def _read_notes(path: Path, file: Any) -> dict[str, Any]:
    written = file.metadata() or {}
    aliases = {ALIASES: json.loads(written.get(ALIASES, "{}"))}
    notes = aliases | check_type(json.loads(written.get(NOTES, "{}")), dict[str, Any], str(path))
    return notes | {ALIASES: check_type(notes[ALIASES], dict[str, str], str(path))}


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: damaged, or no safetensors file ({error})") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: damaged (what it says of itself is no JSON: {error})") from None


def _difference(found: Mapping[str, torch.Size], wanted: Mapping[str, torch.Size]) -> str:
    """Return, in words, the first difference between the weights and the settings."""
    name = sorted(k for k in {*found, *wanted} if found.get(k) != wanted.get(k))[0]
    if name not in wanted:
        return f"{name} is no weight of a model with these settings"
    if name not in found:
        return f"{name} is missing"
    return f"{name} is {list(found[name])}, but settings and tokenizer say {list(wanted[name])}"
