"""What the tests of the app share: where things are, a server to ask, and axe."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import pytest

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "glassformer" / "extensions" / "serve" / "static"
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
TOKEN = "t"
SENTENCE = "The animal did not cross the street because it was too tired."

# Chromium must ask nobody: neither its maker nor a display.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
]


def find_chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Server:
    """A `glassformer serve` of its own."""

    def __init__(self, address: str):
        self.address = address

    def wait(self, seconds: float = 30) -> Server:
        """Until it answers: it tells its address before it listens."""
        end = time.monotonic() + seconds
        while True:
            try:
                self.ask("models")
                return self
            except URLError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def url(self, view: str = "translate", **state: Any) -> str:
        return f"{self.address}/?token={TOKEN}#/{view}?{urlencode({'language': 'en', **state})}"

    def ask(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        with urlopen(Request(f"{self.address}/api/{path}", data, headers), timeout=60) as answer:
            return json.load(answer)

    def explain(self, trace: str, name: str, index: list[int]) -> Any:
        query = urlencode({"name": name, "index": ",".join(map(str, index))})
        return self.ask(f"traces/{quote(trace)}/explain?{query}")


def wait_until(page: Any, condition: str, arg: Any = None, seconds: float = 15) -> None:
    """Playwright's own wait compiles the condition in the page, which its policy forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition, arg):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


def empty_cache(page: Any) -> None:
    """Forget what other windows have fetched."""
    page.context.new_cdp_session(page).send("Network.clearBrowserCache")


def find_faults(page: Any) -> list[str]:
    """What axe finds serious."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: npm ci in web/")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:160]} {each['nodes'][0]['failureSummary'][:240]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
