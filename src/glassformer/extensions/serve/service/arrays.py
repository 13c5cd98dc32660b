"""Arrays for clients: slices, little-endian float32, and safetensors."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from fastapi import Response
from numpy.typing import NDArray
from safetensors.numpy import save

from ..api_error import ApiError

Array = NDArray[Any]
KEPT = {"Cache-Control": "private, max-age=31536000, immutable"}
_PART = re.compile(r"\s*(-?\d{1,9})?\s*(?:(:)\s*(-?\d{1,9})?\s*(?::\s*(-?\d{1,9})?\s*)?)?")


def cut_slice(array: Array, text: str) -> Array:
    """Return a slice of an array, written as in NumPy: `0,:,3:7`.

    Raises ApiError if the text is no slice of this array.
    """
    if not text.strip():
        return array
    parts = text.split(",")
    if len(parts) > array.ndim:
        raise ApiError(400, f"slice={text}: there are {array.ndim} axes, not {len(parts)}")
    index = tuple(_read(part, size, text) for part, size in zip(parts, array.shape, strict=False))
    return np.asarray(array[index])


def _read(part: str, size: int, text: str) -> int | slice:
    match = _PART.fullmatch(part)
    if not match or not part.strip():
        raise ApiError(400, f"slice={text}: write it as 0,:,3:7")
    start, colon, stop, step = match.groups()
    if not colon:
        if not -size <= int(start) < size:
            raise ApiError(400, f"slice={text}: {start} is out of range, 0 to {size - 1}")
        return int(start)
    if step is not None and int(step) < 1:
        raise ApiError(400, f"slice={text}: a step is at least 1")
    return slice(*(None if each is None else int(each) for each in (start, stop, step)))


def pack_array(array: Array, name: str) -> Response:
    """Return an answer with the array as bytes, and its shape in a header."""
    flat = np.ascontiguousarray(array, "<f4")
    shape = ",".join(map(str, array.shape))
    safe = name.encode("ascii", "replace").decode()
    headers = {**KEPT, "X-Shape": shape, "X-Dtype": "float32", "X-Name": safe}
    return Response(flat.tobytes(), media_type="application/octet-stream", headers=headers)


def pack_many(arrays: Mapping[str, Array]) -> Response:
    """Return an answer with one safetensors file: fp32, masks as bool."""
    results = {
        name: np.ascontiguousarray(array, None if array.dtype == bool else np.float32)
        for name, array in arrays.items()
    }
    return Response(save(results), media_type="application/octet-stream", headers=KEPT)
