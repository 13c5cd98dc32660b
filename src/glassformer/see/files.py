"""A trace on disk: a folder with `trace.json`, and tensors beside it, small to large.

attention.safetensors    weights and masks
states.safetensors       query, key, value, heads, residual stream and norms
everything.safetensors   the rest
parameters.safetensors   the model's weights, if asked for; a shared matrix once
vocabulary.json          the texts of all target pieces, where there are logits

Imports no torch.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from .document import LEVELS, VERSION, Document, Stored
from .levels import find_level
from .trace import Array, Trace

HEAD, PARAMETERS, VOCABULARY = "trace.json", "parameters.safetensors", "vocabulary.json"
HALF = 2.0**-11  # half a unit in the last place of fp16, of the value itself
LARGEST = 65504.0  # that fp16 holds

Loaded = tuple[Document, dict[str, Array], dict[str, Array], list[str] | None]


def save(trace: Trace, path: Path, compact: bool, parameters: bool) -> None:
    """The whole folder or nothing; another trace of that name makes room."""
    if path.exists() and not (path / HEAD).is_file():
        raise ValueError(f"{path} exists and is no trace: it is left as it is")
    if parameters and not trace.parameters:
        raise ValueError("this trace has no parameters to save")
    partial = path.with_name(path.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    tensors = {name: _pack(array, compact) for name, array in trace.tensors.items()}
    for level in LEVELS:
        kept = {name: array for name, array in tensors.items() if find_level(name) == level}
        if kept:
            save_file(kept, partial / f"{level}.safetensors")
    if parameters:
        _save_shared(partial / PARAMETERS, trace.parameters)
    if trace.vocabulary is not None and "logits" in trace:
        _write(partial / VOCABULARY, json.dumps([*trace.vocabulary], ensure_ascii=False))
    document = trace.document.model_copy(
        update={
            "tensors": {name: _describe(trace, name) for name in tensors},
            "tolerance": HALF if compact else trace.document.tolerance,
            "weights_sha256": trace.document.weights_sha256 or fingerprint(trace.parameters),
        }
    )
    _write(partial / HEAD, document.model_dump_json(indent=1) + "\n")
    _replace(partial, path)


def load(path: Path) -> Loaded:
    """ValueError, in one sentence, for what `save` did not write, or not this `save`."""
    document = _read_head(path / HEAD)
    found: dict[str, Array] = {}
    for file in dict.fromkeys(stored.file for stored in document.tensors.values()):
        found |= _read(path / file)
    for name, stored in document.tensors.items():
        if name not in found or found[name].shape != stored.shape:
            raise ValueError(f"{path / stored.file}: damaged: {name} is not as {HEAD} says")
    tensors = {name: _unpack(found[name]) for name in document.tensors}
    parameters = _read(path / PARAMETERS) if (path / PARAMETERS).is_file() else {}
    words = path / VOCABULARY
    return document, tensors, parameters, _read_json(words) if words.is_file() else None


def fingerprint(parameters: Mapping[str, Array]) -> str | None:
    """The SHA-256 of all weights, with their names; None where there are none."""
    digest = sha256()
    for name in sorted(parameters):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(parameters[name]).data)
    return digest.hexdigest() if parameters else None


def _describe(trace: Trace, name: str) -> Stored:
    return Stored(
        file=f"{find_level(name)}.safetensors",
        shape=trace.tensors[name].shape,
        dims=trace.graph[name].dims,
    )


def _pack(array: Array, compact: bool) -> Array:
    fits = compact and array.dtype == np.float32 and np.abs(array).max(initial=0) <= LARGEST
    return np.ascontiguousarray(array, np.float16 if fits else None)


def _unpack(array: Array) -> Array:
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _save_shared(path: Path, parameters: Mapping[str, Array]) -> None:
    """Each matrix once; the other names of a shared one are noted."""
    first: dict[tuple[int, tuple[int, ...]], str] = {}
    aliases: dict[str, str] = {}
    unique: dict[str, Array] = {}
    for name, array in parameters.items():
        owner = first.setdefault((array.ctypes.data, array.shape), name)
        if owner == name:
            unique[name] = np.ascontiguousarray(array)
        else:
            aliases[name] = owner
    save_file(unique, path, {"aliases": json.dumps(aliases)})


def _read(path: Path) -> dict[str, Array]:
    if not path.is_file():
        raise ValueError(f"{path} is missing: this trace is not whole")
    try:
        with safe_open(path, "np") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            aliases = json.loads((file.metadata() or {}).get("aliases", "{}"))
        return tensors | {name: tensors[owner] for name, owner in aliases.items()}
    except (SafetensorError, KeyError, ValueError, AttributeError) as error:
        raise ValueError(f"{path}: damaged, or no safetensors file ({error})") from None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: damaged ({error})") from None


def _read_head(path: Path) -> Document:
    if not path.is_file():
        raise ValueError(f"{path.parent} is no trace: it has no {path.name}")
    found = _read_json(path)
    version = found.get("schema_version") if isinstance(found, dict) else None
    if version != VERSION:
        raise ValueError(f"{path}: a trace of version {version}, but this is read: {VERSION}")
    try:
        return Document.model_validate(found)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        said = error.errors()[0]["msg"]
        raise ValueError(f"{path}: not as this version has it: {where}: {said}") from None


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _replace(partial: Path, path: Path) -> None:
    """Put a finished folder in the place of another."""
    old: Sequence[Path] = [path.with_name(path.name + ".old")] if path.exists() else []
    for place in old:
        shutil.rmtree(place, ignore_errors=True)
        os.replace(path, place)
    os.replace(partial, path)
    for place in old:
        shutil.rmtree(place)
