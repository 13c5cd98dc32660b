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


def test_each_chapter_has_the_commands_of_its_pictures() -> None:
    """Once for each recording, above the pictures; and no caption is drowned by a command."""
    text = (GALLERY / "README.md").read_text(encoding="utf-8")
    chapters = [part for part in text.split("\n## ") if "<table>" in part]
    assert len(chapters) > 15
    for chapter in chapters:
        commands, _, table = chapter.partition("<table>")
        block = commands.split("```")[1]
        models = re.findall(r"glassformer see (\S+ .*?) --picture V", block)
        assert models and len(set(models)) == len(models)
        shown = re.findall(r"<b>(V\d+)</b>", table)
        assert sorted(re.findall(r"\bV\d+\b", block)) == sorted(shown)
        assert "glassformer see" not in table
        assert not re.search(r"(?:<td.*?){3}</tr>", table.replace("\n", "")[: table.find("</tr>")])


def test_what_is_told_of_a_picture_is_in_sentences() -> None:
    """Its note and its callouts are not glued together."""
    text = (GALLERY / "README.md").read_text(encoding="utf-8")
    told = re.findall(r'alt="([^"]*)"', text) + re.findall(r"!\[([^]]*)\]", text)
    ended = (".", "!", "?", "…", "。", "！", "？")
    assert len(told) > 100 and all(each.endswith(ended) for each in told if each)
    assert "(index.html)" in text
