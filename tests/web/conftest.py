"""The app in a real browser, before a real server with the demo model."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from opening import ARGUMENTS, ROOT, SENTENCE, STATIC, TOKEN, Server, find_chromium


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a browser, or the app, all of these skip."""
    reason = _find_reason_to_skip()
    for item in items:
        if reason and Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.skip(reason=reason))


def _find_reason_to_skip() -> str | None:
    if find_chromium() is None:
        return "Chromium is not installed (Debian: apt install chromium)"
    if not (STATIC / "page.js").is_file():
        return "the app is not built: make web"
    for module in ("playwright", "fastapi", "uvicorn"):
        try:
            __import__(module)
        except ImportError:
            return f"{module} is not installed"
    return None


@pytest.fixture(scope="session")
def serve() -> Callable[..., AbstractContextManager[Server]]:
    """Runs a server of the shipped model, with these further arguments."""

    @contextmanager
    def run(*more: str) -> Iterator[Server]:
        command = [sys.executable, "-m", "glassformer", "serve", "demo", "--port", "0"]
        env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
        with subprocess.Popen(
            [*command, "--token", TOKEN, *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=env,
        ) as process:
            assert process.stdout
            try:
                found = None
                while found is None and (line := process.stdout.readline()):
                    found = re.search(r"http://127\.0\.0\.1:\d+", line)
                assert found, "the server did not start"
                yield Server(found[0]).wait()
            finally:
                process.terminate()
                process.communicate(timeout=20)

    return run


@pytest.fixture(scope="session")
def server(serve: Callable[..., AbstractContextManager[Server]]) -> Iterator[Server]:
    with serve() as running:
        yield running


@pytest.fixture
def recording(server: Server) -> str:
    """The id of a recording that the app can be shown; an older one might have left."""
    found: str = server.ask("trace", {"text": SENTENCE})["id"]
    return found


@pytest.fixture(scope="session")
def browser(browsers: Any) -> Iterator[Any]:
    running = browsers.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
    yield running
    running.close()


# A window's first page of a server finds nothing that another window has left there.
FORGET = """try {
    if (!sessionStorage.getItem("begun")) localStorage.clear();
    sessionStorage.setItem("begun", "yes");
} catch {}"""


@pytest.fixture(scope="session")
def context(browser: Any) -> Iterator[Any]:
    """What all windows share: above all a cache, so that the app is read and compiled once."""
    made = browser.new_context(
        viewport={"width": 1440, "height": 900}, locale="en", reduced_motion="reduce"
    )
    made.grant_permissions(["clipboard-read", "clipboard-write"])
    made.add_init_script(FORGET)
    yield made
    made.close()


@pytest.fixture
def page(context: Any) -> Iterator[Any]:
    """A fresh window; whatever it complains of fails the test."""
    window = context.new_page()
    window.set_default_timeout(15_000)
    complaints: list[str] = []
    window.on("pageerror", lambda error: complaints.append(str(error)))
    window.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    window.on("dialog", lambda dialog: complaints.append(f"a dialog: {dialog.message}"))
    yield window
    window.close()
    context.set_offline(False)
    assert not complaints
