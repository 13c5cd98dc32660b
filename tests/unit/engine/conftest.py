"""The C network, driven through its functions: built once for each instruction set."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from ctypes import CFUNCTYPE, c_int, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.engine.native_model import NativeEnsemble, NativeModel
from glassformer.foundation.shared_library.compiler import ENGINE, find_compiler
from glassformer.foundation.shared_library.loading import SWITCH
from glassformer.model.files.tensors import store_tensors
from glassformer.model.transformer import Transformer

FILES = sorted(map(str, ENGINE.glob("*.c")))
# With -O1 they are built in 0.4 of the time of -O3; what -O3 makes is tested by `tests/equal`.
FLAGS = ("-std=gnu11", "-O1", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
AVX2 = ("-mavx2", "-mfma")
AVX512 = (*AVX2, *(f"-mavx512{part}" for part in ("f", "bw", "dq", "vl", "vnni")))
AVX512 = (*AVX512, "-mprefer-vector-width=512")
AMX = (*AVX512, "-mavx512bf16", "-mamx-tile", "-mamx-int8")
# The flags of each instruction set, and what /proc/cpuinfo says of a processor that has it.
ISAS = {
    "generic": ((), ()),
    "avx2": (AVX2, ("avx2", "fma")),
    "avx512vnni": (AVX512, ("avx512_vnni", "avx512vl")),
    "amx": (AMX, ("amx_int8", "avx512_bf16")),
}


class TextStruct(ctypes.Structure):
    _fields_ = ("ids", c_void_p), ("size", c_int32), ("shortlist", c_void_p)


class BestStruct(ctypes.Structure):
    _fields_ = (
        ("size", c_int32),
        ("first", c_int32),
        ("value", c_void_p),
        ("id", c_void_p),
        ("logsumexp", c_void_p),
        ("wanted", c_void_p),
        ("wanted_logit", c_void_p),
    )


class WatchedStruct(ctypes.Structure):
    _fields_ = (
        ("count", c_int32),
        ("heads", c_void_p),
        ("weights", c_void_p),
        ("stride", c_int64),
        ("apart", c_int64),
    )


class NetworkStruct(ctypes.Structure):
    _fields_ = (
        ("self", c_void_p),
        ("vocabulary", c_int32),
        ("max_positions", c_int32),
        ("admit", CFUNCTYPE(c_int, c_void_p, c_int32, c_void_p, c_int32)),
        ("step", CFUNCTYPE(c_int, c_void_p, c_int32, *[c_void_p] * 4)),
        ("keep", CFUNCTYPE(c_int, c_void_p, c_int32, c_void_p, c_int32)),
        ("clear", CFUNCTYPE(None, c_void_p)),
    )


def to_ints(values: Sequence[int]) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.int32)


def pair_up(tokens: Sequence[Sequence[int]]) -> np.ndarray:
    """Return the pairs of row and token that `step` reads."""
    return to_ints([(row, token) for row, given in enumerate(tokens) for token in given])


class Driver:
    """A network's functions with arrays in place of pointers; each returns a code of errors.h."""

    def __init__(self, model: NativeModel | NativeEnsemble):
        self.model, self.network = model, NetworkStruct()
        model.open_network(self.network)

    def close(self) -> None:
        self.model.close_network(self.network)
        self.model.close()

    def admit(self, sources: Sequence[Sequence[int]], beams: int = 1) -> int:
        ids = [to_ints(source) for source in sources]
        texts = (TextStruct * len(ids))(*((each.ctypes.data, len(each)) for each in ids))
        at = ctypes.addressof(texts)
        return self.network.admit(self.network.self, len(ids), at, beams)

    def step(self, tokens_RQ: Sequence[Sequence[int]]) -> tuple[int, np.ndarray]:
        """Append the same number of tokens to every row; return a code and logits_RQV."""
        shape = np.shape(tokens_RQ)
        code, logits = self.extend(tokens_RQ)
        return code, logits.reshape(*shape, self.network.vocabulary)

    def extend(self, tokens: Sequence[Sequence[int]], *heads: tuple[int, int]) -> Any:
        """Append some tokens to each row, the first of all; return a code and logits_NV.

        With heads, also their weights_HNS.
        """
        given = pair_up(tokens)
        logits = np.full((len(given), self.network.vocabulary), np.nan, np.float32)
        at = len(given), given.ctypes.data, logits.ctypes.data, None
        if not heads:
            return self.network.step(self.network.self, *at, None), logits
        wanted, weights = to_ints(heads), np.zeros((len(heads), len(given), 40), np.float32)
        watched = WatchedStruct(
            len(heads), wanted.ctypes.data, weights.ctypes.data, 40, 40 * len(given)
        )
        code = self.network.step(self.network.self, *at, ctypes.addressof(watched))
        return code, logits, weights

    def find_best(
        self, tokens_R: Sequence[int], size: int, first: int = 0, wanted: int = 0
    ) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return a code, the best logits and their tokens, logsumexp, and one token's logit."""
        given, rows = pair_up([[token] for token in tokens_R]), len(tokens_R)
        value, ids = np.empty((rows, size), np.float32), np.empty((rows, size), np.int32)
        sums, logit, one = np.empty(rows, np.float32), np.empty(rows, np.float32), [wanted] * rows
        arrays = value, ids, sums, to_ints(one), logit
        best = BestStruct(size, first, *(each.ctypes.data for each in arrays))
        call = self.network.self, rows, given.ctypes.data, None, ctypes.addressof(best), None
        return self.network.step(*call), value, ids, sums, logit

    def keep(self, rows: Sequence[int], beams: int) -> int:
        kept = to_ints(rows)
        return self.network.keep(self.network.self, len(kept), kept.ctypes.data, beams)

    def clear(self) -> None:
        self.network.clear(self.network.self)


