"""Word files as other programs write them: all of their text is found, and all else stays."""

from __future__ import annotations

import io
import re
import zipfile

import pytest
from damage.growth import is_linear

from glassformer.extensions.documents.formats import TranslatableDocument, open_document
from glassformer.extensions.documents.markup import read_markup

etree = pytest.importorskip("lxml.etree", reason="the extra `documents` is not installed")

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def pack(parts: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def mark(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def code(text: str) -> str:
    return f"<w:r><w:instrText>{text}</w:instrText></w:r>"


def word(inner: str, namespace: str = W) -> bytes:
    body = f'<w:document xmlns:w="{namespace}"><w:body>{inner}</w:body></w:document>'
    return pack({"word/document.xml": body})


def shout(document: TranslatableDocument) -> bytes:
    """Fill a document with its own texts in capitals, tags as they were."""
    parts = (re.split(r"(<[^<>]*>)", text) for text in document.texts)
    return document.fill(
        ["".join(p if p.startswith("<") else p.upper() for p in each) for each in parts]
    )


def read(data: bytes, name: str = "word/document.xml") -> str:
    """The text of a part, without tags."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return "".join(etree.fromstring(archive.read(name)).itertext())


LINK = mark("begin") + code(' HYPERLINK "a.org" ') + mark("separate")
TOC = mark("begin") + code(' TOC \\o "1-3" ') + mark("separate")
PAGE = mark("begin") + code("PAGEREF x") + mark("separate") + run("iv") + mark("end")
KINDS = {
    "a control": ("in <w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>", "IN", "TEXT"),
    "a control in a control": (
        "<w:sdt><w:sdtContent><w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt></w:sdtContent></w:sdt>",
        "TEXT",
    ),
    "moved text": ("<w:moveTo w:id='1'>{}</w:moveTo>", "TEXT"),
    "text that was moved away": ("<w:moveFrom w:id='1'>{}</w:moveFrom>", "text"),
    "a direction": ("<w:bdo w:val='rtl'>{}</w:bdo>", "TEXT"),
    "an embedding": ("<w:dir w:val='ltr'>{}</w:dir>", "TEXT"),
    "a smart tag": ("<w:smartTag w:element='x'>{}</w:smartTag>", "TEXT"),
    "an insertion": ("<w:ins w:id='1'>{}</w:ins>", "TEXT"),
    "a reading": (
        "<w:r><w:ruby><w:rt><w:r><w:t>kana</w:t></w:r></w:rt><w:rubyBase>{}</w:rubyBase></w:ruby>"
        "</w:r>",
        "kana",
        "TEXT",
    ),
    "a link as a field": (LINK + "{}" + mark("end"), "HYPERLINK", "TEXT"),
    "a link as a simple field": ("<w:fldSimple w:instr=' HYPERLINK x'>{}</w:fldSimple>", "TEXT"),
    "a date as a simple field": ("<w:fldSimple w:instr='DATE'>{}</w:fldSimple>", "text"),
    "a contents that goes on": (TOC + "{}", "TOC", "TEXT"),
    "a contents that ends": ("{}" + mark("end"), "TEXT"),
    "a link in a contents": (
        TOC + LINK + "{}<w:r><w:tab/></w:r>" + PAGE + mark("end"),
        "HYPERLINK",
        "TEXT",
        "PAGEREF",
        "iv",
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_all_text_is_found_and_all_else_stays(name: str) -> None:
    form, *expected = KINDS[name]
    inner = form.format(run("text"))
    inner = run("in ") + inner.removeprefix("in ") if form.startswith("in ") else inner
    given = word(f"<w:p>{run('more ')}{inner}</w:p>")
    made = shout(open_document(given, "a.docx"))
    said = read(made)
    assert said.startswith("MORE ") and all(each in said for each in expected)
    assert said.casefold() == read(given).casefold()
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        after = etree.fromstring(archive.read("word/document.xml"))
    before = etree.fromstring(f'<w:p xmlns:w="{W}">{inner}</w:p>')
    names = [each.tag for each in before.iter() if not each.tag.endswith(("}r", "}p"))]
    kept = [each.tag for each in after.iter()]
    assert all(kept.count(tag) >= names.count(tag) for tag in names)


def test_the_strict_kind() -> None:
    made = shout(open_document(word(f"<w:p>{run('text')}</w:p>", STRICT), "a.docx"))
    assert read(made) == "TEXT"
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert W.encode() not in archive.read("word/document.xml")


def test_strict_slides() -> None:
    a, p = (f"http://purl.oclc.org/ooxml/{name}/main" for name in ("drawingml", "presentationml"))
    slide = f'<p:sld xmlns:p="{p}" xmlns:a="{a}"><a:p><a:r><a:t>text</a:t></a:r></a:p></p:sld>'
    made = shout(open_document(pack({"ppt/slides/slide1.xml": slide}), "a.pptx"))
    assert read(made, "ppt/slides/slide1.xml") == "TEXT"


def test_parts_are_found_by_their_type_or_role() -> None:
    body = f'<w:document xmlns:w="{W}"><w:p>{run("text")}</w:p></w:document>'
    types = (
        f'<Types xmlns="{TYPES}"><Override PartName="/word/x7.xml" ContentType="{MAIN}"/></Types>'
    )
    made = shout(open_document(pack({"[Content_Types].xml": types, "word/x7.xml": body}), "a.docx"))
    assert read(made, "word/x7.xml") == "TEXT"
    rels = (
        '<Relationships xmlns="r"><Relationship Id="1" Type="http://x/officeDocument" '
        'Target="/word/y.xml"/></Relationships>'
    )
    made = shout(open_document(pack({"_rels/.rels": rels, "word/y.xml": body}), "a.docx"))
    assert read(made, "word/y.xml") == "TEXT"


def test_slides_without_a_slide_are_not_damaged() -> None:
    assert open_document(pack({"ppt/presentation.xml": "<p/>"}), "a.pptx").texts == []


RAISED = {
    ("word", "<w:rPr><w:vertAlign w:val='subscript'/></w:rPr>"): "sub",
    ("word", "<w:rPr><w:vertAlign w:val='superscript'/></w:rPr>"): "sup",
    ("word", "<w:rPr><w:vertAlign w:val='baseline'/></w:rPr>"): "span",
    ("word", "<w:rPr><w:b/></w:rPr>"): "span",
    ("slides", "<a:rPr baseline='-25000'/>"): "sub",
    ("slides", "<a:rPr baseline='30%'/>"): "sup",
    ("slides", "<a:rPr baseline='0'/>"): "span",
    ("slides", "<a:rPr b='1'/>"): "span",
}


def write_formula(kind: str, format: str) -> tuple[bytes, str, str]:
    """Return a document that says HnO, with the n in a format, its name, and that of its part."""
    if kind == "word":
        inner = run("We drink H") + f"<w:r>{format}<w:t>n</w:t></w:r>" + run("O.")
        return word(f"<w:p>{inner}</w:p>"), "a.docx", "word/document.xml"
    runs = ("", "We drink H"), (format, "n"), ("", "O.")
    inner = "".join(f"<a:r>{own}<a:t>{text}</a:t></a:r>" for own, text in runs)
    space = "http://schemas.openxmlformats.org/drawingml/2006/main"
    slide = f'<a:d xmlns:a="{space}"><a:p>{inner}</a:p></a:d>'
    return pack({"ppt/slides/slide1.xml": slide}), "a.pptx", "ppt/slides/slide1.xml"


@pytest.mark.parametrize(("kind", "format"), RAISED)
def test_a_raised_or_lowered_part_of_a_word_stays_one(kind: str, format: str) -> None:
    data, name, part = write_formula(kind, format)
    document = open_document(data, name)
    (text,), tag = document.texts, RAISED[kind, format]
    assert f'H<{tag} id="0">n</{tag}>O' in text
    (markup,) = read_markup(text).runs
    links = [(0, 0, 1.0), (2, 1, 1.0), (1, 2, 1.0), (3, 3, 1.0)]
    written = document.fill([markup.write("Nous HnO buvons.", links)])
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        runs = etree.fromstring(archive.read(part)).iter("{*}r")
    assert ["".join(each.itertext()) for each in runs] == ["Nous H", "n", "O buvons."]


def test_a_raised_number_in_a_letter_is_a_reference_mark() -> None:
    format = "<w:rPr><w:vertAlign w:val='superscript'/></w:rPr>"
    inner = run("The cat") + f"<w:r>{format}<w:t>1</w:t></w:r>" + run(" is old.")
    document = open_document(word(f"<w:p>{inner}</w:p>"), "a.docx")
    (markup,) = read_markup(document.texts[0]).runs
    assert markup.text == "The cat is old."
    links = [(0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0), (3, 3, 1.0), (4, 4, 1.0)]
    assert read(document.fill([markup.write("Le chat est vieux.", links)])) == "Le chat1 est vieux."


def make_slides(length: int) -> bytes:
    """Return slides with a run of a size and many placeholders."""
    inner = f"<a:r><a:rPr sz='2400'/><a:t>text {'{x} a ' * (length // 6)}</a:t></a:r>"
    space = "http://schemas.openxmlformats.org/drawingml/2006/main"
    return pack({"ppt/slides/slide1.xml": f'<a:d xmlns:a="{space}"><a:p>{inner}</a:p></a:d>'})


def test_the_time_for_placeholders_in_slides_is_linear() -> None:
    written = shout(open_document(make_slides(600), "a.pptx"))
    assert read(written, "ppt/slides/slide1.xml") == "TEXT " + "{x} A " * 100
    assert is_linear(lambda data: shout(open_document(data, "a.pptx")), make_slides)


def test_placeholders_in_a_letter_stay() -> None:
    text = "Dear {name}, see https://a.org/x?y=z or write to me@a.org."
    made = shout(open_document(word(f"<w:p>{run(text)}</w:p>"), "a.docx"))
    assert read(made) == "DEAR {name}, SEE https://a.org/x?y=z OR WRITE TO me@a.org."


def test_a_field_in_thousands_of_fields() -> None:
    given = word(f"<w:p>{run('text')}{LINK * 3000}{run('text')}{mark('end') * 3000}</w:p>")
    assert read(shout(open_document(given, "a.docx"))).startswith("TEXT")


def test_comments_of_opendocument_stay() -> None:
    names = "urn:oasis:names:tc:opendocument:xmlns"
    note = "<o:annotation><t:p>A dog.</t:p></o:annotation>"
    body = f"<o:body xmlns:o='{names}:office:1.0' xmlns:t='{names}:text:1.0'>"
    data = pack({"content.xml": f"{body}<t:p>A cat{note} is here.</t:p></o:body>"})
    made = read(shout(open_document(data, "a.odt")), "content.xml")
    assert sorted(re.split("(A dog.)", made)) == [" IS HERE.", "A CAT", "A dog."]
