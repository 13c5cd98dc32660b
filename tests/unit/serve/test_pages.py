"""The web app's files, wherever the package lies."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.extensions.serve.api import pages


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_an_installation_behind_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there" / "assets").mkdir(parents=True)
    for name in ("index.html", "assets/index-1a2b.js", "icon.svg"):
        (tmp_path / "there" / name).write_text("x", encoding="utf-8")
    (tmp_path / "here").symlink_to("there")
    monkeypatch.setattr(pages, "STATIC", tmp_path / "here")
    scope = {"type": "http", "method": "GET", "headers": []}
    wanted = {
        "index.html": "no-cache",
        "assets/index-1a2b.js": "immutable",
        "icon.svg": "max-age=86400",  # asked for whenever the address changes
    }
    for name, kept in wanted.items():
        found = asyncio.run(pages.Files([]).get_response(name, scope))
        assert found.status_code == 200 and kept in found.headers["cache-control"]
