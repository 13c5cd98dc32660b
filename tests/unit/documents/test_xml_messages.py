"""Messages in XML: white space, forms, escapes, and all that is around them."""

from __future__ import annotations

import re

import pytest

from glassformer.extensions.documents.catalogues import cut_at_breaks
from glassformer.extensions.documents.formats import TranslatableDocument, open_document
from glassformer.extensions.documents.markup import read_markup

etree = pytest.importorskip("lxml.etree", reason="the extra `documents` is not installed")

XLIFF = "urn:oasis:names:tc:xliff:document:1.2"


def shout(document: TranslatableDocument) -> bytes:
    """Put the texts of a document in in capitals, read as a translator reads them."""
    pages = map(read_markup, document.texts)
    return document.fill(
        [
            page.fill(
                [
                    run.write(run.text.upper(), [(n, n, 1.0) for n in range(len(run.text.split()))])
                    for run in page.runs
                ]
            )
            for page in pages
        ]
    )


def shout_unit(source: str, attributes: str = "") -> str:
    """Return what is in the target of a unit with a source."""
    unit = f"<xliff xmlns='{XLIFF}'><u {attributes}><source>{source}</source></u></xliff>"
    made = shout(open_document(unit.encode(), "a.xlf")).decode()
    assert f"<source>{source}</source>" in made
    (target,) = re.findall("<target>(.*)</target>", made, re.DOTALL)
    return str(target)


@pytest.mark.parametrize(
    "source",
    [
        "The cat.\n\nThe dog.",
        '  The cat.\n\tThe <g id="1">dog\nbarks</g>. ',
    ],
)
def test_white_space_stays_where_xliff_preserves_it(source: str) -> None:
    expected = re.sub(r"(<[^<>]*>)|[^<>]+", lambda each: each[1] or each[0].upper(), source)
    assert shout_unit(source, "xml:space='preserve'") == expected


def test_line_breaks_of_the_layout_are_none() -> None:
    assert shout_unit("The\n   cat.\n\n   A dog.") == "THE CAT.\n\n   A DOG."


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("a.xlf", f"<xliff xmlns='{XLIFF}'><u><source>{{}}</source></u></xliff>"),
        ("a.resx", "<root><data><value>{}</value></data></root>"),
        ("strings.xml", "<resources><string>{}</string></resources>"),
    ],
)
@pytest.mark.parametrize("mark", [r"\n", r"\t", r"\r\n", "&lt;br/>"])
def test_marks_of_line_breaks_part_texts(name: str, file: str, mark: str) -> None:
    document = open_document(file.format(f"Line 1{mark}Line 2").encode(), name)
    runs = [run.text for text in document.texts for run in read_markup(text).runs if run.text]
    assert runs == ["Line 1", "Line 2"]
    made = shout(document).decode().replace("&gt;", ">")
    assert f">LINE 1{mark}LINE 2<" in made


@pytest.mark.parametrize("source", ["A\n cat.|A\n dog.", "{n, plural, one {A\n cat} other {cats}}"])
def test_line_breaks_in_forms_are_of_the_layout(source: str) -> None:
    file = f"<xliff xmlns='{XLIFF}'><u><source>{source}</source></u></xliff>"
    assert len(open_document(file.encode(), "a.xlf").texts) == 2


def test_comments_in_xliff_stay() -> None:
    assert shout_unit("The <!-- a -->cat") == "THE <!-- a -->CAT"


def test_a_section_of_cdata_ends_where_a_reference_is_needed() -> None:
    head = "<?xml version='1.0' encoding='ISO-8859-1'?>"
    file = f"{head}<root><data><value><![CDATA[a]]></value></data></root>"
    document = open_document(file.encode(), "a.resx")
    expected = file.replace("<![CDATA[a]]>", "&#339; &lt;")
    assert document.fill(["œ &lt;"]).decode() == expected


def test_two_marks_may_be_one_break() -> None:
    assert cut_at_breaks(r"a\r\nb\rc") == ["a", r"\r\n", "b", r"\r", "c"]


