"""The search in C under the sanitizers, with every error of memory that there can be."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import glassformer

HERE = Path(__file__).parent
HOME = Path(glassformer.__file__).parent / "engine" / "native"
FLAKY = ("api", "queue", "sample", "score", "search")  # their allocations fail


def run(*command: str | Path) -> bool:
    return subprocess.run(command).returncode == 0


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler here")
@pytest.mark.parametrize("kind", ["address,undefined", "thread"])
def test_nothing_leaks_or_races_where_memory_runs_out(kind: str, tmp_path: Path) -> None:
    """Each allocation fails once; `sanitized.c` compares what comes out then."""
    cc = ["cc", "-std=c11", "-g", "-O1", "-pthread", f"-I{HOME}", f"-fsanitize={kind}"]
    cc.append("-fno-sanitize-recover=all")
    empty = tmp_path / "empty.c"
    empty.write_text("int main(void) { return 0; }", encoding="ascii")
    if not run(*cc, empty, "-o", tmp_path / "empty"):
        pytest.skip(f"this compiler has no sanitizer {kind}")
    made = [tmp_path / f"{name}.o" for name in FLAKY]
    for name, target in zip(FLAKY, made, strict=True):
        assert run(*cc, "-include", HERE / "flaky.h", "-c", HOME / f"{name}.c", "-o", target)
    program = tmp_path / "sanitized"
    assert run(*cc, HERE / "sanitized.c", HOME / "pool.c", *made, "-o", program, "-lm")
    result = subprocess.run([program, "60"], capture_output=True, encoding="utf-8")
    assert (result.returncode, result.stderr) == (0, "")
    assert int(result.stdout) > 300  # calls, of which nearly all had one failure
