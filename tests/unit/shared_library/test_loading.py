"""The loader: builds once, survives what lies in its cache, and can be done without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassformer.foundation.shared_library import compiler, loading
from glassformer.foundation.shared_library.compiler import SERIAL, Source
from glassformer.foundation.shared_library.instruction_sets import GENERIC, ISA, InstructionSet

SOURCE = Path(__file__).parents[3] / "src"
ASK = (
    "from glassformer.foundation import shared_library as s; "
    "print(s.load_library('probe') is not None)"
)
UNKNOWN = InstructionSet("unknown", ("-mno-such-instructions",))
has_compiler = pytest.mark.skipif(
    not any(map(shutil.which, compiler.COMPILERS))
    or sys.platform == "win32"
    or os.environ.get(loading.SWITCH) == "0",
    reason="no C compiler here, or the code in C is turned off",
)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A folder with three small sources."""
    folder = tmp_path / "native"
    folder.mkdir()
    for name, body in (("two", "return 2;"), ("three", "return 3;"), ("wrong", "return")):
        text = f"int {name}(void) {{ {body} }}\n"
        (folder / f"{name}.c").write_text(text, encoding="ascii")
    return folder


@pytest.fixture
def cache(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, for the small sources and a processor of one instruction set."""

    def list_sources() -> dict[str, Source]:
        found = (Source(path.stem, (path,), (SERIAL,)) for path in sources.glob("*.c"))
        return {each.name: each for each in found}

    monkeypatch.setattr(loading, "list_sources", list_sources)
    monkeypatch.setattr(loading, "PROBE", "two")
    monkeypatch.setattr(loading, "BUILT", tmp_path / "built")
    monkeypatch.setattr(loading, "list_sets", lambda probe: (GENERIC,))
    monkeypatch.setattr(loading, "_too_slow", set())
    monkeypatch.setenv("GLASSFORMER_CACHE", str(tmp_path / "cache"))
    loading._find.cache_clear()
    yield tmp_path / "cache" / "native"
    loading._find.cache_clear()


def load_anew(name: str = "two"):
    loading._find.cache_clear()
    return loading.load_library(name)


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
    assert loading.load_library("wrong") is None
    assert "wrong could not be built" in loading.explain_library("wrong")
    assert loading.load_library("two") and loading.explain_library("two") == ""
    assert "wrong could not be built" in loading.prepare_libraries()


@has_compiler
def test_another_source_is_another_library(cache: Path, sources: Path) -> None:
    assert load_anew().two() == 2
    (sources / "two.c").write_text("int two(void) { return 3; }\n", encoding="ascii")
    assert load_anew().two() == 3


DAMAGE = (b"", b"\x7fELF", None)


def damage_file(path: Path, damage: bytes | None) -> None:
    content = path.read_bytes()
    path.unlink()  # a library that is mapped must not change
    path.write_bytes(content[: len(content) // 2] if damage is None else damage)


@has_compiler
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_library_is_built_again(cache: Path, damage: bytes | None) -> None:
    assert load_anew()
    (library,) = cache.glob("*.so")
    damage_file(library, damage)
    assert load_anew().two() == 2


@has_compiler
def test_what_a_killed_build_left_is_built_again(cache: Path) -> None:
    assert load_anew()
    (seal,) = cache.glob("*.sha256")
    seal.write_bytes(b"")
    assert load_anew().two() == 2 and loading.is_whole(next(cache.glob("*.so")))


@has_compiler
@pytest.mark.parametrize("damage", DAMAGE)
def test_the_next_set_serves_where_one_does_not_load(
    cache: Path, tmp_path: Path, damage: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a wheel, on a machine without a compiler."""
    assert load_anew("three").three() == 3
    (made,) = cache.glob("three-*.so")
    better = InstructionSet("better")
    for name in (better.name, GENERIC.name):
        path = tmp_path / "built" / name / "three.so"
        path.parent.mkdir(parents=True)
        shutil.copy(made, path)
        loading.seal(path)
    monkeypatch.setattr(loading, "list_sets", lambda probe: (better, GENERIC))
    monkeypatch.setattr(loading, "find_compiler", lambda: None)
    loading._find.cache_clear()
    found = loading.find_library("three")
    assert found.instruction_set == "better" and not found.refused
    damage_file(tmp_path / "built" / "better" / "three.so", damage)
    loading._find.cache_clear()
    found = loading.find_library("three")
    assert found.handle and found.handle.three() == 3 and found.instruction_set == "generic"
    assert found.path == tmp_path / "built" / "generic" / "three.so" and not found.explanation
    ((name, why), *_) = found.refused
    assert name == "better" and "better/three.so is damaged" in why


@has_compiler
def test_the_next_set_serves_where_the_compiler_knows_one_not(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "list_sets", lambda probe: (UNKNOWN, GENERIC))
    found = loading.find_library("three")
    assert found.handle and found.instruction_set == "generic"
    ((name, why),) = found.refused
    assert name == "unknown" and "three could not be built" in why


@has_compiler
def test_a_folder_that_others_can_write_is_not_trusted(cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert loading.load_library("two") is None
    assert "others can write there" in loading.explain_library("two")


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
    assert compiler.find_compiler() == (str(folder / "compiler"),)


@has_compiler
def test_nothing_waits_twice_for_a_compiler_that_hangs(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, asked = tmp_path / "slow", tmp_path / "asked"
    slow.write_text(f"#!/bin/sh\necho once >> {asked}\nexec sleep 60\n", encoding="ascii")
    slow.chmod(0o700)
    monkeypatch.setenv("CC", str(slow))
    monkeypatch.setattr(compiler, "PATIENCE", 0.5)
    assert loading.load_library("two") is None
    assert "took more than" in loading.explain_library("two")
    assert loading.load_library("wrong") is None
    assert "too slow" in loading.explain_library("wrong")
    assert asked.read_text(encoding="ascii") == "once\n"


def test_without_a_compiler_there_is_none(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(loading.SWITCH, raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(compiler, "has_zig", lambda: False)
    assert loading.load_library("two") is None
    assert loading.explain_library("two") == "no C compiler was found"
    monkeypatch.setattr(compiler, "has_zig", lambda: True)
    assert compiler.find_compiler() == compiler.ZIG


@pytest.mark.parametrize(("setting", "found"), [("0", "False"), ("1", "True")])
@has_compiler
def test_eight_processes_at_once_and_the_switch(tmp_path: Path, setting: str, found: str) -> None:
    """A compiler that notes its calls is called once."""
    asked, slow = tmp_path / "asked", tmp_path / "cc"
    slow.write_text(f'#!/bin/sh\necho once >> {asked}\nexec cc "$@"\n', encoding="ascii")
    slow.chmod(0o700)
    more = {"GLASSFORMER_CACHE": str(tmp_path), "GLASSFORMER_NATIVE": setting, "CC": str(slow)}
    environment = {**os.environ, **more, "PYTHONPATH": str(SOURCE)}
    every = [
        subprocess.Popen(
            [sys.executable, "-c", ASK], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    assert [each.communicate()[0].strip() for each in every] == [found] * 8
    if setting == "1":
        assert asked.read_text(encoding="ascii") == "once\n"


@has_compiler
def test_only_one_openmp() -> None:
    """Two would each keep threads of their own, that wait for work by spinning."""
    if not Path("/proc/self/maps").is_file() or loading.load_library("train_norm") is None:
        pytest.skip("cannot be seen on this system")
    program = (
        "from pathlib import Path\n"
        "from glassformer.foundation.shared_library.loading import load_library\n"
        "assert load_library('train_attend') and load_library('train_norm')\n"
        "lines = Path('/proc/self/maps').read_text().splitlines()\n"
        "print(len({line.split()[-1] for line in lines if 'libgomp' in line}))"
    )
    command = [sys.executable, "-c", program]  # other libraries of this process have their own
    found = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    assert int(found.stdout) <= 1


def test_a_set_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ISA, "mmx")
    loading._find.cache_clear()
    with pytest.raises(ValueError, match=r"GLASSFORMER_ISA=mmx: .* has one of .*generic"):
        loading.find_library("train_norm")
    loading._find.cache_clear()
