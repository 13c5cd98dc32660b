"""A part of a document that fails stays as it is, the reason is said, and the others go on."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("lxml", reason="the extra `documents` is not installed")

from glassformer import Translator
from glassformer.extensions.documents import apart, markup, office, paragraphs
from glassformer.extensions.documents.cli.documents import DocumentReport
from glassformer.extensions.documents.failures import LISTED, Failures
from glassformer.extensions.documents.formats import TranslatableDocument, open_document
from glassformer.extensions.documents.messages import LENGTH
from glassformer.extensions.documents.subtitle_tags import SentenceMarkup
from glassformer.extensions.documents.translating import translate_document
from glassformer.model.files.directory import locate
from glassformer.translate.options import choose_options
from glassformer.translate.writing import Writer

from .test_office import BOLD, run, say, unpack, word

DOG = run("The ") + run("black", BOLD) + run(" dog is tired.")
LETTER = word(run("I am a student."), DOG, run("The cat is old."))
LEFT = ["[Je suis étudiant.]", "[The ][Bblack][ dog is tired.]", "[Le chat est vieux.]"]
PAGE = b"<p>I am a student.</p><p>The <b>black</b>&nbsp;dog  is tired.</p><p>The cat is old.</p>"
PAGE_LEFT = "<p>Je suis étudiant.</p><p>The <b>black</b>&nbsp;dog  is tired.</p>"
CUES = "1\n00:00:01,000 --> 00:00:02,000\n{}\n\n2\n00:00:02,000 --> 00:00:03,000\n{}\n{}\n"
Break = Callable[[object, str, str], None]


@pytest.fixture(scope="module")
def demo() -> Translator:
    return Translator.load("demo", device="cpu")


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Let a function raise KeyError if one of its arguments has a text in it."""

    def change(owner: Any, name: str, text: str) -> None:
        whole = getattr(owner, name)

        def raise_or_call(*arguments: Any, **keywords: Any) -> Any:
            if any(text in str(getattr(each, "raw", each)) for each in arguments):
                raise KeyError(text)
            return whole(*arguments, **keywords)

        monkeypatch.setattr(owner, name, raise_or_call)

    return change


def translate(demo: Translator, document: TranslatableDocument) -> bytes:
    return translate_document(document, demo, locate("demo"), choose_options(demo.config.decode))


def expect(document: TranslatableDocument, text: str) -> None:
    (said,) = document.failures.said
    assert re.fullmatch(rf"“{text}” stays as it is: internal error: KeyError in .*, line \d+", said)


def test_a_paragraph_that_cannot_be_written(demo: Translator, fail: Break) -> None:
    """It fails in its second half, when the first one is written."""
    fail(paragraphs._Writer, "_append_text", "fatigué")
    document = open_document(LETTER, "a.docx")
    made = translate(demo, document)
    assert say(made).split("\n") == LEFT
    assert DOG in unpack(made, "word/document.xml").replace(' xml:space="preserve"', "")
    expect(document, "The black dog is tired.")


