"""Files of strangers that ask for memory, paths or programs: each is refused in one sentence."""

from __future__ import annotations

import io
import os
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damage.ledger import Ledger

from glassformer.cli import main

REFUSED = "refused in one sentence; nothing ran, nothing was written, little memory was taken"
HUGE = 1 << 62
WEIGHTS = "encoder_l1_self_Wq"
SIZES = {
    "name": (HUGE, 0x404, 2, 16),
    "axes": (4, 0x404, HUGE, 16),
    "data": (4, 0x404, 2, HUGE),
}  # the numbers of a tensor of Marian's binary files
PROTOS = {
    "a length of 2^63": b"\x0a" + b"\xff" * 8 + b"\x7f",
    "a length of 2^28": b"\x0a\xff\xff\xff\x7f",
    "a number without an end": b"\x0a" + b"\xff" * 64,
    "groups in groups": b"\x0b" * 100_000,
}

Import = Callable[[Path], str]


class Program:
    """A pickle of it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in Marian's files."""
    from tests.equal.test_marian_export import make

    from glassformer.extensions.bridge.marian_export import export_marian

    folder = tmp_path_factory.mktemp("marian")
    export_marian(make(folder, "two-way"), folder / "marian")
    return folder / "marian"


@pytest.fixture
def theirs(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "theirs"))


@pytest.fixture
def refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Import:
    """Import a path, which has to be refused; return what is said."""

    def run(path: Path) -> str:
        before = set(tmp_path.rglob("*"))
        assert main(["import", str(path), "--out", str(tmp_path / "m")]) == 2
        said = capsys.readouterr().err.strip()
        assert "\n" not in said and "defect" not in said
        assert set(tmp_path.rglob("*")) == before
        return said

    return run


def write_shape(file: Path, arrays: dict[str, Any], shape: tuple[int, ...]) -> None:
    """Let a matrix have another shape, but no more numbers."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            entry = io.BytesIO()
            if name == WEIGHTS:
                header = {"descr": "<f4", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(entry, header)
                entry.write(bytes(64))
            else:
                np.lib.format.write_array(entry, array)
            archive.writestr(f"{name}.npy", entry.getvalue())


def test_npz(theirs: Path, tmp_path: Path, refuse: Import, ledger: Ledger) -> None:
    file = theirs / "model.npz"
    arrays = dict(np.load(file))
    shapes = [(60_000, 60_000), (1 << 40, 1 << 40), (-1, 5)]
    for shape in shapes:
        write_shape(file, arrays, shape)
        assert "damaged, or more than weights" in refuse(theirs)
    others: list[Any] = [
        np.array([Program(tmp_path / "ran")], object),
        np.array(["text"]),
        np.zeros((3, 3), "M8[s]"),
        np.zeros(3, [("a", "f4")]),
        np.zeros(0, "f4"),
        np.zeros((2, 3, 4), "f4"),
    ]
    for other in others:
        np.savez(file, **{**arrays, WEIGHTS: other})
        assert str(theirs) in refuse(theirs)
    np.savez_compressed(file, **{**arrays, WEIGHTS: np.zeros((1 << 20, 17), "f4")})
    assert "these are no weights" in refuse(theirs)
    for name in ("../../evil.npy", str(tmp_path / "evil.npy")):
        np.savez(file, **arrays)
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(name, b"x")
        assert "damaged, or more than weights" in refuse(theirs)
    tries = len(shapes) + len(others) + 3
    ledger.note(
        "Damaged files", "npz of strangers: objects, absurd sizes, ../", REFUSED, times=tries
    )


def test_what_is_packed_well_is_read(theirs: Path, tmp_path: Path) -> None:
    file = theirs / "model.npz"
    np.savez_compressed(file, **dict(np.load(file)))
    assert main(["import", str(theirs), "--out", str(tmp_path / "m")]) == 0


def test_binary_sizes_and_protos(
    theirs: Path, tmp_path: Path, refuse: Import, ledger: Ledger
) -> None:
    protos = theirs / "source.spm"
    whole = protos.read_bytes()
    for proto in PROTOS.values():
        protos.write_bytes(proto + whole)
        assert "damaged, or no SentencePiece model" in refuse(theirs)
    protos.write_bytes(whole)
    (theirs / "model.npz").unlink()
    for numbers in SIZES.values():
        head = struct.pack("<6Q", 1, 1, *numbers)
        (theirs / "model.bin").write_bytes(head + b"abc\0" + bytes(64))
        assert "damaged, or no model of Marian" in refuse(theirs)
    times = len(PROTOS) + len(SIZES)
    ledger.note("Damaged files", "protos and tensors of absurd sizes", REFUSED, times=times)


def test_archives_and_onnx(tmp_path: Path, refuse: Import, ledger: Ledger) -> None:
    """None is unpacked, and no file that a graph names is opened."""
    for suffix in (".argosmodel", ".zip"):
        for name in ("../../evil", str(tmp_path / "evil")):
            path = tmp_path / f"package{suffix}"
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr(name, "{}")
                archive.writestr("t/model/model.bin", b"x")
            assert str(path) in refuse(path)
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[10])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../../../etc/passwd")
    graph = onnx.helper.make_graph([], "g", [], [], [tensor])
    (tmp_path / "graph").mkdir()
    for name in ("encoder.onnx", "decoder.onnx"):
        path = tmp_path / "graph" / name
        path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    assert "is no model" in refuse(tmp_path / "graph")
    fault = ".argosmodel and .zip with ../ or absolute paths, ONNX with external data"
    ledger.note("Damaged files", fault, REFUSED, times=5)
