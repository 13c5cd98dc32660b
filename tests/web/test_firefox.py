"""The page in Firefox, from disk: a thread is cut, heads are named, a network learns."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from glassformer.extensions.serve.page import SavedPage
from glassformer.extensions.site.living import build_living_page

DRIVER = Path(__file__).with_name("firefox.mjs")
SOCKET = "--experimental-websocket"  # in Node 22 it is there without this


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[str]:
    """The address at which a Firefox of its own listens for WebDriver BiDi."""
    found = shutil.which("firefox-esr") or shutil.which("firefox")
    if found is None:
        pytest.skip("Firefox is not installed (Debian: apt install firefox-esr)")
    profile = tmp_path / "profile"
    profile.mkdir()
    command = [found, "--headless", "--no-remote", "--profile", str(profile)]
    with subprocess.Popen(
        [*command, "--remote-debugging-port=0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        try:
            for line in process.stderr:
                if told := re.search(r"BiDi listening on (ws://\S+)", line):
                    yield told[1]
                    return
            pytest.fail("Firefox ended before it listened")
        finally:
            process.terminate()
            process.communicate(timeout=30)


def drive(address: str, steps: Sequence[Sequence[object]], width: int, height: int) -> Any:
    """Return what a page shows in Firefox after these steps."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    done = subprocess.run(
        [node, SOCKET, str(DRIVER), address],
        input=json.dumps({"width": width, "height": height, "steps": steps}),
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_page_in_firefox(width: int, height: int, firefox: str, tmp_path: Path) -> None:
    page = tmp_path / "class.html"
    SavedPage(build_living_page(["demo"])).save(page)
    threads = "document.querySelectorAll('[data-thread]').length"
    text = "The animal didn't cross the street because it was too wide."
    steps = [
        ["open", f"{page.as_uri()}#/first?{urlencode({'language': 'en', 'text': text})}"],
        ["until", f"document.title.includes('trop large') && {threads} > 10"],
        ["see", "wide", "document.documentElement.scrollWidth"],
        ["see", "threads", threads],
        ["picture", str(tmp_path / "firefox.png")],
        ["click", "[data-scissors='10']"],
        ["until", "document.title.includes('il était')"],
        ["see", "cut", "document.querySelector('[data-counter]').textContent"],
        ["do", "location.hash = '#/heads?language=en'"],
        ["until", "document.querySelector('[data-guess]')"],
        ["click", "[data-guess='0']"],
        ["until", "document.querySelector('[data-portrait]')"],
        ["do", "location.hash = '#/teach?language=en&teach.updates=75'"],
        ["until", "document.querySelector('[data-train]')"],
        ["click", "[data-train]"],
        ["until", "document.querySelector('[data-done]')"],
        ["see", "loss", "document.querySelector('[data-loss]').textContent"],
    ]
    seen = drive(firefox, steps, width, height)
    assert seen["threads"] > 10
    assert seen["cut"].startswith("1 cut")
    is_phone = width < height  # there, the page may be longer than the screen
    assert seen["wide"] <= width if is_phone else seen["wide"] == width
    assert float(seen["loss"]) < 1
    assert seen["said"] == [], "the console is silent"
