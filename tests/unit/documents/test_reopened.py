"""Documents that other libraries write, opened by them again: all but the text is the same."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import pytest

from glassformer.extensions.documents.formats import open_document
from glassformer.extensions.documents.markup import read_markup


def shout(data: bytes, name: str) -> bytes:
    """The document in capitals, through all that a translation goes through."""
    document, written = open_document(data, name), []
    for text in document.texts:
        page = read_markup(text)
        words = [[*range(len(re.findall(r"\w+|[^\w\s]", run.text)))] for run in page.runs]
        links = [[(n, n, 1.0) for n in each] for each in words]
        rows = zip(page.runs, links, strict=True)
        written.append(page.fill([run.write(run.text.upper(), each) for run, each in rows]))
    return document.fill(written)


def make_letter(docx: Any) -> bytes:
    letter = docx.Document()
    letter.add_heading("A heading", 1)
    paragraph = letter.add_paragraph("The ")
    paragraph.add_run("black").bold = True
    paragraph.add_run(" dog is tired.").italic = True
    letter.add_paragraph("one", style="List Bullet")
    table = letter.add_table(rows=2, cols=2)
    table.cell(0, 1).text = "a cell"
    letter.sections[0].header.paragraphs[0].text = "a header"
    letter.add_paragraph("")
    letter.add_page_break()
    buffer = io.BytesIO()
    letter.save(buffer)
    return buffer.getvalue()


def describe_letter(docx: Any, data: bytes) -> list[Any]:
    letter = docx.Document(io.BytesIO(data))
    cells = [cell for table in letter.tables for row in table.rows for cell in row.cells]
    paragraphs = [*letter.paragraphs, *letter.sections[0].header.paragraphs]
    paragraphs += [each for cell in cells for each in cell.paragraphs]
    rows = ([(r.text.strip().casefold(), r.bold, r.italic) for r in p.runs] for p in paragraphs)
    return [
        (each.style.name, [run for run in row if run[0]])  # a space may be in either format
        for each, row in zip(paragraphs, rows, strict=True)
    ]


def test_python_docx_reads_the_same_letter() -> None:
    docx = pytest.importorskip("docx", reason="python-docx is not installed")
    before = make_letter(docx)
    after = shout(before, "a.docx")
    assert describe_letter(docx, after) == describe_letter(docx, before)
    assert docx.Document(io.BytesIO(after)).paragraphs[1].text == "THE BLACK DOG IS TIRED."


def make_deck(pptx: Any) -> bytes:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "A title"
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text, is_bold in (("The ", None), ("black", True), (" dog.", None)):
        run = paragraph.add_run()
        run.text, run.font.bold = text, is_bold
    slide.placeholders[1].text_frame.add_paragraph().text = "another"
    slide.shapes.add_table(1, 2, 0, 0, 9999, 9999).table.cell(0, 0).text = "a cell"
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def list_frames(pptx: Any, data: bytes) -> Iterator[Any]:
    for shape in pptx.Presentation(io.BytesIO(data)).slides[0].shapes:
        if shape.has_text_frame:
            yield shape.text_frame
        if shape.has_table:
            yield from (cell.text_frame for cell in shape.table.iter_cells())


def describe_deck(pptx: Any, data: bytes) -> list[Any]:
    return [
        [[(run.text.casefold(), run.font.bold) for run in each.runs] for each in frame.paragraphs]
        for frame in list_frames(pptx, data)
    ]


def test_python_pptx_reads_the_same_slides() -> None:
    pptx = pytest.importorskip("pptx", reason="python-pptx is not installed")
    before = make_deck(pptx)
    after = shout(before, "a.pptx")
    assert describe_deck(pptx, after) == describe_deck(pptx, before)
    assert "THE BLACK DOG." in [frame.paragraphs[0].text for frame in list_frames(pptx, after)]


def make_odt() -> bytes:
    from odf.opendocument import OpenDocumentText
    from odf.style import Style, TextProperties
    from odf.text import A, H, List, ListItem, P, Span

    text = OpenDocumentText()
    bold = Style(name="Bold", family="text")
    bold.addElement(TextProperties(fontweight="bold"))
    text.automaticstyles.addElement(bold)
    text.text.addElement(H(outlinelevel=1, text="A heading"))
    paragraph = P(text="The ")
    paragraph.addElement(Span(stylename=bold, text="black"))
    paragraph.addText(" dog sees ")
    paragraph.addElement(A(href="https://a.org/", text="a page"))
    paragraph.addText(".")
    text.text.addElement(paragraph)
    item = ListItem()
    item.addElement(P(text="one"))
    items = List()
    items.addElement(item)
    text.text.addElement(items)
    buffer = io.BytesIO()
    text.write(buffer)
    return buffer.getvalue()


def describe_odt(data: bytes) -> list[Any]:
    from odf import teletype
    from odf.opendocument import load
    from odf.text import A, H, P, Span

    body = load(io.BytesIO(data)).text
    kinds = (
        (kind, element) for kind in (H, P, Span, A) for element in body.getElementsByType(kind)
    )
    return [
        (kind.__name__, teletype.extractText(each).casefold(), sorted(map(str, each.attributes)))
        for kind, each in kinds
    ]


def test_odfpy_reads_the_same_text() -> None:
    pytest.importorskip("odf", reason="odfpy is not installed")
    before = make_odt()
    after = shout(before, "a.odt")
    assert describe_odt(after) == describe_odt(before)
    texts = [re.sub(r"<[^<>]*>", "", text) for text in open_document(after, "b.odt").texts]
    assert "THE BLACK DOG SEES A PAGE." in texts
