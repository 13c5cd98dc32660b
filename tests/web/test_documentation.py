"""The pages of the documentation in a real browser: what is not seen at first comes late."""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from opening import ROOT, find_faults, wait_until
from test_site import Quiet

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not find_spec("material"), reason="MkDocs is not installed: make site"),
]
COUNT = "(each) => document.querySelectorAll(each).length"
FOUND, COPY = ".md-search-result__item", ".md-code__button"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documentation")
    words = [sys.executable, "-m", "tools.documentation", "-o", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True)
    return folder


@pytest.mark.parametrize(("folder", "word"), [(".", "label smoothing"), ("zh", "训练")])
def test_the_search_comes_when_it_is_wanted(page: Any, pages: Path, folder: str, word: str) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(Path(request.url).name))
    page.goto((pages / folder / "index.html").as_uri())
    page.wait_for_timeout(500)
    assert not [each for each in loaded if "search" in each or "bundle" in each]
    page.locator(".md-search__input").click()
    page.keyboard.type(word)
    wait_until(page, COUNT, FOUND, seconds=60)
    assert page.evaluate(COUNT, COPY) >= 4


def test_a_link_to_a_heading_leads_there_and_colours_are_those_of_the_system(
    page: Any, pages: Path
) -> None:
    page.emulate_media(color_scheme="dark")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(pages))) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{host.server_port}/experiments.html#webassembly-in-a-page"
        page.goto(address)
        wait_until(page, COUNT, ".md-nav__link--active[href='#webassembly-in-a-page']", seconds=60)
        assert 0 <= page.locator("#webassembly-in-a-page").bounding_box()["y"] < 200
        assert page.evaluate("() => document.body.dataset.mdColorScheme") == "slate"
        assert find_faults(page) == []
        host.shutdown()
