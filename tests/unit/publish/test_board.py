"""A board of models, from their cards."""

from __future__ import annotations

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.extensions.publish.looks import LOOKS
from glassformer.model.files.directory import SHIPPED
from glassformer.train.publish.card import read_facts, write_card

NAME = "<img src=x onerror=alert(1)>|`x`"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with three models: one deeper, one with a hostile name."""
    shutil.copytree(SHIPPED / "demo", tmp_path / "models" / "deep" / "er")
    shutil.copytree(SHIPPED / "demo-fr-en", tmp_path / "models" / "other")
    shutil.copytree(SHIPPED / "demo", tmp_path / "models" / NAME)
    best = tmp_path / "models" / NAME
    write_card(best, {**read_facts(best), "test": {"BLEU": 99.25}})
    deep = tmp_path / "models" / "deep" / "er"
    write_card(deep, {**read_facts(deep), "scores": {"BLEU": 50.5}})
    (best / LOOKS).write_text('{"a": 4}', encoding="utf-8")
    (tmp_path / "models" / "empty").mkdir()
    return tmp_path / "models"


def test_models_are_listed_by_languages_and_score(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["board", str(folder), "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)["models"]
    assert [row["name"] for row in rows] == [NAME, "deep/er", "other"]
    assert [row["languages"] for row in rows] == [["en → fr"], ["en → fr"], ["fr → en"]]
    assert rows[0]["test"] == {"BLEU": 99.25} and rows[0]["looks"] == 4
    assert rows[1]["validation"] == {"BLEU": 50.5} and rows[2]["test"] == {}
    assert main(["board", str(folder)]) == 0
    table = capfd.readouterr().out.splitlines()
    assert len(table) == 5 and "\\<img" in table[2] and "BLEU 99.2" in table[2]


def test_bleu_of_characters_is_called_so(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    deep = folder / "deep" / "er"
    write_card(deep, {**read_facts(deep), "language": ("en", "my"), "pairs": ["en-my"]})
    assert main(["board", str(folder)]) == 0
    rows = [
        line for line in capfd.readouterr().out.splitlines() if "BLEU of characters 50.5" in line
    ]
    assert len(rows) == 1 and "deep/er" in rows[0]


def test_a_page_shows_names_as_text(folder: Path) -> None:
    page = folder / "board.html"
    assert main(["board", str(folder), "-o", str(page)]) == 0
    tags = list[str]()
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(page.read_text(encoding="utf-8"))
    assert tags.count("tr") == 4 and "img" not in tags and "script" not in tags


def test_a_damaged_card_is_left_out_and_said(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "other" / "card.md").write_text("---\nscores: {\n---\n", encoding="utf-8")
    assert main(["board", str(folder)]) == 0
    said = capfd.readouterr().out
    assert "left out: " in said and "other" in said


def test_no_models_are_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["board", str(tmp_path)]) == 2 and main(["board", str(tmp_path / "no")]) == 2
    assert "no model" in capfd.readouterr().err


def test_the_only_card_may_be_missing(
    tmp_path: Path, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder / "other", tmp_path / "own" / "other")
    (tmp_path / "own" / "other" / "card.md").unlink()
    assert main(["board", str(tmp_path / "own")]) == 2
    assert "no model with a card in it; left out: " in capfd.readouterr().err
