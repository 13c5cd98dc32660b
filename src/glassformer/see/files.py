"""Traces on disk: a folder with `trace.json` and safetensors files, small to large.

attention.safetensors    weights and masks
states.safetensors       query, key, value, context, residual stream and norms
everything.safetensors   the rest
parameters.safetensors   the model's weights, if `save` was told to; a shared matrix once
vocabulary.json          the texts of all target tokens, if there are logits

Imports no torch.
"""

import json
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as pack

from ..foundation.compatibility.former_names import rename_keys, rename_settings, rename_tensor
from ..foundation.disk import PARTIAL, put_folder, read_json, write_bytes, write_text
from ..foundation.validation_errors import name_place
from .consistency import find_contradiction
from .document import LEVELS, VERSION, Document, TensorFile, find_level
from .recorded import Array, RecordedTensors

HEAD, PARAMETERS, VOCABULARY = "trace.json", "parameters.safetensors", "vocabulary.json"
HALF = 2.0**-11  # half a unit in the last place of fp16, relative to the value
TENSORS = tuple(f"{level}.safetensors" for level in LEVELS)
LARGEST = 65504.0  # the largest number of fp16

Loaded = tuple[Document, dict[str, Array], dict[str, Array], list[str] | None]


def save_trace(trace: RecordedTensors, path: Path, compact: bool, parameters: bool) -> None:
    """Write a trace to a folder: all of it or nothing. A trace that is there is replaced.

    Raises ValueError if `path` is something else, or if there are no parameters to save.
    """
    if path.exists() and not (path / HEAD).is_file():
        raise ValueError(f"{path} exists and is no trace: it is left as it is")
    if parameters and not trace.parameters:
        raise ValueError("this trace has no parameters to save")
    partial = path.with_name(path.name + PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    tensors = {name: _pack(array, compact) for name, array in trace.tensors.items()}
    for level in LEVELS:
        kept = {name: array for name, array in tensors.items() if find_level(name) == level}
        if kept:
            write_bytes(partial / f"{level}.safetensors", pack(kept))
    if parameters:
        _save_shared(partial / PARAMETERS, trace.parameters)
    if trace.vocabulary is not None and "logits" in trace:
        write_text(partial / VOCABULARY, json.dumps([*trace.vocabulary], ensure_ascii=False))
    document = trace.document.model_copy(
        update={
            "tensors": {name: _describe(trace, name) for name in tensors},
            "tolerance": HALF if compact else trace.document.tolerance,
            "weights_sha256": trace.document.weights_sha256 or fingerprint(trace.parameters),
        }
    )
    write_text(partial / HEAD, document.model_dump_json(indent=1) + "\n")
    put_folder(partial, path)


def load_trace(path: Path) -> Loaded:
    """Read what `save_trace` wrote. Raises ValueError, in one sentence, if that is damaged.

    It is raised too for a folder that is no trace, or is one of an unknown version.
    """
    document = _read_head(path / HEAD)
    trace: dict[str, Array] = {}
    for file in dict.fromkeys(stored.file for stored in document.tensors.values()):
        if file not in TENSORS:  # so that no path leaves the folder
            raise ValueError(f"{path / HEAD}: {file} is no file of a trace")
        trace |= _read(path / file)
    for name, stored in document.tensors.items():
        if name not in trace or trace[name].shape != stored.shape:
            raise ValueError(f"{path / stored.file}: damaged: {name} is not as {HEAD} says")
    tensors = {name: _unpack(trace[name]) for name in document.tensors}
    parameters = _read(path / PARAMETERS) if (path / PARAMETERS).is_file() else {}
    words = read_json(path / VOCABULARY) if (path / VOCABULARY).is_file() else None
    if wrong := find_contradiction(document, tensors, words):
        raise ValueError(f"{path}: damaged: {wrong}")
    return document, tensors, parameters, words


def fingerprint(parameters: Mapping[str, Array]) -> str | None:
    """Return the SHA-256 of all weights and their names; None if there are none."""
    digest = sha256()
    for name in sorted(parameters):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(parameters[name]).data)
    return digest.hexdigest() if parameters else None


def _describe(trace: RecordedTensors, name: str) -> TensorFile:
    return TensorFile(
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
    """Write each matrix once; the metadata has the other names of shared ones."""
    first: dict[tuple[int, tuple[int, ...]], str] = {}
    aliases: dict[str, str] = {}
    unique: dict[str, Array] = {}
    for name, array in parameters.items():
        owner = first.setdefault((array.ctypes.data, array.shape), name)
        if owner == name:
            unique[name] = np.ascontiguousarray(array)
        else:
            aliases[name] = owner
    write_bytes(path, pack(unique, {"aliases": json.dumps(aliases)}))


def _read(path: Path) -> dict[str, Array]:
    if not path.is_file():
        raise ValueError(f"{path} is missing: this trace is not whole")
    try:
        with safe_open(path, "np") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            aliases = json.loads((file.metadata() or {}).get("aliases", "{}"))
        tensors |= {name: tensors[owner] for name, owner in aliases.items()}
        return {rename_tensor(name): tensor for name, tensor in tensors.items()}
    except (
        SafetensorError,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise ValueError(f"{path}: damaged, or no safetensors file ({error})") from None


def _read_head(path: Path) -> Document:
    if not path.is_file():
        raise ValueError(f"{path.parent} is no trace: it has no {path.name}")
    payload = read_json(path)
    version = payload.get("schema_version") if isinstance(payload, dict) else None
    if version in (1, 2):
        payload, version = _rename(payload), VERSION
    if version != VERSION:
        raise ValueError(f"{path}: a trace of version {version}, but this is read: {VERSION}")
    try:
        return Document.model_validate(payload)
    except ValidationError as error:
        raise ValueError(f"{path}: not as this version has it: {name_place(error)}") from None


def _rename(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a trace of an earlier version with its names of today."""
    fields = {**rename_keys(fields), "schema_version": VERSION}
    if isinstance(fields.get("tensors"), dict):
        fields["tensors"] = {rename_tensor(name): each for name, each in fields["tensors"].items()}
    fields["settings"] = rename_settings({"model": fields.get("settings")})["model"]
    if isinstance(fields.get("search"), dict):
        decode = {"decode": fields["search"].get("settings")}
        fields["search"]["settings"] = rename_settings(decode)["decode"]
    return fields
