"""No reader takes more than a time proportional to its input, whatever that is.

Each reads some seventy units, repeated, and twice and four times as many of them.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import pytest
from damage.growth import is_linear
from damage.hostile_units import UNITS
from damage.ledger import Ledger

pytest.importorskip("lxml", reason="the extra `documents` is not installed")

from glassformer.data.tables import read_table
from glassformer.extensions.check_data.near_twins import TwinIndex
from glassformer.extensions.documents.formats import open_document
from glassformer.extensions.documents.markup import read_markup
from glassformer.model.files.directory import open_model
from glassformer.see.tokens import read_target
from glassformer.text.sentences import split_sentences
from glassformer.translate.align.marked_words import find_marked_words
from glassformer.translate.quality_check import find_problems
from glassformer.translate.sentence import Translation

Reader = tuple[Callable[[bytes], object], Callable[[str], bytes]]
NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
XLIFF = "urn:oasis:names:tc:xliff:document:1.2"


def keep(page: str) -> str:
    """A page whose words are each translated by themselves, in place."""
    read = read_markup(page)
    written = []
    for run in read.runs:
        links = [(word, word, 1.0) for word in range(len(find_marked_words(run.text)))]
        written.append(run.write(run.text, links))
    return read.fill(written)


def copy(name: str) -> Callable[[bytes], object]:
    """Open a document of this name, and fill it with its own texts."""

    def read(data: bytes) -> None:
        try:
            document = open_document(data, name)
        except ValueError:
            return
        is_page = document.form == "html"
        document.fill([keep(text) if is_page else text for text in document.texts])

    return read


def pack(xml: str, name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, xml)
    return buffer.getvalue()


def write(template: str, name: str = "") -> Callable[[str], bytes]:
    """Put a text into XML, and that into a zip if it needs a name."""

    def make(text: str) -> bytes:
        xml = template.replace("@", escape(NO_XML.sub("", text)))
        return pack(xml, name) if name else xml.encode()

    return make


def read_file(folder: Path, ending: str) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        path = folder / f"a.{ending}"
        path.write_bytes(data)
        try:
            for _ in read_table(path, "en", "fr"):
                pass
        except ValueError:
            return

    return read


def write_row(text: str) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter="\t").writerow([text, text])
    return out.getvalue().encode()


def translate_by_rule(data: bytes) -> None:
    text = data.decode()
    [
        *find_problems(
            text, Translation(text[: len(text) // 2 + 1], [], 0.0, 0.0, [], True, []), "fr"
        )
    ]


def list_readers(folder: Path) -> dict[str, Reader]:
    tokenizer = open_model("demo")[1].source
    as_json = lambda text: json.dumps({"en": text, "fr": text}).encode()  # noqa: E731
    side = '<tuv xml:lang="%s"><seg>@</seg></tuv>'
    unit = f"<tmx><body><tu>{side % 'en'}{side % 'fr'}</tu></body></tmx>"
    return {
        "text": (copy("a.txt"), str.encode),
        "HTML": (copy("a.html"), str.encode),
        "SRT": (copy("a.srt"), lambda text: f"1\n00:00:01 --> 00:00:02\n{text}".encode()),
        "VTT": (copy("a.vtt"), lambda text: f"WEBVTT\n\n00:01.0 --> 00:02.0\n{text}".encode()),
        "DOCX": (
            copy("a.docx"),
            write(
                f'<w:d xmlns:w="{WORD}"><w:p><w:r><w:t>@</w:t></w:r></w:p></w:d>',
                "word/document.xml",
            ),
        ),
        "PPTX": (
            copy("a.pptx"),
            write(
                f'<a:d xmlns:a="{DRAWING}"><a:p><a:r><a:t>@</a:t></a:r></a:p></a:d>',
                "ppt/slides/slide1.xml",
            ),
        ),
        "ODT": (copy("a.odt"), write(f'<d xmlns:t="{TEXT}"><t:p>@</t:p></d>', "content.xml")),
        "XLIFF": (
            copy("a.xlf"),
            write(f'<xliff xmlns="{XLIFF}"><trans-unit><source>@</source></trans-unit></xliff>'),
        ),
        "RESX": (copy("a.resx"), write("<root><data name='a'><value>@</value></data></root>")),
        "Android": (copy("a.xml"), write("<resources><string>@</string></resources>")),
        "PO": (
            copy("a.po"),
            lambda text: f'msgid {json.dumps(text, ensure_ascii=False)}\nmsgstr ""\n'.encode(),
        ),
        "strings": (
            copy("a.strings"),
            lambda text: f'"a" = {json.dumps(text, ensure_ascii=False)};'.encode(),
        ),
        "JSON": (copy("a.json"), lambda text: json.dumps({"a": text}).encode()),
        "forms": (copy("a.arb"), lambda text: json.dumps({"a": f"{{n, plural, {text}"}).encode()),
        "PO as it is": (copy("a.po"), str.encode),
        "strings as they are": (copy("a.strings"), lambda text: f'"a" = "b"; {text}'.encode()),
        "strings without an end": (copy("a.strings"), lambda text: f'"a" = "b"; "{text}'.encode()),
        "TSV": (read_file(folder, "tsv"), write_row),
        "JSONL": (read_file(folder, "jsonl"), as_json),
        "TMX": (read_file(folder, "tmx"), write(unit)),
        "splitter": (lambda data: split_sentences(data.decode(), "en"), str.encode),
        "tokenizer": (lambda data: tokenizer.encode(data.decode()), str.encode),
        "checks": (translate_by_rule, str.encode),
    }


NAMES = [
    *("text", "HTML", "SRT", "VTT", "DOCX", "PPTX", "ODT", "XLIFF", "RESX", "Android", "PO"),
    *("JSON", "forms", "strings", "TSV", "JSONL", "TMX", "splitter", "tokenizer", "checks"),
    *("PO as it is", "strings as they are", "strings without an end"),
]


def list_names() -> list[Any]:
    """Return the names of all readers; every third is a quick test."""
    thorough = [pytest.mark.thorough]
    return [pytest.param(name, marks=thorough if n % 3 else []) for n, name in enumerate(NAMES)]


@pytest.mark.parametrize(
    "share", [pytest.param(15, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", list_names())
def test_no_reader_is_worse_than_linear(
    ledger: Ledger, tmp_path: Path, name: str, share: int
) -> None:
    read, write_input = list_readers(tmp_path)[name]
    units = UNITS[NAMES.index(name) % share :: share]
    slow = [
        unit
        for unit in units
        if not is_linear(read, lambda length, unit=unit: _repeat(write_input, unit, length))
    ]
    assert slow == []
    told = "twice as many take at most 2.6 times as long"
    ledger.note("Bad input", "hostile units, repeated, in 21 readers", told, times=len(units))


def test_places_of_tokens_are_found_in_linear_time() -> None:
    tokenizer = open_model("demo")[1].target

    def read(data: bytes) -> None:
        text = data.decode()
        read_target(tokenizer, tokenizer.encode(text), text, False)

    for unit in ("x", "0", "a ", "猫"):
        assert is_linear(read, lambda length, unit=unit: (unit * (length // 4)).encode())


def _repeat(write_input: Callable[[str], bytes], unit: str, length: int) -> bytes:
    return write_input("x " + unit * (length // len(unit)))


def _mark(kind: str) -> str:
    return f"<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>"


RUN = "<w:r><w:t>a </w:t></w:r>"
LINK = f"{_mark('begin')}<w:r><w:instrText>HYPERLINK x</w:instrText></w:r>{_mark('separate')}"
WORD_UNITS = {
    "empty runs": "<w:r/>",
    "runs": RUN,
    "fields that begin": _mark("begin"),
    "fields that begin with empty runs": _mark("begin") + "<w:r/>",
    "fields that divide": _mark("separate"),
    "fields that end": _mark("end"),
    "links within links": LINK,
    "links": LINK + RUN + _mark("end"),
    "breaks": "<w:r><w:tab/><w:t>a</w:t></w:r>",
    "formats": f"<w:r><w:rPr><w:b/></w:rPr><w:t>a</w:t></w:r>{RUN}",
    "hyperlinks": f"<w:hyperlink>{RUN}</w:hyperlink>",
    "controls": f"<w:sdt><w:sdtContent>{RUN}</w:sdtContent></w:sdt>",
    "bookmarks": "<w:bookmarkStart/>",
    "paragraphs": f"{RUN}</w:p><w:p>",
}


@pytest.mark.parametrize("name", WORD_UNITS)
def test_no_part_of_word_is_worse_than_linear(name: str) -> None:
    unit = WORD_UNITS[name]

    def make(length: int) -> bytes:
        inner = RUN + unit * (length // 20)
        return pack(f'<w:d xmlns:w="{WORD}"><w:p>{inner}</w:p></w:d>', "word/document.xml")

    assert is_linear(copy("a.docx"), make)


@pytest.mark.parametrize(
    "form",
    [
        f"<w:p @>{RUN}</w:p>",
        f"<w:p><w:hyperlink @>{RUN}</w:hyperlink></w:p>",
        "<w:p><w:r><w:rPr @/><w:t>a</w:t></w:r></w:p>",
    ],
    ids=["paragraph", "link", "format"],
)
def test_attributes_are_not_copied_one_by_one(form: str) -> None:
    def make(length: int) -> bytes:
        names = " ".join(f'a{number}=""' for number in range(length // 4))
        xml = f'<w:d xmlns:w="{WORD}">{form.replace("@", names)}</w:d>'
        return pack(xml, "word/document.xml")

    assert is_linear(copy("a.docx"), make)


@pytest.mark.parametrize("line", ["the {}", "{} the", "the {} is", "{}"])
def test_near_twins_are_found_in_linear_time(line: str) -> None:
    """Of lines that have most of their few words in common, too."""

    def find_all(lines: list[list[str]]) -> None:
        index = TwinIndex(lines)
        for each in lines:
            index.find(each)

    def make(length: int) -> list[list[str]]:
        return [line.format(f"counterexample{place}").split() for place in range(length // 3)]

    assert is_linear(find_all, make)


@pytest.mark.thorough
def test_the_measure_notices_what_is_quadratic() -> None:
    """Without a no-break space, each letter begins a search to the end of the text."""
    tied = re.compile(r"(\S+)\u00a0")
    assert not is_linear(tied.findall, lambda length: "x" * (length // 6))
