"""The page in Firefox, from disk: a thread is cut, heads are named, a network learns."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

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


def test_page_in_firefox(firefox: str, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    page = tmp_path / "class.html"
    SavedPage(build_living_page(["demo"])).save(page)
    done = subprocess.run(
        [node, SOCKET, str(DRIVER), firefox, page.as_uri(), str(tmp_path / "firefox.png")],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout)
    assert seen["threads"] > 10
    assert seen["cut"].startswith("1 cut")
    assert (seen["wide"], seen["high"]) == (1440, 900), "no scroll bar"
    assert float(seen["loss"]) < 1
    assert seen["said"] == [], "the console is silent"
