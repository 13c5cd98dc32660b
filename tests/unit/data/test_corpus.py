"""What a user types, and the corpus that is meant."""

from __future__ import annotations

import gzip
import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from glassformer.data.corpus import Corpus, find_data

PAIRS = [("a", "b"), ("c", "d"), ("", "e")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.en").write_text("a\nc\n\n", encoding="utf-8")
    (tmp_path / "train.de").write_text("b\nd\ne\n", encoding="utf-8")
    return tmp_path


def test_ways_to_say_the_same(folder: Path) -> None:
    table = folder / "pairs.tsv"
    table.write_text("a\tb\nc\td\n\te\n", encoding="utf-8")
    for data in (
        folder,
        str(folder),
        [folder],
        [folder / "train"],
        [table],
        [folder / "train.en", str(folder / "train.de")],
    ):
        found = find_data(data, "en", "de")
        assert list(found.train) == PAIRS
        assert list(found.train) == PAIRS  # each time anew
        assert found.valid is None


def test_gzipped_sides(folder: Path) -> None:
    raw = (folder / "train.de").read_bytes()
    (folder / "train.de").unlink()
    (folder / "train.de.gz").write_bytes(gzip.compress(raw))
    assert list(find_data(folder, "en", "de").train) == PAIRS


def test_the_name_of_a_language_is_what_comes_after_the_prefix(tmp_path: Path) -> None:
    for side in ("src", "tgt"):
        (tmp_path / f"simple.train.{side}").write_text(side, encoding="utf-8")
    with pytest.raises(ValueError, match=r"got 3 paths \(an option takes one path"):
        find_data([tmp_path / "train.src", tmp_path / "train.tgt", tmp_path / "test.tgt"])
    assert list(find_data([tmp_path / "simple.train"], "src", "tgt").train) == [("src", "tgt")]


def test_two_files_of_a_prefix_want_their_languages_named(folder: Path) -> None:
    with pytest.raises(
        ValueError, match=r"found train.*; --source-lang and --target-lang name two"
    ):
        find_data(folder / "train")
    with pytest.raises(ValueError, match=r"found train[^;]*$"):
        find_data(folder / "train", "en", "fr")


def test_a_prefix_may_be_a_table(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"en": "a", "de": "b"}\n', encoding="utf-8")
    (tmp_path / "dev.tsv.gz").write_bytes(gzip.compress(b"c\td\n"))
    found = find_data(tmp_path, "en", "de")
    assert list(found.train) == [("a", "b")]
    assert list(found.valid or ()) == [("c", "d")]


@pytest.mark.parametrize("name", ["valid", "dev"])
def test_a_folder_may_hold_something_to_validate_on(folder: Path, name: str) -> None:
    (folder / f"{name}.en").write_text("x\n", encoding="utf-8")
    assert find_data(folder, "en", "de").valid is None
    (folder / f"{name}.de").write_text("y\n", encoding="utf-8")
    assert list(find_data(folder, "en", "de").valid or ()) == [("x", "y")]
    assert find_data(folder / "train", "en", "de").valid is None


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\tb\nc\td\n\te\n")))
    found = find_data("-").train
    assert list(found) == PAIRS
    assert list(found) == PAIRS
    assert found.fingerprints()[0].lines == 3


def test_a_part_of_a_corpus(folder: Path) -> None:
    chosen = np.array([True, False, True])
    corpus = Corpus((folder / "train.en", folder / "train.de"), chosen=chosen)
    assert list(corpus) == [PAIRS[0], PAIRS[2]]


def test_what_was_looked_for_is_said(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"train\.en with train\.fr, train\.tsv.*found train\.de"):
        find_data(folder, "en", "fr")
    with pytest.raises(ValueError, match=r"trian\.en with trian\.de.*found none of that name"):
        find_data(folder / "trian", "en", "de")
    with pytest.raises(ValueError, match=r"x: no parallel text there.*found none"):
        find_data(folder / "nowhere" / "x", "en", "de")
    with pytest.raises(ValueError, match=r"train\.LANGUAGE"):
        find_data(folder)
    with pytest.raises(ValueError, match=r"trein\.de: no such file; did you mean train\.de\?"):
        find_data([folder / "train.en", folder / "trein.de"])
    with pytest.raises(ValueError, match=r"pairs\.tsv: no such file$"):
        find_data(folder / "pairs.tsv")
    with pytest.raises(ValueError, match=r"is no regular file; text is read more than once"):
        find_data([folder / "train.en", folder])


def test_paths_that_mean_nothing(folder: Path) -> None:
    path = folder / "train.en"
    for data in ([], [path, path, path]):
        with pytest.raises(ValueError, match=f"got {len(data)} paths"):
            find_data(data)
    with pytest.raises(ValueError, match=r"train\.en is one side only"):
        find_data(path, "en", "de")
    with pytest.raises(ValueError, match="cannot be both"):
        find_data([path, folder / "." / "train.en"])
    with pytest.raises(ValueError, match="cannot be both"):
        find_data(folder, "en", "en")


@pytest.mark.parametrize(("more", "less"), [("en", "de"), ("de", "en")])
def test_unequal_files(folder: Path, more: str, less: str) -> None:
    with (folder / f"train.{more}").open("a", encoding="utf-8") as file:
        file.write("one\ntwo\n")
    corpus = find_data(folder, "en", "de").train
    counts = {more: 5, less: 3}
    error = rf"train\.en has {counts['en']} lines but .*train\.de has {counts['de']}:"
    with pytest.raises(ValueError, match=error):
        corpus.fingerprints()
    with pytest.raises(ValueError, match=error):
        list(corpus)


def test_an_empty_file(folder: Path) -> None:
    (folder / "train.de").write_bytes(b"")
    with pytest.raises(ValueError, match=r"train\.de: the file is empty"):
        find_data(folder, "en", "de").train.fingerprints()


def test_real_files(data: Path) -> None:
    found = find_data(os.path.join(data, "multi30k"), "en", "de")
    assert [each.lines for each in found.train.fingerprints()] == [29_000, 29_000]
    assert found.valid is not None
    assert sum(1 for _ in found.valid) == 1014
    jump = find_data(data / "scan" / "addprim_jump.train", "src", "tgt").train
    assert next(iter(jump)) == ("jump", "I_JUMP")


def test_a_table_by_another_name(tmp_path: Path) -> None:
    """As manythings.org has them."""
    path = tmp_path / "deu.txt"
    path.write_text("a\tb\tCC-BY\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"deu\.txt has tabs: name it deu\.tsv"):
        find_data(path, "en", "de")


@pytest.mark.parametrize("name", ["km.po", "a.xliff", "b.po.gz", "a.strings"])
def test_a_catalogue_of_messages_is_no_text(tmp_path: Path, name: str) -> None:
    paths = [tmp_path / name, tmp_path / f"other-{name}"]
    for path in paths:
        path.write_text('msgid "Add"\nmsgstr "Ajouter"\n', encoding="utf-8")
    for data in (paths, paths[:1], str(paths[0])):
        with pytest.raises(ValueError, match=r"is a catalogue of messages: .* into a \.tsv"):
            find_data(data)
