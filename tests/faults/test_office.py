"""Translated documents in an office program: it opens them, and reads the translation."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from damage.ledger import Ledger

pytest.importorskip("lxml", reason="the extra `documents` is not installed")
pytest.importorskip("docx", reason="python-docx is not installed")
pytest.importorskip("pptx", reason="python-pptx is not installed")
pytest.importorskip("odf", reason="odfpy is not installed")

import docx
import pptx
from odf.opendocument import OpenDocumentText, load
from odf.teletype import extractText
from odf.text import P

OFFICE, READER = shutil.which("soffice"), shutil.which("pdftotext")
TEXTS = ["The cat is old.", "I am a student."]
TRANSLATED = ["Le chat est vieux.", "Je suis étudiant."]


def make_docx() -> bytes:
    letter, buffer = docx.Document(), io.BytesIO()
    letter.add_heading(TEXTS[0])
    letter.add_table(1, 1).cell(0, 0).text = TEXTS[1]
    letter.save(buffer)
    return buffer.getvalue()


def make_pptx() -> bytes:
    deck, buffer = pptx.Presentation(), io.BytesIO()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    for place, text in zip(slide.placeholders, TEXTS, strict=True):
        place.text = text
    deck.save(buffer)
    return buffer.getvalue()


def make_odt() -> bytes:
    text, buffer = OpenDocumentText(), io.BytesIO()
    for line in TEXTS:
        text.text.addElement(P(text=line))
    text.write(buffer)
    return buffer.getvalue()


def read_docx(data: bytes) -> list[str]:
    letter = docx.Document(io.BytesIO(data))
    return [letter.paragraphs[0].text, letter.tables[0].cell(0, 0).text]


def read_pptx(data: bytes) -> list[str]:
    return [each.text for each in pptx.Presentation(io.BytesIO(data)).slides[0].placeholders]


def read_odt(data: bytes) -> list[str]:
    return [*map(extractText, load(io.BytesIO(data)).text.getElementsByType(P))]


FORMS = {
    "docx": (make_docx, read_docx),
    "pptx": (make_pptx, read_pptx),
    "odt": (make_odt, read_odt),
}


def translate(path: Path) -> Path:
    """Translate a document at the command line; the copy beside it."""
    made = path.with_name(f"translated.{path.suffix[1:]}")
    command = [sys.executable, "-m", "glassformer", "translate", "demo"]
    subprocess.run([*command, "--file", str(path), "-o", str(made)], check=True)
    return made


@pytest.mark.parametrize("form", FORMS)
def test_results_open_in_an_office_library(tmp_path: Path, ledger: Ledger, form: str) -> None:
    make, read = FORMS[form]
    path = tmp_path / f"a.{form}"
    path.write_bytes(make())
    made = translate(path)
    assert read(path.read_bytes()) == TEXTS
    assert read(made.read_bytes()) == TRANSLATED
    with zipfile.ZipFile(made) as archive:
        assert archive.testzip() is None
    libraries = "translated .docx, .pptx and .odt in python-docx, python-pptx and odfpy"
    ledger.note("Bad input", libraries, "opened; each text is its translation")


def show(path: Path) -> str | None:
    """The text on the pages that LibreOffice prints; None if it has no part for such a document."""
    profile, folder = f"-env:UserInstallation=file://{path.parent}/profile", str(path.parent)
    command = [OFFICE or "", profile, "--headless", "--convert-to", "pdf", "--outdir", folder]
    subprocess.run([*command, str(path)], check=True, capture_output=True, timeout=500)
    printed = path.with_suffix(".pdf")
    if not printed.is_file():
        return None
    reading = [READER or "", str(printed), "-"]
    return subprocess.run(reading, check=True, capture_output=True).stdout.decode()


@pytest.mark.slow
@pytest.mark.skipif(not (OFFICE and READER), reason="LibreOffice or pdftotext is not installed")
@pytest.mark.parametrize("form", FORMS)
def test_results_open_in_libreoffice(tmp_path: Path, ledger: Ledger, form: str) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(FORMS[form][0]())
    if (before := show(path)) is None:
        pytest.skip(f"this LibreOffice opens no .{form}")
    after = show(translate(path))
    assert after is not None
    for text, translated in zip(TEXTS, TRANSLATED, strict=True):
        assert text in before and text not in after and translated in after
    happened = "opened; each text is its translation"
    ledger.note("Bad input", "translated .docx, .pptx and .odt in LibreOffice", happened)
