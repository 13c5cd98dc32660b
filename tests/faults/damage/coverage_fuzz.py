"""A coverage-guided fuzzer on one reader of text: python -m damage.coverage_fuzz TARGET -runs=N.

Run by test_coverage.py, where `atheris` is installed. What a target raises, beside ValueError and
OSError, ends it with a code other than 0 and leaves the input in crash-*. Documents begin with one
of their kind; of those that are zips, the bytes are the XML inside. Bytes that do not begin with <
choose elements instead, so that whatever they are, the XML is well formed.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
import zipfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["glassformer"]):
    from glassformer.config import Config
    from glassformer.data.corpus import find_data
    from glassformer.extensions.check_data import examine
    from glassformer.extensions.documents.formats import open_document
    from glassformer.extensions.documents.markup import read_markup
    from glassformer.text import clean
    from glassformer.text.kinds import train_tokenizer
    from glassformer.text.layout import open_layout, read_layout
    from glassformer.text.sentences import split_sentences

FOLDER = Path(tempfile.mkdtemp())
TOKENIZER = train_tokenizer(["the old cat runs", "él vió 猫 😀"] * 2, 320)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
XLIFF = "urn:oasis:names:tc:xliff:document:1.2"
LINK = '<w:r><w:fldChar w:fldCharType="%s"/></w:r>'
DOCUMENTS = {
    "html": "<title>A</title><p>The <b>black</b> dog &amp; a <a href='x'>cat</a>.<br><!-- a -->",
    "srt": "1\n00:00:01,000 --> 00:00:02,000\n<i>The cat\n\n2\n00:00:02,000 --> 00:00:03,000\nis.",
    "vtt": "WEBVTT\n\nNOTE a\n\n00:01.000 --> 00:02.000 align:start\n<v Ann>The <c.a>cat</c>",
    "docx": (
        f'<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>The </w:t></w:r><w:hyperlink><w:r>'
        f"<w:rPr><w:b/></w:rPr><w:t>dog</w:t><w:tab/></w:r></w:hyperlink>{LINK % 'begin'}<w:r>"
        f"<w:instrText>HYPERLINK x</w:instrText></w:r>{LINK % 'separate'}<w:r><w:t>runs</w:t></w:r>"
        f"{LINK % 'end'}<w:sdt><w:sdtContent><w:br/><w:ins/><w:bookmarkStart/></w:sdtContent>"
        "</w:sdt><w:txbxContent><w:p> . </w:p></w:txbxContent></w:p></w:body></w:document>"
    ),
    "pptx": (
        f'<a:p xmlns:a="{DRAWING}"><a:p><a:r><a:rPr b="1"/><a:t>The </a:t></a:r><a:br/><a:fld>'
        "<a:t>dog</a:t></a:fld><a:endParaRPr/></a:p></a:p>"
    ),
    "odt": (
        f'<d xmlns:t="{TEXT}"><t:h>The</t:h><t:p>black <t:span t:style-name="b">dog<t:s t:c="2"/>'
        "</t:span><t:a>runs<t:line-break/></t:a><t:note><t:note-body><t:p>a</t:p></t:note-body>"
        "</t:note></t:p></d>"
    ),
    "xlf": (
        f'<xliff xmlns="{XLIFF}"><file><trans-unit id="1"><source>The <g id="1">dog</g> <x id="2"/>'
        "</source><target/></trans-unit></file></xliff>"
    ),
    "po": (
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n#, c-format\n'
        'msgctxt "a"\nmsgid "%d dog"\nmsgid_plural "%d dogs"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    ),
}
PARTS = {"docx": "word/document.xml", "pptx": "ppt/slides/slide1.xml", "odt": "content.xml"}
PAIRS = "The black dog runs.\tLe chien noir court.\nShe has 3 cats.\tElle a 3 chats.\n"


def pack(xml: bytes, part: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(part, xml)
    return buffer.getvalue()


def write_xml(choices: bytes, kind: str) -> bytes:
    """Return XML of the elements in the document of a kind, chosen one by one."""
    root, *pieces = re.findall(r"<[^<>/]*>[^<>]+</[^>]*>|<[^/][^>]*>", DOCUMENTS[kind])
    opened, written = [root.split()[0][1:]], [root]
    for choice in choices:
        place = choice % (len(pieces) + len(pieces) // 2)  # a third of them close an element
        if place < len(pieces):
            written.append(pieces[place])
            if not re.search("/[^ ]*>$", pieces[place]):
                opened.append(re.split(r"[ >]", pieces[place])[0][1:])
        elif len(opened) > 1:
            written.append(f"</{opened.pop()}>")
    return "".join([*written, *(f"</{name}>" for name in reversed(opened))]).encode()


def copy_page(text: str) -> str:
    """The page with each of its runs of text written in place of itself, word by word."""
    page, written = read_markup(text), []
    for run in page.runs:
        words = range(len(re.findall(r"\w+|[^\w\s]", run.text)))
        written.append(run.write(run.text, [(word, word, 1.0) for word in words]))
    return page.fill(written)


def copy_document(kind: str, data: bytes) -> None:
    """Fill a document with its own texts: it can be read again. No text becomes a time."""
    name = f"a.{kind}"
    if kind in (*PARTS, "xlf") and not data.startswith(b"<"):
        data = write_xml(data, kind)
    document = open_document(pack(data, PARTS[kind]) if kind in PARTS else data, name)
    filled = document.fill([copy_page(text) for text in document.texts])
    if kind not in PARTS and b"\0" in filled:  # which text in UTF-16 has, too
        return
    try:
        copy = open_document(filled, name)
    except ValueError as error:
        raise AssertionError("what was written cannot be read again") from error
    if kind in ("srt", "vtt"):
        assert set(list_times(copy)) <= set(list_times(document))


def list_times(document: Any) -> list[str]:
    """Return the lines of subtitles that a player takes for times."""
    return [line for line in document.content.file.lines if "-->" in line]


def check_data(data: bytes) -> None:
    pairs = [line.partition("\t") for line in data.decode("utf-8", "replace").split("\n")]
    sides = [each[0] for each in pairs], [each[2] for each in pairs]
    report = examine(*sides, source_lang="en", target_lang="fr")
    assert report.pairs == len(pairs)


def tokenizer(data: bytes) -> None:
    text = data.decode("utf-8", "surrogatepass" if len(data) % 2 else "replace")
    assert TOKENIZER.decode(TOKENIZER.tokens(text).ids) == clean(text)


def sentences(data: bytes) -> None:
    text, end = data.decode("utf-8", "replace"), 0
    for start, stop in split_sentences(text, "en"):
        assert end <= start < stop <= len(text) and not text[end:start].strip()
        end = stop
    assert not text[end:].strip()


def read(name: str, data: bytes) -> None:
    path = FOLDER / name
    path.write_bytes(data)
    list(find_data(path, "en", "xx").train)


def settings(data: bytes) -> None:
    path = FOLDER / "settings.toml"
    path.write_bytes(data)
    Config.load(path)


def layout(data: bytes) -> None:
    path = FOLDER / "tokenizer.json"
    path.write_bytes(data)
    read_layout(open_layout(path), path)


TARGETS = {
    "tokenizer": tokenizer,
    "sentences": sentences,
    "settings": settings,
    "layout": layout,
    **{
        kind: lambda data, name=f"x.{kind}": read(name, data)
        for kind in ("tsv", "csv", "jsonl", "tmx")
    },
    **{kind: partial(copy_document, kind) for kind in DOCUMENTS},
    "check-data": check_data,
}


def main() -> None:
    name = sys.argv.pop(1)
    target = TARGETS[name]

    def once(data: bytes) -> None:
        with suppress(ValueError, OSError):
            target(data)

    corpus = FOLDER / "corpus"  # what the fuzzer begins with, and adds to
    corpus.mkdir()
    if name in (begin := {**DOCUMENTS, "check-data": PAIRS}):
        (corpus / "text").write_text(begin[name], encoding="utf-8")
        (corpus / "choices").write_bytes(bytes(range(60)))
    atheris.Setup([*sys.argv, str(corpus)], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