def test_a_paragraph_that_cannot_be_read(demo: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(element: Any, dialect: Any) -> paragraphs.Paragraph:
        if len(element) == 3:
            raise KeyError("three")
        return paragraphs.Paragraph(element, dialect)

    monkeypatch.setattr(office, "Paragraph", read)
    document = open_document(LETTER, "a.docx")
    assert say(translate(demo, document)).split("\n") == LEFT
    expect(document, "The black dog is tired.")


def test_a_paragraph_around_another(demo: Translator, fail: Break) -> None:
    fail(paragraphs._Writer, "_append_text", "vieux")
    inner = f"<w:txbxContent><w:p>{run('The dog is tired.')}</w:p></w:txbxContent>"
    outer = run("The cat is old.") + f"<w:r><w:drawing>{inner}</w:drawing></w:r>"
    document = open_document(word(outer), "a.docx")
    said = say(translate(demo, document))
    assert "The cat is old." in said and "Le chien est fatigué." in said
    expect(document, "The cat is old.")


@pytest.mark.parametrize(
    ("owner", "name"), [(markup.Run, "write"), (markup, "_make_run"), (markup, "place_marks")]
)
def test_a_run_of_a_page(demo: Translator, fail: Break, owner: object, name: str) -> None:
    fail(owner, name, "black")
    document = open_document(PAGE, "a.html")
    made = translate(demo, document).decode()
    assert made == PAGE_LEFT + "<p>Le chat est vieux.</p>"
    assert len(document.failures.said) == 1 and "black" in document.failures.said[0]


def test_words_that_cannot_be_aligned(demo: Translator, fail: Break) -> None:
    """Those of all runs are aligned together, and then, since that fails, of each."""
    fail(Writer, "align", "black")
    page = PAGE.replace(b"The cat", b"The <i>cat</i>")
    document = open_document(page, "a.html")
    assert translate(demo, document).decode() == PAGE_LEFT + "<p>Le <i>chat</i> est vieux.</p>"
    expect(document, "The black dog is tired.")


def test_a_subtitle(demo: Translator, fail: Break) -> None:
    fail(SentenceMarkup, "divide", "fatigué")
    text = CUES.format("I am a student.", "- The <i>black</i> dog", "is tired.")
    document = open_document(text.encode(), "a.srt")
    made = translate(demo, document).decode()
    assert made == text.replace("I am a student.", "Je suis étudiant.")
    expect(document, "The black dog is tired.")


@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        ("a.po", '{}msgid "A"\nmsgstr ""\n\nmsgid "B"\nmsgstr ""\n', 'msgid "B"\nmsgstr ""'),
        ("strings.xml", '<resources><string name="a">A</string><string name="b">B</string>'
         "</resources>", '<string name="b">B</string>'),
    ],
)  # fmt: skip
def test_a_message(fail: Break, name: str, text: str, kept: str) -> None:
    fail(SentenceMarkup, "divide", "DONE B")
    fail(paragraphs._Writer, "_append_text", "DONE B")
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    document = open_document(text.format(head).encode(), name)
    made = document.fill([f"DONE {each}" for each in document.texts]).decode()
    assert kept in made and "DONE A" in made and "DONE B" not in made
    expect(document, "B")


def test_the_process_of_a_document_tells_its_server(
    monkeypatch: pytest.MonkeyPatch, fail: Break
) -> None:
    monkeypatch.setattr(apart, "limit_address_space", lambda most: None)  # it would limit the tests
    fail(paragraphs._Writer, "_append_text", "tired")

    def pack(data: bytes) -> bytes:
        return len(data).to_bytes(LENGTH) + data

    def unpack_all(data: bytes) -> list[bytes]:
        found = list[bytes]()
        while data:
            assert data[:1] == b"\0", data
            size = int.from_bytes(data[1 : 1 + LENGTH])
            found.append(data[1 + LENGTH :][:size])
            data = data[1 + LENGTH + size :]
        return found

    head = json.dumps({"name": "a.docx", "memory": 1 << 40, "tags": 100}).encode()
    texts = open_document(LETTER, "a.docx").texts
    order = {"translations": texts, "languages": [None, None]}
    orders = b"".join(map(pack, [head, LETTER, json.dumps(order).encode()]))
    out = io.BytesIO()
    apart.serve_document(io.BytesIO(orders), out)
    content, written, said = unpack_all(out.getvalue())
    assert json.loads(content)["texts"] == texts and written.startswith(b"PK")
    (sentence,) = json.loads(said)
    assert sentence.startswith("“The black dog is tired.” stays as it is: internal error")


def test_memory_is_not_of_one_part() -> None:
    failures = Failures()
    with pytest.raises(MemoryError), failures.leave("a"):
        raise MemoryError
    assert not failures.said


def test_the_first_are_listed(tmp_path: Any) -> None:
    failures = Failures()
    for number in range(LISTED + 2):
        with failures.leave(f"<b>{number}</b>" + " word" * 20):
            raise ValueError("it is\nnot")
    first, *_, last = failures.list_first()
    assert len(failures.list_first()) == LISTED + 1 and last == "2 more parts stay as they are"
    assert first == f"“0{' word' * 7} wor…” stays as it is: it is not"
    report = DocumentReport(tmp_path / "a.html", tmp_path / "b.html", failures)
    assert report.say() == "; ".join(failures.list_first())
    assert report.describe()["failed"] == failures.said and "note" not in report.describe()
