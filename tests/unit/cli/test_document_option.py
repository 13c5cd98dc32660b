"""`translate --file`: a document in, the translated document out."""

from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.cli.translate import DOCUMENTS
from glassformer.extensions.documents.formats import ENDINGS, OFFICE

SUBTITLES = """1
00:00:01,000 --> 00:00:02,000
The cat is on the mat.

2
00:00:03,000 --> 00:00:04,000
xqzt blorf 12345 vnm
"""


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "film.srt"
    path.write_text(SUBTITLES, encoding="utf-8")
    return path


def test_a_document_is_translated_and_what_looks_wrong_is_counted(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = document.with_name("film-fr.srt")
    assert main(["translate", "demo", "--file", str(document), "--output", str(output)]) == 0
    written = output.read_text(encoding="utf-8")
    assert "00:00:01,000 --> 00:00:02,000\nLe chat est sur le tapis.\n" in written
    told = capsys.readouterr()
    assert "1 text is unlike the training text" in told.err and not told.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "needs --output: another .srt file"),
        (("--output", "film.docx"), "a translated .srt file is one too"),
        (("--output", "other.srt", "--n-best", "2"), "--n-best is for lines of text"),
        (("--output", "other.srt", "--confidence"), "--confidence is for lines of text"),
        (("--output", "other.srt", "--alignment"), "--alignment is for lines of text"),
        (("--output", "other.srt", "--overwrite"), "--overwrite is for lines of text"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    document: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", "demo", "--file", str(document), *options]) == 2
    assert said in capsys.readouterr().err


def test_a_document_without_lines_needs_no_option(tmp_path: Path) -> None:
    assert {*DOCUMENTS} == {*ENDINGS} - {".txt", ".xml"} and OFFICE.keys() < {*DOCUMENTS}
    docx = pytest.importorskip("docx")
    letter, output = tmp_path / "letter.docx", tmp_path / "lettre.docx"
    written = docx.Document()
    written.add_paragraph("The cat is on the mat.")
    written.save(letter)
    assert main(["translate", "demo", str(letter), "-o", str(output)]) == 0
    assert [each.text for each in docx.Document(output).paragraphs] == ["Le chat est sur le tapis."]
