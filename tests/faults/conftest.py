"""A training of a second, processes to kill it in, and the ledger that docs/reliability.md is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from damage.ledger import FAILED, PASSED, ROOT, Ledger, Parts, write_page
from damage.processes import Zygote
from damage.trainings import Trainings

LEDGER = pytest.StashKey[Ledger]()
PARTS = pytest.StashKey[Parts]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reliability", metavar="FILE", help="write what came of it all to FILE")
    parser.addoption(
        "--parts",
        metavar="FOLDER",
        default=str(ROOT / "build/reliability"),
        help="with --reliability: keep what each test has counted here, and pass over those that "
        "have passed already (build/reliability)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--reliability", default=None):
        config.stash[PARTS] = Parts(Path(config.getoption("--parts")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if PARTS in config.stash:
        done = [each for each in items if config.stash[PARTS].is_done(each.nodeid)]
        config.hook.pytest_deselected(items=done)
        items[:] = [each for each in items if each not in done]


@pytest.fixture
def ledger(request: pytest.FixtureRequest) -> Ledger:
    made = Ledger()
    request.node.stash[LEDGER] = made
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[pytest.TestReport | None]:
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if PARTS in item.config.stash and (report.failed or (call.when == "call" and report.passed)):
        notes = item.stash[LEDGER].notes if LEDGER in item.stash else []
        place = (Path(item.location[0]).name, item.location[1] or 0)
        outcome = FAILED if report.failed else PASSED
        told = {"notes": notes, "seconds": report.duration}
        item.config.stash[PARTS].write(item.nodeid, place, outcome, **told)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if PARTS in session.config.stash:
        page = Path(session.config.getoption("--reliability"))
        write_page(page, session.config.stash[PARTS].render())


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
