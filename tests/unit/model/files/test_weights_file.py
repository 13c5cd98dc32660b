"""A weights file read with NumPy, beside safetensors' own reading into tensors of PyTorch."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from glassformer.model.files.tensors import load_tensors, save_tensors
from glassformer.model.files.weights_file import WeightsFile

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def write(path: Path, **tensors: torch.Tensor) -> Path:
    save_file(tensors, path)
    return path


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_numbers_are_those_of_the_file(tmp_path: Path, dtype: torch.dtype) -> None:
    numbers = torch.randn(7, 5).to(dtype)
    file = WeightsFile(write(tmp_path / "x", a=numbers, b=numbers[0].clone()))
    assert file.shapes == {"a": (7, 5), "b": (5,)} and file.parameters == 40
    assert torch.equal(torch.from_numpy(file["a"].to_fp32()), numbers.float())
    assert torch.equal(load_tensors(tmp_path / "x")["a"], numbers)


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float64, torch.int64, torch.uint8, torch.bool])
def test_every_type_of_number_comes_back(tmp_path: Path, dtype: torch.dtype) -> None:
    tensors = {"a": torch.arange(6).view(2, 3).to(dtype), "empty": torch.empty(0, 3, dtype=dtype)}
    save_tensors(tmp_path / "x", tensors)
    found = load_tensors(tmp_path / "x")
    assert all(
        torch.equal(found[name], x) and found[name].dtype == dtype for name, x in tensors.items()
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 1 << 20, -1])
def test_a_number_that_is_none_is_named(
    tmp_path: Path, dtype: torch.dtype, value: float, place: int
) -> None:
    numbers = torch.full(((1 << 20) + 3,), torch.finfo(dtype).max, dtype=dtype)
    wrong = numbers.clone()
    wrong[place] = value
    file = WeightsFile(write(tmp_path / "y", good=numbers, wrong=wrong))
    with pytest.raises(ValueError, match="some of wrong are not finite numbers"):
        file.check_finite()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_largest_numbers_are_numbers(tmp_path: Path, dtype: torch.dtype) -> None:
    numbers = torch.full(((1 << 20) + 3,), torch.finfo(dtype).max, dtype=dtype)
    WeightsFile(write(tmp_path / "x", good=numbers)).check_finite()


def test_a_tied_weight_is_one(tmp_path: Path) -> None:
    tied = torch.randn(3, 2)
    save_tensors(tmp_path / "x", {"a": tied, "b": tied, "c": tied.clone()}, notes={"of": 1})
    file = WeightsFile(tmp_path / "x")
    assert file["a"] is file["b"] and file["a"] is not file["c"]
    assert file.parameters == 12 and file.notes["of"] == 1
    found = load_tensors(tmp_path / "x")
    assert found["a"].data_ptr() == found["b"].data_ptr() != found["c"].data_ptr()


def lie(path: Path, **changes: object) -> Path:
    """Rewrite the header of a file whose only tensor is `a`."""
    raw = path.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:begin])
    header["a"] |= changes
    new = json.dumps(header).encode()
    path.write_bytes(len(new).to_bytes(8, "little") + new + raw[begin:])
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [4, 5]},
        {"shape": [1 << 62, 4]},
        {"shape": [-2, -3]},
        {"shape": "ab"},
        {"data_offsets": [0, 1 << 40]},
        {"data_offsets": [8, 32]},
        {"data_offsets": [24, 0]},
        {"dtype": "F64"},
        {"dtype": "F8_E4M3"},
        {"dtype": "X"},
    ],
)
def test_sizes_that_lie_are_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    path = lie(write(tmp_path / "x", a=torch.zeros(2, 3)), **changes)
    with pytest.raises(ValueError, match="x: damaged") as error:
        WeightsFile(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("offsets", [(0, 28), (4, 28), (0, 24)], ids=["between", "before", "after"])
def test_gaps_are_refused(tmp_path: Path, offsets: tuple[int, int]) -> None:
    """Something hidden beside the tensors, or between them."""
    places = ([0, 24], [24, 48]) if offsets == (0, 24) else ([offsets[0], 24 + offsets[0]], None)
    first, second = places[0], places[1] or [offsets[1], offsets[1] + 24]
    header = json.dumps(
        {
            name: {"dtype": "F32", "shape": [2, 3], "data_offsets": place}
            for name, place in (("a", first), ("b", second))
        }
    ).encode()
    data = bytes(52)
    (tmp_path / "x").write_bytes(len(header).to_bytes(8, "little") + header + data)
    with pytest.raises(ValueError, match="x: damaged"):
        WeightsFile(tmp_path / "x")
    if offsets == (0, 24):
        (tmp_path / "x").write_bytes(len(header).to_bytes(8, "little") + header + data[:48])
        assert WeightsFile(tmp_path / "x").parameters == 12


@pytest.mark.parametrize("raw", [b"", b"x" * 100, b"\xff" * 8 + b"{}", b"\x02" + b"\0" * 7 + b"[]"])
def test_what_is_no_weights_file(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "x").write_bytes(raw)
    with pytest.raises(ValueError, match="x: damaged"):
        WeightsFile(tmp_path / "x")


def test_what_the_settings_do_not_ask_for(tmp_path: Path) -> None:
    file = WeightsFile(write(tmp_path / "x", a=torch.zeros(2, 3), b=torch.zeros(2).long()))
    for wanted, said in (
        ({"a": (2, 3)}, "b is no weight of a model"),
        ({"a": (2, 3), "b": (2,), "c": (1,)}, "c is missing"),
        ({"a": (2, 4), "b": (2,)}, r"a is \[2, 3\], but settings and tokenizer say \[2, 4\]"),
        ({"a": (2, 3), "b": (2,)}, "b is of I64, not fp32, fp16, or int8 with scales"),
    ):
        with pytest.raises(ValueError, match=said):
            file.check_shapes(wanted)
