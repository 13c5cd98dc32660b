"""Damage to bytes, to JSON and to safetensors files, drawn by hypothesis."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2,
    3.5,
    10**9,
    10**30,
    float("inf"),
    "",
    "x",
    "../../outside",
    "/dev/zero",
    "\ud800",
    "\0",
    [],
    [[]],
    {},
    {"x": 1},
    [0, 1, 2],
    "a" * 1000,
    [10**18, 10**18],
]
TOKENS = [
    b"\0",
    b"\n",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b'"',
    b"'",
    b"{",
    b"[",
    b"<tu>",
    b"]]>",
    b"\t",
    b",",
    b"=",
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"&x;",
    b"-1",
    b"1e999",
]


class Data(bytes):
    """Bytes that are not shown in full when a test fails."""

    def __repr__(self) -> str:
        return f"{len(self)} bytes, {bytes(self[:200])!r}..."


Draw = Callable[[st.SearchStrategy[Any]], Any]


@st.composite
def damaged(draw: Draw, data: bytes, times: int = 3) -> Data:
    """Bytes with some of them changed, gone, doubled or new."""
    found = bytearray(data)
    for _ in range(draw(st.integers(1, times))):
        at = draw(st.integers(0, len(found)))
        end = min(len(found), at + draw(st.sampled_from([1, 2, 8, 100])))
        match draw(st.sampled_from(["set", "cut", "drop", "double", "insert", "token"])):
            case "set":
                found[at:end] = draw(st.binary(min_size=end - at, max_size=end - at))
            case "cut":
                del found[at:]
            case "drop":
                del found[at:end]
            case "double":
                found[at:at] = found[at:end]
            case "insert":
                found[at:at] = draw(st.binary(max_size=8))
            case "token":
                found[at:at] = draw(st.sampled_from(TOKENS))
    return Data(found)


@st.composite
def odd_json(draw: Draw, value: Any) -> Any:
    """The same value with something in it that does not belong there."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 2))):
        spot, last = value, None
        while isinstance(spot, dict | list) and spot and (last is None or draw(st.booleans())):
            last = (
                spot,
                draw(st.sampled_from(sorted(spot) if isinstance(spot, dict) else range(len(spot)))),
            )
            spot = last[0][last[1]]
        if last is None:
            return deepcopy(draw(st.sampled_from(ODD)))
        holder, key = last
        match draw(st.sampled_from(["odd", "odd", "drop", "more"])):
            case "odd":
                holder[key] = deepcopy(draw(st.sampled_from(ODD)))
            case "drop":
                del holder[key]
            case "more" if isinstance(holder, dict):
                holder[draw(st.sampled_from(["x", "", "size", "__class__"]))] = deepcopy(
                    holder[key]
                )
            case "more":
                holder.append(deepcopy(holder[key]))
    return value


@st.composite
def odd_tensors(draw: Draw, data: bytes) -> Data:
    """A safetensors file whose head says other things, or one with damaged bytes."""
    if draw(st.booleans()):
        return draw(damaged(data))
    size = int.from_bytes(data[:8], "little")
    head = draw(odd_json(json.loads(data[8 : 8 + size])))
    text = json.dumps(head).encode("utf-8", "surrogatepass")
    length = draw(st.sampled_from([len(text)] * 8 + [0, 10**9, 2**63, len(text) - 1]))
    return Data(length.to_bytes(8, "little") + text + data[8 + size :])


@st.composite
def odd_file(draw: Draw, name: str, data: bytes) -> Data:
    """Whatever kind of file it is."""
    if name.endswith(".safetensors"):
        return draw(odd_tensors(data))
    if name.endswith(".json") and draw(st.booleans()):
        found = draw(odd_json(json.loads(data)))
        return Data(json.dumps(found).encode("utf-8", "surrogatepass"))
    deep = [b"[" * 100_000, b'{"a":' * 50_000, b"x = " + b"[" * 10_000]
    return draw(damaged(data) | st.sampled_from([b"", b"\0" * 100, *deep]).map(Data))
