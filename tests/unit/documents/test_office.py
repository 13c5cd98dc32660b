"""Office documents: their formats go with the words, and what is no text stays."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("lxml", reason="the extra `documents` is not installed")

from glassformer import Translator
from glassformer.extensions.documents import packed
from glassformer.extensions.documents.formats import ENDINGS, open_document
from glassformer.extensions.documents.translating import translate_document
from glassformer.model.files.directory import locate
from glassformer.translate.options import choose_options

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
OPEN = (
    'xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:t="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
)


def pack(parts: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def unpack(data: bytes, name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name).decode()


def word(*paragraphs: str) -> bytes:
    inner = "".join(f"<w:p>{each}</w:p>" for each in paragraphs)
    body = f"<w:document {WORD}><w:body>{inner}</w:body></w:document>"
    return pack({"word/document.xml": body, "word/styles.xml": "as it was"})


def run(text: str, format: str = "") -> str:
    inner = f"<w:rPr>{format}</w:rPr>" if format else ""
    return f"<w:r>{inner}<w:t>{text}</w:t></w:r>"


@pytest.fixture(scope="module")
def demo() -> Translator:
    return Translator.load("demo", device="cpu")


def translate(demo: Translator, data: bytes, name: str) -> bytes:
    return translate_document(
        open_document(data, name), demo, locate("demo"), choose_options(demo.config.decode)
    )


def say(data: bytes, part: str = "word/document.xml") -> str:
    """The paragraphs of a document, its runs in brackets with B where they are bold."""
    xml = re.sub(r"</w:p>", "\n", unpack(data, part))
    xml = re.sub(r"<w:r><w:rPr><w:b/></w:rPr>", "[B", re.sub(r"</w:r>", "]", xml))
    xml = re.sub(r"<w:(br|tab|drawing|fldChar|instrText)\b[^>]*?/?>", r"{\1}", xml)
    return re.sub(r"<[^>]*>", "", xml.replace("<w:r>", "[")).strip()


BOLD = "<w:b/>"
CASES = {
    "a format goes with its word": (
        run("The ") + run("black", BOLD) + run(" dog is tired."),
        "[Le chien ][Bnoir][ est fatigué.]",
    ),
    "runs that programs split are one": (
        run("The c", "<w:lang w:val='en'/>") + "<w:proofErr/>" + run("at is on the mat."),
        "[Le chat est sur le tapis.]",
    ),
    "a break parts sentences": (
        run("I am a student.") + "<w:r><w:br/></w:r>" + run("The dog is tired."),
        "[Je suis étudiant.][{br}][Le chien est fatigué.]",
    ),
    "a field stays whole and in order": (
        run("The cat is old. ")
        + "<w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>"
        + run("3")
        + "<w:r><w:fldChar w:fldCharType='end'/></w:r>",
        "[Le chat est vieux. ][{fldChar}][{instrText}PAGE][3][{fldChar}]",
    ),
    "deleted text stays": (
        "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>" + run("The cat is old."),
        "[gone][Le chat est vieux.]",
    ),
    "no letters": (run("-- ") + run("...", BOLD), "[-- ][B...]"),
}


@pytest.mark.parametrize("name", CASES)
def test_word(demo: Translator, name: str) -> None:
    given, expected = CASES[name]
    assert say(translate(demo, word(given), "a.docx")) == expected


def test_what_is_no_text_part_stays_byte_for_byte(demo: Translator) -> None:
    made = translate(demo, word(run("I am a student.")), "a.DOCX")
    assert unpack(made, "word/styles.xml") == "as it was"


def test_the_format_of_a_paragraph_comes_first(demo: Translator) -> None:
    format = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
    made = translate(demo, word(format + run("I am a student.")), "a.docx")
    xml = unpack(made, "word/document.xml")
    assert f"<w:p>{format}<w:r>" in xml and xml.count("<w:pPr>") == 1


def test_a_text_box_in_a_paragraph(demo: Translator) -> None:
    inner = f"<w:txbxContent><w:p>{run('The dog is tired.')}</w:p></w:txbxContent>"
    outer = run("The cat is old.") + f"<w:r><w:drawing>{inner}</w:drawing></w:r>"
    said = say(translate(demo, word(outer), "a.docx"))
    assert "Le chat est vieux." in said and "Le chien est fatigué." in said
    alone = f"<w:r><w:drawing>{inner}</w:drawing></w:r>"
    assert "Le chien est fatigué." in say(translate(demo, word(alone), "a.docx"))


def test_links_enclose_their_words(demo: Translator) -> None:
    link = f"<w:hyperlink w:anchor='x'>{run('cat')}</w:hyperlink>"
    made = translate(demo, word(run("The ") + link + run(" is on the mat.")), "a.docx")
    assert re.search(
        r'<w:hyperlink w:anchor="x"><w:r><w:t[^>]*>chat<', unpack(made, "word/document.xml")
    )


def test_opendocument(demo: Translator) -> None:
    inner = (
        "<t:h>The cat is on the mat.</t:h>"
        "<t:p>The <t:span t:style-name='B'>black</t:span> dog is tired.<t:note><t:note-body>"
        "<t:p>I am a student.</t:p></t:note-body></t:note><t:line-break/>The cat is old.</t:p>"
    )
    given = pack({"mimetype": "odt", "content.xml": f"<o:body {OPEN}>{inner}</o:body>"})
    xml = unpack(translate(demo, given, "a.odt"), "content.xml")
    assert "<t:h>Le chat est sur le tapis.</t:h>" in xml
    assert 'Le chien <t:span t:style-name="B">noir</t:span> est fatigué.' in xml
    assert "<t:p>Je suis étudiant.</t:p>" in xml and "<t:line-break/>Le chat est vieux." in xml
    with zipfile.ZipFile(io.BytesIO(translate(demo, given, "a.odt"))) as archive:
        assert archive.namelist() == ["mimetype", "content.xml"]


def test_slides_with_tables_and_notes(demo: Translator, tmp_path: Path) -> None:
    pptx = pytest.importorskip("pptx", reason="python-pptx is not installed")
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "The cat is on the mat."
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text, is_bold in (("The ", None), ("black", True), (" dog is tired.", None)):
        written = paragraph.add_run()
        written.text, written.font.bold = text, is_bold
    table = slide.shapes.add_table(1, 1, 0, 0, 99999, 99999).table
    table.cell(0, 0).text = "The cat is old."
    slide.notes_slide.notes_text_frame.text = "I am a student."
    deck.save(tmp_path / "a.pptx")
    made = translate(demo, (tmp_path / "a.pptx").read_bytes(), "a.pptx")
    slide = pptx.Presentation(io.BytesIO(made)).slides[0]
    assert slide.shapes.title.text == "Le chat est sur le tapis."
    runs = slide.placeholders[1].text_frame.paragraphs[0].runs
    assert [(each.text, each.font.bold) for each in runs] == [
        ("Le chien ", None),
        ("noir", True),
        (" est fatigué.", None),
    ]
    (frame,) = (shape for shape in slide.shapes if shape.has_table)
    assert frame.table.cell(0, 0).text == "Le chat est vieux."
    assert slide.notes_slide.notes_text_frame.text == "Je suis étudiant."


BOMB = "<!DOCTYPE a [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>"
OUTSIDE = "<!DOCTYPE a [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"no zip", "damaged or encrypted"),
        (pack({"other.xml": "<a/>"}), "no part with text"),
        (pack({"word/document.xml": "<a><b></a>"}), "word/document.xml"),
        (pack({"word/document.xml": f"{BOMB}<a>&b;</a>"}), "document type"),
        (pack({"word/document.xml": f"{OUTSIDE}<a>&a;</a>"}), "document type"),
        (pack({"word/document.xml": "<a>" * 100_000}), "word/document.xml"),
        (word(run("a"))[:-30], "damaged or encrypted"),
    ],
    ids=["bytes", "no part", "xml", "entities", "entity outside", "deep", "cut"],
)
def test_damaged_and_hostile(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        open_document(data, "a.docx")
    assert "\n" not in str(caught.value)


def make_slide(tmp_path: Path, *texts: tuple[str, bool | None]) -> bytes:
    """Return a file of PowerPoint with runs of a size in one paragraph, bold or not."""
    pptx = pytest.importorskip("pptx", reason="python-pptx is not installed")
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text, is_bold in texts:
        written = paragraph.add_run()
        written.text, written.font.bold, written.font.size = text, is_bold, pptx.util.Pt(24)
    deck.save(tmp_path / "a.pptx")
    return (tmp_path / "a.pptx").read_bytes()


@pytest.mark.parametrize("kept", ["https://example.org", "me@example.org", "{x}", "%s"])
def test_a_run_of_a_slide_has_one_text(demo: Translator, tmp_path: Path, kept: str) -> None:
    texts = ("The cat sees ", None), (f"the dog {kept} and {kept} today.", True), (" Yes.", None)
    data = make_slide(tmp_path, (f"The cat sees {kept} today.", None), *texts)
    xml = unpack(translate(demo, data, "a.pptx"), "ppt/slides/slide1.xml")
    runs = re.findall(r"<a:r>.*?</a:r>", xml, re.DOTALL)
    assert len(runs) > 2 and kept in re.sub("<[^>]*>", "", xml)
    for each in runs:
        assert re.fullmatch(r"<a:r><a:rPr[^>]*2400[^>]*/><a:t>[^<]*</a:t></a:r>", each), each


def test_runs_of_one_format_are_one_text_wherever_a_program_has_cut_it() -> None:
    """So that the parts of a word are together, and no format ends within one."""
    bold = "<w:rPr><w:b/></w:rPr>"
    parts = [(bold, "The do"), (bold, "g ru"), (bold, "ns"), ("", " now"), ("", ".")]
    runs = [f'<w:r>{form}<w:t xml:space="preserve">{text}</w:t></w:r>' for form, text in parts]
    texts = open_document(word("".join(runs)), "a.docx").texts
    assert texts == ['The dog runs<span id="0"> now.</span>']


def test_zip_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "PART", 1 << 20)
    monkeypatch.setattr(packed, "UNPACKED", 4 << 20)
    large = b" " * (2 << 20)
    with pytest.raises(ValueError, match="too large"):
        open_document(pack({"word/document.xml": large}), "a.docx")
    with pytest.raises(ValueError, match="unpacked it has more than 4 MiB"):
        open_document(pack({f"word/{n}": large for n in range(3)}), "a.docx")
    monkeypatch.setattr(packed, "ENTRIES", 3)
    with pytest.raises(ValueError, match="more than 3 entries"):
        open_document(pack({f"{n}": "" for n in range(4)}), "a.docx")


def test_other_endings() -> None:
    with pytest.raises(
        ValueError, match=r"^documents that can be translated end in \.arb, \.docx, \.epub"
    ):
        open_document(b"", "a.pdf")
    assert len(ENDINGS) == 20


def test_text_and_html(demo: Translator) -> None:
    made = translate(demo, "I am a student.\r\n\n  The cat is old.\n".encode("utf-16"), "a.txt")
    assert made.startswith((b"\xff\xfe", b"\xfe\xff"))
    assert made.decode("utf-16") == "Je suis étudiant.\r\n\n  Le chat est vieux.\n"
    made = translate(demo, "I am a student.\u2028The cat is old.\x85\x0b".encode(), "a.txt")
    assert made.decode() == "Je suis étudiant.\u2028Le chat est vieux.\x85\x0b"
    made = translate(demo, b"<p>The <b>black</b> dog is tired.<script>a</script></p>", "a.htm")
    assert made.decode().startswith("<p>Le chien <b>noir</b> est fatigué")
    with pytest.raises(ValueError, match="no UTF-8: byte 2"):
        open_document(b"a\xff", "a.txt")