@pytest.mark.parametrize(
    "text",
    [
        *(r"\\server\new\reports", r"HKLM\Software\test", r"DOMAIN\name", r"%TEMP%\reports"),
        *(r"(.\tools\run.ps1)", r"App\Models\train", r"\textbf{it}", r"$\theta$", r"'\r\n'"),
    ],
)
def test_names_with_backslashes_have_no_breaks(text: str) -> None:
    assert cut_at_breaks(f"See {text} here") == [f"See {text} here"]


@pytest.mark.parametrize(
    "text",
    [r"a\nb\nc", r"OK\nThen", r"Wait.\nthen", r"%count%\nfiles", r"{0}\nfiles\nx", r"(x).\ny"],
)
def test_small_letters_may_follow_a_break(text: str) -> None:
    assert len(cut_at_breaks(text)) == 1 + 2 * text.count(r"\n")


@pytest.mark.parametrize("text", [r"See C:\temp\new here.", r"Use '\n' here.", r"A \\n here."])
def test_other_backslashes_are_no_breaks(text: str) -> None:
    file = f"<root><data><value>{text}</value></data></root>"
    assert open_document(file.encode(), "a.resx").texts == [text]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (
            '{N, plural, =0 {No cat} other {<x id="A"/> cats}}',
            '{N, plural, =0 {NO CAT} other {<x id="A"/> CATS}}',
        ),
        ("{S, select, a {He.} other {They.} }", "{S, select, a {HE.} other {THEY.} }"),
        (
            'I see {N, plural, one {<g id="1">a <x id="2"/></g>} other {{x0}}}',
            '{N, plural, one {I SEE <g id="1">A <x id="2"/></g>} other {I SEE {x0}}}',
        ),
    ],
)
def test_each_form_in_xliff_is_a_text(source: str, target: str) -> None:
    assert shout_unit(source) == target


def test_forms_in_xliff_that_are_not_understood_are_named() -> None:
    file = f"<xliff xmlns='{XLIFF}'><u><source>{{n, plural, one {{a</source></u></xliff>"
    document = open_document(file.encode(), "a.xlf")
    assert not document.texts and len(document.failures.said) == 1
    assert document.fill([]).decode() == file


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"Error:\u0020", r"ERROR:\u0020"),
        (r"\u0020\u0020an\u0020error", r"\u0020\u0020AN ERROR"),
        (r"<b>An</b> error\u0020 \u0020", r"<b>AN</b> ERROR\u0020 \u0020"),
    ],
)
def test_spaces_at_the_edges_of_android_stay_escaped(text: str, expected: str) -> None:
    file = "<resources><string>{}</string></resources>"
    made = shout(open_document(file.format(text).encode(), "strings.xml"))
    assert made.decode() == file.format(expected)


@pytest.mark.parametrize(
    ("name", "file", "expected"),
    [
        (
            "a.resx",
            "<?xml version='1.0'?>\r\n<root  a='&#65;'><!-- <b> --><data><value>a\r\nb</value>"
            "<note /></data>\r\n<c><![CDATA[<d>]]></c></root>\r\n",
            ("a\r\nb", "A\r\nB"),
        ),
        (
            "strings.xml",
            "<resources>\r\n<string ><![CDATA[a <b>c</b>]]></string><string/>\r\n</resources>",
            ("a <b>c", "A <b>C"),
        ),
        (
            "a.xlf",
            f"<x:xliff xmlns:x='{XLIFF}'>\r\n<u>\r\n  <x:source>a</x:source>\r\n</u>\r\n</x:xliff>",
            ("</x:source>", "</x:source>\r\n  <x:target>A</x:target>"),
        ),
        (
            "a.xlf",
            f"<xliff xmlns='{XLIFF}'><u>"
            "<source>a</source><target state='new' id='1' /></u></xliff>",
            ("<target state='new' id='1' />", '<target id="1">A</target>'),
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_all_else_stays_letter_by_letter(
    name: str, file: str, expected: tuple[str, str], encoding: str
) -> None:
    made = shout(open_document(file.encode(encoding), name))
    assert made == file.replace(*expected).encode(encoding)


def test_what_an_encoding_lacks_becomes_a_reference() -> None:
    file = "<?xml version='1.0' encoding='ISO-8859-1'?><root><data><value>é</value></data></root>"
    made = open_document(file.encode("latin-1"), "a.resx").fill(["œ’é"])
    assert made == file.replace("é", "&#339;&#8217;é").encode("latin-1")
