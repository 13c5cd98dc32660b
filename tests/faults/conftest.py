"""A training of a second, processes to kill it in, and the ledger that docs/reliability.md is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from damage.ledger import Ledger
from damage.processes import Zygote
from damage.trainings import Trainings

BEGAN = time.monotonic()
LEDGER = Ledger()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reliability", metavar="FILE", help="write what came of it all to FILE")


@pytest.fixture(scope="session")
def ledger() -> Ledger:
    return LEDGER


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    path = session.config.getoption("--reliability", default=None)
    if path and not session.testsfailed:  # stopped by Ctrl-C, it says what was done by then
        versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "safetensors"))
        LEDGER.write(Path(path), time.monotonic() - BEGAN, versions)


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    if not hasattr(os, "fork"):
        pytest.skip("processes are forked here, and killed by POSIX signals")
    made = Zygote(tmp_path_factory.mktemp("logs"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def trainings(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Trainings:
    return Trainings(zygote, tmp_path_factory.mktemp("trainings"))


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[str], Path]:
    """A folder that is not there yet."""
    return lambda name: tmp_path / name