def list_isas() -> list[str]:
    """Return the instruction sets that this machine can be tested with."""
    if os.environ.get(SWITCH) == "0" or find_compiler() is None:
        return []
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        flags = set()
    wanted = os.environ.get("GLASSFORMER_ISA")
    return [
        name
        for name, (_, needed) in ISAS.items()
        if flags.issuperset(needed) and wanted in (None, name)
    ]


def compile_engine(folder: Path, isa: str, *more: str, name: str = "engine.so") -> Path:
    compiler, made = find_compiler(), folder / name
    assert compiler is not None
    command = [
        *compiler,
        *FLAGS,
        *WARNINGS,
        *ISAS[isa][0],
        *more,
        *FILES,
        "-o",
        str(made),
        "-lm",
        "-lpthread",
    ]
    subprocess.run(command, check=True)
    return made


def pack_model(library: ctypes.CDLL, network: Transformer, precision: str) -> NativeModel:
    tables = network.source_embedding.table, network.output_table
    tensors = store_tensors(network.state_dict())
    vocabularies = len(tables[0].weight), len(tables[1].weight)
    return NativeModel(library, network.settings, vocabularies, tensors, precision)


@pytest.fixture(scope="session", params=list_isas() or ["none"])
def isa(request: pytest.FixtureRequest) -> str:
    if request.param == "none":
        pytest.skip("no C compiler here, or kernels are turned off")
    return request.param


@pytest.fixture(scope="session")
def engine_library(isa: str, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp(isa)
    return ctypes.CDLL(str(compile_engine(folder, isa, "-fPIC", "-shared")))


@pytest.fixture
def build_program(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that builds a program with the engine; skip where the compiler cannot."""

    def build(source: Path, isa: str, *flags: str) -> Path:
        (tmp_path / "empty.c").write_text("int main(void) { return 0; }", encoding="ascii")
        compiler = find_compiler() or ()
        command = [*compiler, *flags, str(tmp_path / "empty.c"), "-o", str(tmp_path / "empty")]
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip(f"this compiler has no {' '.join(flags)}")
        return compile_engine(tmp_path, isa, *flags, f"-I{ENGINE}", str(source), name="program")

    return build


@pytest.fixture
def drive(engine_library: ctypes.CDLL) -> Iterator[Callable[..., Driver]]:
    """Return a driver of the C network with a Transformer's weights."""
    drivers: list[Driver] = []

    def make(network: Transformer, precision: str = "fp32") -> Driver:
        drivers.append(Driver(pack_model(engine_library, network, precision)))
        return drivers[-1]

    yield make
    for each in drivers:
        each.close()
