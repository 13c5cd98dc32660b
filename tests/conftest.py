"""What every test may use."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from glassformer.foundation.disk import find_cache
from glassformer.foundation.machine.device import count_cores
from glassformer.foundation.machine.openmp import wait_briefly

# Read by torch when it is first imported: as many threads as the smallest machine has cores.
GIVEN = os.environ.get("OMP_NUM_THREADS")
os.environ.setdefault("OMP_NUM_THREADS", "2")

# Where there is a GPU, all but its own tests compare what a processor computes.
os.environ.setdefault("GLASSFORMER_DEVICE", "cpu")

# Tests start some hundred processes, each of which would compile all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

wait_briefly()  # as in `import glassformer`; here because torch must not come before it


def copy_libraries(built: Path, folder: Path) -> None:
    """Copy the latest build of each library in C; those of other sources have other names."""
    latest = {}
    for seal in sorted(built.glob("*.sha256"), key=lambda path: path.stat().st_mtime):
        latest[seal.stem.rpartition("-")[0]] = seal.stem
    folder.mkdir(mode=0o700)
    for stem in latest.values():
        for path in built.glob(f"{stem}.*"):
            shutil.copy2(path, folder)


# What is measured once a machine is measured anew, and the user's own cache is left alone. What was
# compiled for it, as by `make install`, is not compiled again.
CACHE = tempfile.mkdtemp(prefix="glassformer-")
if "GLASSFORMER_CACHE" not in os.environ:
    with suppress(OSError, RuntimeError):  # no home, or a file that just goes
        copy_libraries(find_cache() / "native", Path(CACHE) / "native")
    os.environ["GLASSFORMER_CACHE"] = CACHE

# A busy machine is no reason to fail.
hypothesis.settings.register_profile("glassformer", deadline=None)
hypothesis.settings.load_profile("glassformer")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Start one test process more than there are cores: a quarter of the time, tests wait."""
    return count_cores() + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Let each of several test processes, which inherit it, compute with one thread."""
    os.environ["OMP_NUM_THREADS"] = GIVEN or "1"


def pytest_configure() -> None:
    """Do not wait for the disk, as a training does a hundred times: no power fails in a test.

    Processes that tests start do wait, and `tests/faults` counts the calls.
    """
    os.fsync = lambda fd: None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slowest, in a browser: at the end, other processes could take none of them."""
    items.sort(key=lambda item: "web" not in item.path.parts)


def pytest_collection_finish() -> None:
    """Leave all modules and tests out of garbage collection: each pass would take 0.2 s or more."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Leave out, too, what the tests of a file have imported."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_unconfigure() -> None:
    shutil.rmtree(CACHE, ignore_errors=True)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real parallel text, which is no part of the project."""
    folder = os.environ.get("GLASSFORMER_DATA")
    if not folder:
        pytest.skip("GLASSFORMER_DATA is not set: it names the folder of real parallel text")
    if not Path(folder).is_dir():
        pytest.fail(f"GLASSFORMER_DATA={folder} is not a folder")
    return Path(folder)


@pytest.fixture(scope="session")
def browsers() -> Iterator[Any]:
    """Yield the browsers that Playwright drives: it can be started only once in a process."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        yield started


@pytest.fixture(autouse=True)
def _own_event_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hide the event loop of Playwright, which runs until its process ends, from other tests."""
    loop = asyncio._get_running_loop()
    if loop is None or "browsers" in request.fixturenames:
        yield
        return
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(loop)
