"""Access keys of menus: no part of a word, and there again in the translation."""

from __future__ import annotations

import pytest

from glassformer.extensions.documents.access_keys import AccessKeys, put_key
from glassformer.extensions.documents.formats import open_document

XLIFF = "urn:oasis:names:tc:xliff:document:1.2"
LABELS = ["_Open", "&Open"]


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        *(("_Cancel", "Cancel"), ("Scr_eenshots", "Screenshots"), ("CD _Audio", "CD Audio")),
        *(("&Save as...", "Save as..."), ("E&xit", "Exit"), ("打开(_O)...", "打开...")),
        ("_Open %(file_name)s", "Open %(file_name)s"),
    ],
)
def test_an_access_key_is_taken_out(text: str, bare: str) -> None:
    assert AccessKeys(LABELS).hide(text, print)[0] == bare


@pytest.mark.parametrize(
    "text",
    [
        *("file_name", "MAX_SIZE", "_file_name", "__init__", "%s_name", "_1", "a _b and _c"),
        *("AT&T", "R&D", "A & B", "&amp;", "&apt-get; x", "https://a.org/?b=1&c=2", "A && B"),
        *("_Open &Save", "&Open file_name"),
    ],
)
def test_other_marks_stay(text: str) -> None:
    assert AccessKeys(LABELS).hide(text, print) == (text, print)


@pytest.mark.parametrize(
    "texts",
    [
        *(["Rock&roll"], ["Copy&paste"], ["Drag&drop the picture here."], ["Sans_serif"]),
        *(["Foo_bar"], ["_id", "_blank"], ["Barnes &Noble"]),
    ],
)
def test_a_mark_that_joins_words_makes_no_access_keys(texts: list[str]) -> None:
    keys = AccessKeys(texts)
    assert [keys.hide(text, print)[0] for text in texts] == texts


def test_an_and_between_words_is_none_among_access_keys() -> None:
    texts = ["&File", "&Edit", "Copy", "&Paste", "Copy&paste", "Drag&drop the picture here."]
    keys = AccessKeys([*texts, "Pre&view"])
    assert [keys.hide(text, print)[0] for text in texts[-2:]] == texts[-2:]
    assert keys.hide("Pre&view", print)[0] == "Preview"


def test_where_labels_are_rare_a_mark_is_part_of_a_name() -> None:
    assert AccessKeys(["_Pragma"] + ["A line."] * 199).hide("_Pragma", print) == ("_Pragma", print)


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        *(("Ouvrir…", "_Ouvrir…"), ("%s « Ouvrir »", "%s « _Ouvrir »"), ("12", "12")),
        ("打开文件...", "打开文件(_O)..."),
    ],
)
def test_it_comes_before_the_first_letter(translation: str, expected: str) -> None:
    assert put_key(translation, "_", "o") == expected


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("a.po", 'msgid "{}"\nmsgstr ""\n'),
        ("a.resx", "<root><data><value>{}</value></data></root>"),
        ("a.xlf", f"<xliff xmlns='{XLIFF}'><u><source>{{}}</source></u></xliff>"),
    ],
)
def test_catalogues_get_the_key_again(name: str, file: str) -> None:
    pytest.importorskip("lxml.etree", reason="the extra `documents` is not installed")
    pytest.importorskip("polib", reason="the extra `documents` is not installed")
    document = open_document(file.format("Sa_ve").encode(), name)
    assert document.texts == ["Save"]
    assert "_Enregistrer" in document.fill(["Enregistrer"]).decode()
