"""Which tests are nearest to a source: by name, by what they import, by folder."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "glassformer"
KERNELS, ENGINE = SOURCES / "engine" / "kernels" / "native", SOURCES / "engine" / "native"
NATIVE = (KERNELS, ENGINE)  # the folders of C
# The folders whose tests take seconds and run everywhere.
FOLDERS = ("unit", "paper", "notes", "equal", "faults")
SLOW = {"faults/test_kills.py", "faults/test_disks.py", "faults/test_coverage.py"}
# Where neither name nor import tells: what a test asks in a roundabout way.
FURTHER = {
    "train/run/loop.py": [
        "equal/test_resume.py",
        "faults/test_memory.py",
        "faults/test_numbers.py",
    ],
    "train/run/checkpoint.py": ["equal/test_resume.py"],
    "train/run/selection.py": ["unit/train/test_early_stopping.py"],
    "train/run/resuming.py": ["equal/test_resume.py"],
    "train/run/micro_batching.py": ["faults/test_memory.py"],
    "extensions/alignment/aligner.py": ["unit/alignment/test_align.py"],
    "extensions/foreign_tokenizers/unigram.py": ["equal/test_marian.py"],
    "engine/kernels/attend.py": ["unit/kernels/test_attend.py"],
    "extensions/serve/limits.py": ["unit/serve/test_api.py"],
    "extensions/documents/paragraphs.py": ["unit/documents/test_office.py"],
    "extensions/documents/placing.py": ["unit/documents/test_markup.py"],
    "model/kv_cache.py": ["equal/test_stepwise.py"],
    "extensions/documents/packed.py": ["unit/documents/test_office.py", "faults/test_documents.py"],
    "extensions/serve/counting.py": ["unit/serve/test_quotas.py"],
    "text/symbols.py": ["unit/enclosures/test_enclosures.py"],
    "extensions/documents/page_reader.py": ["unit/documents/test_pages_apart.py"],
    "extensions/serve/content_type.py": ["unit/serve/test_libre.py"],
    "extensions/serve/api_error.py": ["unit/serve/test_api.py"],
    "extensions/serve/api/auth.py": ["unit/serve/test_auth.py", "unit/serve/test_origins.py"],
}
END_TO_END = ["unit/serve/test_libre.py", "unit/serve/test_api.py"]
LAST = "unit/test_translator.py"  # of what no test names, imports or stands beside
# The twins of the engine: the same search and network in PyTorch, or in a plain loop.
TWINS = [
    "unit/engine/test_native_search.py",
    "unit/engine/test_native_network.py",
    "unit/engine/test_native_engine.py",
    "equal/test_native.py",
    "unit/engine/test_shortlist.py",
]


def find_nearest(path: str) -> list[str]:
    """Return the tests of a source, `decode/beam.py`, the nearest first."""
    source = SOURCES / path
    if source.is_relative_to(ENGINE):
        return TWINS
    if source.suffix in (".c", ".h"):
        callers = [find_nearest(module) for module in _list_callers(source.name)]
        turns = zip_longest(*callers)  # the nearest of each caller first
        return list(dict.fromkeys(test for tests in turns for test in tests if test))
    module, beside = _name_module(source), _list_beside(Path(path).parent)
    ranks = {}
    for test in _list_tests():
        imported = _list_imports(ROOT / "tests" / test)
        folder, name = test.rsplit("/", 1)
        is_named = name == f"test_{source.stem}.py"
        is_beside = folder in beside
        is_direct = module in imported
        is_indirect = any(module in _list_imports(f) for f in map(_find_file, imported) if f)
        if is_named and (is_beside or is_direct):
            rank = 0
        elif test in (*FURTHER.get(path, ()), *list_end_to_end(path)) or (is_beside and is_direct):
            rank = 1
        elif is_direct:
            rank = 2
        elif is_indirect:
            rank = 3 if is_beside else 5
        elif is_beside:
            rank = 4
        else:
            continue
        ranks[test] = (rank, len(imported))
    return sorted(ranks, key=lambda test: (ranks[test], test)) or [LAST]


def list_end_to_end(path: str) -> list[str]:
    """Return the tests that send requests of all kinds to a whole server, for any part of it."""
    return END_TO_END if path.startswith("extensions/serve/") else []


def _list_beside(folder: Path) -> list[str]:
    """Return the folders whose tests are of a folder of sources, which may be an extension's."""
    inner = folder.relative_to("extensions") if "extensions" in folder.parts else folder
    outer = Path(*inner.parts[:1])
    return [str(Path("unit") / each).rstrip("/.") for each in (folder, inner, outer)]


@cache
def _list_tests() -> list[str]:
    root = ROOT / "tests"
    found = (path.relative_to(root).as_posix() for path in root.rglob("test_*.py"))
    return sorted(test for test in found if test.startswith(FOLDERS) and test not in SLOW)


def _list_callers(name: str) -> Iterator[str]:
    """Yield the modules that load a C source, or a source that includes this header."""
    for path in sorted((SOURCES / "engine" / "kernels").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for library in re.findall(r"\b(?:load_library|open_kernels)\(\s*\"(\w+)\"", text):
            if name in _list_included(f"{library}.c"):
                yield f"engine/kernels/{path.name}"


@cache
def _list_included(name: str) -> set[str]:
    """Return a C source, or a header, and all that it includes."""
    path = next(folder / name for folder in NATIVE if (folder / name).is_file())
    text = path.read_text(encoding="utf-8")
    inner = re.findall(r"#include \"(\w+\.h)\"", text)
    return {name}.union(*map(_list_included, inner))


def list_units(source: Path) -> list[Path]:
    """Return the C sources of the same folder that are made of a source or header."""
    beside = sorted(source.parent.glob("*.c"))
    return [path for path in beside if source.name in _list_included(path.name)]


def _name_module(path: Path) -> str:
    parts = path.relative_to(SOURCES.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _find_file(module: str) -> Path | None:
    path = SOURCES.parent.joinpath(*module.split("."))
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)


@cache
def _list_imports(path: Path) -> frozenset[str]:
    """Return the modules of ours that a file imports; a name from a package is where it is made."""
    is_ours = path.is_relative_to(SOURCES.parent)
    package = _name_module(path).split(".") if is_ours else []
    if is_ours and path.name != "__init__.py":
        package.pop()
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*start, *filter(None, [node.module])])
            found |= {_resolve(base, each.name) for each in node.names}
    return frozenset(each for each in found if each.startswith("glassformer"))


@cache
def _resolve(base: str, name: str) -> str:
    """Return the module that `from base import name` is about."""
    if not base.startswith("glassformer") or _find_file(f"{base}.{name}"):
        return f"{base}.{name}"
    home = _find_file(base)
    if home is not None and home.name == "__init__.py":
        for node in ast.walk(ast.parse(home.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.ImportFrom) and node.level == 1 and node.module):
                continue
            if name in {each.asname or each.name for each in node.names}:
                return f"{base}.{node.module}"
    return base
