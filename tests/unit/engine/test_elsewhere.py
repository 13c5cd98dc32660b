"""Machines that this one can imitate, ARM by qemu-user and Windows by Wine, find the same."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from glassformer.config import EOS, Decode
from glassformer.decode.sentences import plan_sentences
from glassformer.engine import native_model
from glassformer.engine.native import pack_options
from glassformer.engine.native_engine import NativeEngine
from glassformer.foundation.shared_library import load_library
from glassformer.foundation.shared_library.compiler import (
    ENGINE,
    ENGINE_NAME,
    ZIG,
    has_zig,
    list_sources,
)
from glassformer.foundation.shared_library.instruction_sets import SETS
from glassformer.model.files.directory import open_model

PROGRAM = Path(__file__).with_name("elsewhere.c")
COMPILED = ("-std=gnu11", "-O2", "-fno-math-errno", "-fno-trapping-math", "-w", f"-I{ENGINE}")
FLAGS = {each.name: each.flags for sets in SETS.values() for each in sets}
MACHINES = {  # Zig's name, the flags of an instruction set, and what runs its programs
    "aarch64, dotprod": ("aarch64-linux-musl", FLAGS["dotprod"], "qemu-aarch64"),
    "aarch64": ("aarch64-linux-musl", (), "qemu-aarch64"),
    "windows, avx2": ("x86_64-windows-gnu", FLAGS["avx2"], "wine"),
}
TEXTS = ["The old woman sees a small dog.", "The children play.", "We have read the book.", "Yes."]
SEARCHES = (
    Decode(search="greedy"),
    Decode(beam=5),
    Decode(beam=3, stop="first", no_repeat_ngram_size=2, length_penalty="power"),
    Decode(search="sample", temperature=0.7, top_p=0.9),
)
SEED = 5
Run = Callable[[Path], str]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_zig(), reason="ziglang is not installed"),
    pytest.mark.skipif(load_library("engine") is None, reason="no library here"),
]


class Task:
    """A file for `elsewhere.c`, and what this machine finds."""

    def __init__(self, precision: str, path: Path):
        config, tokenizers, weights = open_model("demo")
        sources = [[*row, EOS] for row in tokenizers.source.encode_many(TEXTS)]
        vocabularies = len(tokenizers.source), len(tokenizers.target)
        settings = native_model._describe_settings(config.model, vocabularies, precision)
        longest = config.model.positions.max_positions
        path.write_bytes(
            b"".join([bytes(settings), *pack_tensors(weights), *pack_searches(sources, longest)])
        )
        self.precision, self.path = precision, path
        engine = NativeEngine.open(config.model, weights.tensors, precision)
        found = [row for each in SEARCHES for [row] in engine.search(sources, each, seed=SEED)]
        self.tokens = [[*best.tokens, EOS] for best in found]
        self.scores = [best.score for best in found]


def pack_tensors(weights: Any) -> Iterator[bytes]:
    tensors = {**weights.tensors, **native_model._list_scales(weights.tensors)}
    described = [native_model._describe_tensor(name, each) for name, each in tensors.items()]
    yield struct.pack("i", len(described))
    yield from map(bytes, described)
    for each in described:
        yield each.name.ljust(120, b"\0") + ctypes.string_at(each.data, each.bytes)


def pack_searches(sources: list[list[int]], longest: int) -> Iterator[bytes]:
    """Yield the arrays of a `Batch` of api.h, and the options of each search."""
    sentences = plan_sentences(sources, None, None, longest, SEARCHES[0])
    count, ids = len(sources), [token for source in sources for token in source]
    starts = accumulate(map(len, sources), initial=0)
    yield struct.pack(f"=i{count + 1}q", count, *starts)
    yield struct.pack(f"={len(ids)}i{count + 1}q", *ids, *[0] * (count + 1))  # no prefixes
    yield struct.pack(f"={count}i", *(each.limit for each in sentences))
    yield struct.pack(f"={count}Q", *(each.line for each in sentences))
    yield struct.pack("i", len(SEARCHES))
    yield from (bytes(pack_options(each, 1, SEED)) for each in SEARCHES)


@pytest.fixture(scope="module", params=["int8", "fp32"])
def task(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Task:
    return Task(request.param, tmp_path_factory.mktemp("task") / request.param)


@pytest.fixture(scope="module", params=MACHINES)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function that runs `elsewhere.c` on a machine."""
    zig, flags, emulator = MACHINES[request.param]
    found = shutil.which(emulator)
    if found is None:
        pytest.skip(f"{emulator} is not installed")
    folder = tmp_path_factory.mktemp("machine")
    files = list_sources()[ENGINE_NAME].files
    command = [*ZIG, "-target", zig, "-static", *COMPILED, *flags, *map(str, (PROGRAM, *files))]
    subprocess.run([*command, "-o", str(folder / "elsewhere.exe"), "-lm"], check=True)
    surroundings = {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": str(folder / "wine")}
    return lambda path: (
        subprocess.run(
            [found, str(folder / "elsewhere.exe"), str(path)],
            capture_output=True,
            encoding="utf-8",
            check=True,
            env=surroundings,
        ).stdout
    )


def test_another_machine_finds_the_same_tokens(run: Run, task: Task) -> None:
    """In int8 a near tie may be decided otherwise: see the kernels for bf16 and for AVX2."""
    rows = [line.split() for line in run(task.path).splitlines()]
    found = [[int(token) for token in row[:-1]] for row in rows]
    pairs = zip(found, task.tokens, rows, task.scores, strict=True)
    same = [(float(row[-1]), score) for one, other, row, score in pairs if one == other]
    assert len(same) >= len(rows) - (0 if task.precision == "fp32" else 2)
    assert [one for one, _ in same] == pytest.approx(
        [other for _, other in same], abs=1e-3 if task.precision == "fp32" else 0.3
    )
