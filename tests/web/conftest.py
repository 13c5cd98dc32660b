"""The app in a real browser, before a real server with the demo model."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opening import ROOT, SENTENCE, STATIC, TOKEN, Server

# Chromium must ask nobody: neither its maker nor a display.
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a browser, or the app, all of these skip."""
    reason = _find_reason_to_skip()
    for item in items:
        if reason and Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.skip(reason=reason))


def _find_reason_to_skip() -> str | None:
    if _find_chromium() is None:
        return "Chromium is not installed (Debian: apt install chromium)"
    if not (STATIC / "page.js").is_file():
        return "the app is not built: make web"
    for module in ("playwright", "fastapi", "uvicorn"):
        try:
            __import__(module)
        except ImportError:
            return f"{module} is not installed"
    return None


def _find_chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    command = [
        sys.executable,
        "-m",
        "glassformer",
        "serve",
        "demo",
        "--port",
        "0",
        "--token",
        TOKEN,
    ]
    env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=env
    ) as run:
        assert run.stdout
        try:
            found = None
            while found is None and (line := run.stdout.readline()):
                found = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert found, "the server did not start"
            yield Server(found[0]).wait()
        finally:
            run.terminate()
            run.communicate(timeout=20)


@pytest.fixture(scope="session")
def recording(server: Server) -> str:
    """The id of a recording that the app can be shown."""
    found: str = server.ask("trace", {"text": SENTENCE})["id"]
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=_find_chromium(), args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A fresh window; whatever it complains of fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
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
    context.close()
    assert not complaints
