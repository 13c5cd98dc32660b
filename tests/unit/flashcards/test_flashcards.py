"""The command `flashcards`: what it writes, programs for flashcards read."""

from __future__ import annotations

import csv
import re
from html import unescape
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.extensions.flashcards.deck import list_flashcards

HAN = re.compile(r"[\u3400-\u9fff]")


def read_as_anki(path: Path) -> tuple[dict[str, str], list[list[str]]]:
    """Return the settings and the rows of a text file, by the rules of Anki's manual."""
    lines = path.read_text(encoding="utf-8").splitlines()
    head = [line[1:].partition(":") for line in lines if line.startswith("#")]
    separator = {"tab": "\t"}[next(value for key, _, value in head if key == "separator")]
    rows = csv.reader((line for line in lines if not line.startswith("#")), delimiter=separator)
    return {key: value for key, _, value in head}, list(rows)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_file_has_each_card_once(lang: str, tmp_path: Path) -> None:
    path = tmp_path / "cards.txt"
    assert main(["flashcards", "-o", str(path), "--lang", lang]) == 0
    settings, rows = read_as_anki(path)
    cards = list(list_flashcards(lang))
    columns = settings["columns"].split("\t")
    guid, tags = (int(settings[key]) - 1 for key in ("guid column", "tags column"))
    assert len(rows) == 95 and {len(row) for row in rows} == {len(columns)}
    assert len({row[guid] for row in rows}) == 95, "else Anki takes two for one"
    front, back = columns.index("Front"), columns.index("Back")
    assert [(row[front], row[back]) for row in rows] == [(c.question, c.answer) for c in cards]
    assert all(re.fullmatch(r"glassformer::V\d+", row[tags]) for row in rows)
    assert all(bool(HAN.search(row[front])) == (lang == "zh") for row in rows)


def test_anki_itself_reads_the_file(tmp_path: Path) -> None:
    collection = pytest.importorskip("anki.collection", reason="needs pip install anki")
    messages = pytest.importorskip("anki.import_export_pb2")
    path = tmp_path / "cards.txt"
    assert main(["flashcards", "-o", str(path)]) == 0
    anki = collection.Collection(str(tmp_path / "collection.anki2"))
    for again in (False, True):
        metadata = anki.get_csv_metadata(path=str(path), delimiter=None)
        done = anki.import_csv(messages.ImportCsvRequest(path=str(path), metadata=metadata))
        assert len(done.log.new) == (0 if again else 95)
    assert anki.card_count() == 95
    notes = [anki.get_note(each) for each in anki.find_notes("deck:glassformer tag:glassformer::*")]
    assert {tuple(map(unescape, note.fields)) for note in notes} == {
        (each.question, each.answer) for each in list_flashcards("en")
    }
    anki.close()


def test_logseq_gets_an_outline(tmp_path: Path) -> None:
    path = tmp_path / "cards.md"
    assert main(["flashcards", "-o", str(path), "--lang", "zh"]) == 0
    lines = path.read_text(encoding="utf-8").splitlines()
    assert all(line.startswith("- ") and line.endswith(" #card") for line in lines[::2])
    assert [line.removeprefix("\t- ") for line in lines[1::2]] == [
        each.answer for each in list_flashcards("zh")
    ]


@pytest.mark.parametrize(
    ("words", "said"), [(["cards.apkg"], ".txt for Anki"), (["x.txt", "--lang", "fr"], "lang=fr")]
)
def test_what_is_refused(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["flashcards", "-o", *words]) == 2
    assert said in capfd.readouterr().err and not list(tmp_path.iterdir())
