"""README.zh.md says what README.md says: as many headings, the same commands, links and numbers.

A guide in Chinese has the headings, the commands and the tables of the guide in English.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LANGUAGES = ("README.md", "README.zh.md")
GUIDES = sorted(ROOT.glob("docs/*.zh.md"))
COMMAND = re.compile(r"^(?:glassformer|python|make|cd|echo|pip)\s")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def split(text: str) -> tuple[str, list[str]]:
    """The prose, and the blocks of code."""
    parts = re.split(r"^```.*$", text, flags=re.MULTILINE)
    return "\n".join(parts[::2]), parts[1::2]


def list_headings(text: str) -> list[str]:
    return re.findall(r"^#+(?= )", split(text)[0], flags=re.MULTILINE)


def list_commands(text: str) -> list[str]:
    """Every line of code; of a list of files the names alone, for what they hold is translated."""
    lines = [line for block in split(text)[1] for line in block.splitlines()]
    return [re.split(r"(?<=\S) {2,}", line.rstrip())[0] for line in lines]


def list_code(text: str) -> list[str]:
    """What stands in the prose as code, in any order: a translation may move it."""
    return sorted(" ".join(found.split()) for found in re.findall(r"`([^`]+)`", split(text)[0]))


def list_links(text: str) -> list[str]:
    own = {f"({name})" for name in LANGUAGES}  # each may point at the other
    return sorted(link for link in re.findall(r"(?<=\])\([^)]+\)", text) if link not in own)


def list_numbers(text: str) -> list[str]:
    """Chinese counts in 万, of 10,000: 860 of them are 8.6 million."""
    plain = re.sub(r"`[^`]+`|\([^)]*\.\w+\)", "", split(text)[0])
    plain = re.sub(r"(\d+) 万", lambda found: f"{int(found[1]) / 100:g}", plain)
    return sorted(re.findall(r"\d[\d,.]*\d(?: %)?|\d{2,}", plain))


@pytest.mark.parametrize(
    "take", [list_headings, list_commands, list_code, list_links, list_numbers]
)
def test_both_say_the_same(take: object) -> None:
    assert callable(take)
    english, chinese = (take(read(name)) for name in LANGUAGES)
    assert chinese == english


def test_a_line_that_differs_is_seen() -> None:
    text = read("README.md")
    assert len(list_headings(text)) > 4
    assert len(list_commands(text)) > 20
    assert list_commands(text.replace("--beam 8", "--beam 4")) != list_commands(text)
    assert list_headings(text.replace("## Train", "Train")) != list_headings(text)


def list_runnable(text: str) -> list[str]:
    """The commands, of which the Chinese ones may ask for Chinese."""
    commands = list_commands(re.sub(r" *\\\n *", " ", text))
    return [each.replace(" --lang zh", "") for each in commands if COMMAND.match(each)]


def list_cells(text: str) -> list[list[str]]:
    """The numbers in the cells of tables that begin with one and have no word, row by row."""
    rows = [line for line in split(text)[0].splitlines() if line.startswith("|")]
    cells = [" ".join(re.findall(r"\| *(\d[^|A-Za-z\u3400-\u9fff]*)(?=\|)", row)) for row in rows]
    return [re.findall(r"\d+(?:[,.]\d+)*", each) for each in cells]


@pytest.mark.parametrize("take", [list_headings, list_runnable, list_cells])
@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_a_guide_says_the_same(guide: Path, take: object) -> None:
    assert callable(take)
    english = guide.with_name(guide.name.replace(".zh.md", ".md"))
    chinese, original = (path.read_text(encoding="utf-8") for path in (guide, english))
    assert take(chinese) == take(original)
    assert f"]({english.name})" in chinese and f"]({guide.name})" in original


def test_a_number_that_differs_is_seen() -> None:
    text = (ROOT / "docs/attention.zh.md").read_text(encoding="utf-8")
    assert len(list_cells(text)) > 30 and list_runnable(text)
    assert list_cells(text.replace("6,150 | 166", "6,150 | 165")) != list_cells(text)
    assert list_runnable(text.replace("--gated", "")) != list_runnable(text)
