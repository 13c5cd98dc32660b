"""Each entry of the engine's interface under a fuzzer that looks for inputs which reach new code.

The entries are the files in tests/unit/engine/fuzz, built with the sanitizers by Clang, whose
libFuzzer is needed (Debian: clang and libclang-rt-dev). Each starts from `corpus` there, small
inputs that each reach code of their own: a crash found later is added to it. The sanitizer of
threads takes the counts of coverage for races: there the inputs are new, but nothing guides them.
`GLASSFORMER_FUZZ_SECONDS` is how long the slow tests look for new ones.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from damage.ledger import Ledger

import glassformer

HERE = Path(__file__).parents[1] / "unit" / "engine" / "fuzz"
HOME = Path(glassformer.__file__).parent / "engine" / "native"
NAMES = ["clang", *(f"clang-{version}" for version in range(22, 13, -1))]
CLANG = next((found for name in NAMES if (found := shutil.which(name))), None)
FLAGS = ["-std=gnu11", "-O1", "-g1", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math"]
ENTRIES = ["model", "network", "search", "score"]
SANITIZERS = ["address,undefined", "thread"]
SECONDS = int(os.environ.get("GLASSFORMER_FUZZ_SECONDS", "60"))
QUICK = 200  # new inputs
LIMITS = ["-rss_limit_mb=4000", "-malloc_limit_mb=1000000", "-timeout=60", "-max_len=600"]
ENVIRONMENT = {
    **os.environ,
    "ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=512",
    "TSAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=512",
}


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """The objects of the engine with each sanitizer, as they are built."""
    if CLANG is None:
        pytest.skip("no clang here, which brings libFuzzer")
    empty = tmp_path_factory.mktemp("empty") / "empty.c"
    entry = "int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }"
    empty.write_text(entry, encoding="ascii")
    command = [CLANG, "-fsanitize=fuzzer,address", str(empty), "-o", str(empty.with_suffix(""))]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this clang has no libFuzzer")
    return {}


def build(engines: dict[str, list[Path]], entry: str, sanitizer: str, folder: Path) -> Path:
    """Build an entry of the fuzzer; the engine once for each sanitizer."""
    flags = [*FLAGS, "-w", f"-I{HOME}", "-fno-sanitize-recover=all"]
    if sanitizer not in engines:
        engines[sanitizer] = [folder / f"{path.stem}.o" for path in sorted(HOME.glob("*.c"))]
        for made in engines[sanitizer]:
            source = str(HOME / f"{made.stem}.c")
            counted = "" if sanitizer == "thread" else "fuzzer-no-link,"
            how = f"-fsanitize={counted}{sanitizer}"
            subprocess.run([str(CLANG), *flags, how, "-c", source, "-o", str(made)], check=True)
    program = folder / entry
    files = [str(HERE / f"{entry}.c"), *map(str, engines[sanitizer])]
    how = f"-fsanitize=fuzzer,{sanitizer}"
    command = [str(CLANG), *flags, how, *files, "-o", str(program), "-lm", "-pthread"]
    subprocess.run(command, check=True)
    return program


def note(ledger: Ledger, entry: str, sanitizer: str, said: str) -> None:
    """Note how many inputs there were. The fuzzer says so when it is done."""
    found = re.search(r"^Done (\d+) runs", said, re.M)
    assert found
    fault = f"coverage-guided bytes (libFuzzer): the engine in C, {entry}.c, {sanitizer} sanitizers"
    happened = "done, or refused with a code; the same by any number of workers"
    ledger.note("Bad input", fault, happened, times=int(found[1]))


def run(program: Path, *arguments: str | Path) -> str:
    command = [str(program), *LIMITS, *map(str, arguments)]
    done = subprocess.run(command, cwd=program.parent, capture_output=True, env=ENVIRONMENT)
    said = done.stderr.decode("utf-8", "replace")
    assert done.returncode == 0, said[-4000:]
    return said


def list_cases() -> list[object]:
    return [
        pytest.param(entry, sanitizer, id=f"{entry}-{sanitizer}")
        for entry in ENTRIES
        for sanitizer in (SANITIZERS if entry in ("search", "score") else SANITIZERS[:1])
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(("entry", "sanitizer"), list_cases())
def test_the_corpus_and_a_few_more(
    engines: dict[str, list[Path]], entry: str, sanitizer: str, tmp_path: Path, ledger: Ledger
) -> None:
    corpus = HERE / "corpus" / entry
    assert len([*corpus.iterdir()]) >= 10
    program = build(engines, entry, sanitizer, tmp_path)
    own = tmp_path / "corpus"
    shutil.copytree(corpus, own)
    said = run(program, f"-runs={QUICK + len([*corpus.iterdir()])}", "-seed=1", own)
    note(ledger, entry, sanitizer, said)


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "sanitizer"), list_cases())
def test_new_inputs(
    engines: dict[str, list[Path]], entry: str, sanitizer: str, tmp_path: Path, ledger: Ledger
) -> None:
    own = tmp_path / "corpus"
    shutil.copytree(HERE / "corpus" / entry, own)
    program = build(engines, entry, sanitizer, tmp_path)
    said = run(program, f"-max_total_time={SECONDS}", own)
    note(ledger, entry, sanitizer, said)
