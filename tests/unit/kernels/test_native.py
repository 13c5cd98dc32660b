"""The builder: builds once, survives what lies in its cache, and can be done without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.kernels import native

SOURCE = Path(__file__).parents[3] / "src"
ASK = "from glassformer.kernels import native; print(native.load_library('top') is not None)"
has_compiler = pytest.mark.skipif(
    not any(map(shutil.which, native.COMPILERS))
    or sys.platform == "win32"
    or os.environ.get(native.SWITCH) == "0",
    reason="no C compiler here, or kernels are turned off",
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and one small source to build."""
    sources = tmp_path / "native"
    sources.mkdir()
    (sources / "two.c").write_text("int two(void) { return 2; }\n", encoding="ascii")
    (sources / "wrong.c").write_text("int wrong(void) { return }\n", encoding="ascii")
    monkeypatch.setattr(native, "SOURCES", sources)
    monkeypatch.setenv("GLASSFORMER_CACHE", str(tmp_path / "cache"))
    native._load.cache_clear()
    yield tmp_path / "cache" / "native"
    native._load.cache_clear()


def load_anew(name: str = "two"):
    native._load.cache_clear()
    return native.load_library(name)


@has_compiler
def test_builds_once(cache: Path) -> None:
    assert load_anew().two() == 2
    (library,) = cache.glob("*.so")
    made = library.stat().st_mtime_ns
    assert load_anew().two() == 2
    assert library.stat().st_mtime_ns == made
    assert {path.suffix for path in cache.iterdir()} == {".so", ".sha256"}  # nothing else is left


@has_compiler
def test_one_that_is_wrong_takes_no_other_away(cache: Path) -> None:
    assert native.load_library("wrong") is None
    assert "wrong.c could not be built" in native.explain_compiler("wrong")
    assert native.load_library("two") and native.explain_compiler("two") == ""


@has_compiler
def test_another_source_is_another_library(cache: Path) -> None:
    assert load_anew().two() == 2
    (native.SOURCES / "two.c").write_text("int two(void) { return 3; }\n", encoding="ascii")
    assert load_anew().two() == 3


@has_compiler
@pytest.mark.parametrize("damage", [b"", b"\x7fELF", None])
def test_a_damaged_library_is_built_again(cache: Path, damage: bytes | None) -> None:
    assert load_anew()
    (library,) = cache.glob("*.so")
    content = library.read_bytes()
    library.unlink()
    library.write_bytes(content[: len(content) // 2] if damage is None else damage)
    assert load_anew().two() == 2


@has_compiler
def test_a_folder_that_others_can_write_is_not_trusted(cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert native.load_library("two") is None
    assert "others can write there" in native.explain_compiler("two")


@has_compiler
@pytest.mark.parametrize("setting", ["env {}", "{} -O1", " {}", "no-such-thing -O1", ""])
def test_cc_may_have_options(
    cache: Path, tmp_path: Path, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", setting.format("cc"))
    assert load_anew().two() == 2
    folder = tmp_path / "with a space"
    folder.mkdir()
    (folder / "compiler").symlink_to(shutil.which("cc") or "")
    monkeypatch.setenv("CC", str(folder / "compiler"))
    assert load_anew().two() == 2
    assert native._find_compiler() == (str(folder / "compiler"),)


@has_compiler
def test_nothing_waits_twice_for_a_compiler_that_hangs(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, asked = tmp_path / "slow", tmp_path / "asked"
    slow.write_text(f"#!/bin/sh\necho once >> {asked}\nexec sleep 60\n", encoding="ascii")
    slow.chmod(0o700)
    monkeypatch.setenv("CC", str(slow))
    monkeypatch.setattr(native, "PATIENCE", 0.5)
    assert native.load_library("two") is None and "took more than" in native.explain_compiler("two")
    assert native.load_library("wrong") is None and "too slow" in native.explain_compiler("wrong")
    assert asked.read_text(encoding="ascii") == "once\n"


def test_without_a_compiler_there_is_none(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(native.SWITCH, raising=False)
    monkeypatch.setattr(native.shutil, "which", lambda name: None)
    assert native.load_library("two") is None
    assert native.explain_compiler("two") == "no C compiler was found"


@pytest.mark.parametrize(("setting", "found"), [("0", "False"), ("1", "True")])
@has_compiler
def test_two_processes_at_once_and_the_switch(tmp_path: Path, setting: str, found: str) -> None:
    more = {"GLASSFORMER_CACHE": str(tmp_path), "GLASSFORMER_NATIVE": setting}
    environment = {**os.environ, **more, "PYTHONPATH": str(SOURCE)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", ASK], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    assert [each.communicate()[0].strip() for each in both] == [found] * 2


@has_compiler
def test_only_one_openmp() -> None:
    """Two would each keep threads of their own, that wait for work by spinning."""
    if not Path("/proc/self/maps").is_file() or native.load_library("top") is None:
        pytest.skip("cannot be seen on this system")
    program = (
        "from pathlib import Path; import torch; from glassformer.kernels import native\n"
        "assert native.load_library('top') and native.load_library('train_norm')\n"
        "lines = Path('/proc/self/maps').read_text().splitlines()\n"
        "print(len({line.split()[-1] for line in lines if 'libgomp' in line}))"
    )
    command = [sys.executable, "-c", program]  # other libraries of this process have their own
    found = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    assert int(found.stdout) <= 1
