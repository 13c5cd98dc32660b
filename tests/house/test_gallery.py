"""The stored gallery: its pages show every picture that is there, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
OTHERS = {"README.md", "index.html", "readme.png"}  # the last is what the README of all shows


@pytest.mark.parametrize("page", ["README.md", "index.html"])
def test_a_page_links_the_files_that_are_there(page: str) -> None:
    text = (GALLERY / page).read_text(encoding="utf-8")
    linked = set(re.findall(r"[\w-]+(?:/[\w-]+)?\.(?:png|gif|mp4)\b", text))
    files = {path.relative_to(GALLERY).as_posix() for path in GALLERY.rglob("*") if path.is_file()}
    assert linked == files - OTHERS
