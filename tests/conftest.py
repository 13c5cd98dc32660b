"""What every test may use."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from glassformer.machine.openmp import wait_briefly

# Read by torch when it is first imported: as many threads as the smallest machine has cores.
GIVEN = os.environ.get("OMP_NUM_THREADS")
os.environ.setdefault("OMP_NUM_THREADS", "2")

wait_briefly()  # as in `import glassformer`; here because torch must not come before it

# What is measured once a machine is measured anew, and the user's own cache is left alone.
CACHE = tempfile.mkdtemp(prefix="glassformer-")
os.environ.setdefault("GLASSFORMER_CACHE", CACHE)

# A busy machine is no reason to fail.
hypothesis.settings.register_profile("glassformer", deadline=None)
hypothesis.settings.load_profile("glassformer")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Let each of several test processes, which inherit it, compute with one thread."""
    os.environ["OMP_NUM_THREADS"] = GIVEN or "1"


def pytest_collection_finish() -> None:
    """Leave all modules and tests out of garbage collection: each pass would take 0.2 s or more."""
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
