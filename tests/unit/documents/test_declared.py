"""A translated file says its language, and a file of other languages is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.extensions.documents.declared import (
    compare_languages,
    declare_language,
    find_languages,
)

XLIFF_1 = b'<xliff version="1.2"><file id="a" source-language="en-US"%s></file></xliff>'
XLIFF_2 = b'<xliff version="2.0" srcLang="en"%s><file id="f"/></xliff>'
PO = b'msgid ""\nmsgstr ""\n"Language: %s\\n"\n"Content-Type: text/plain\\n"\n'


@pytest.mark.parametrize(
    ("name", "data", "languages", "declared"),
    [
        (
            "a.html",
            b"<!DOCTYPE html>\n<html lang='en-GB' class=x><p lang=\"de\">",
            ("en-GB", ""),
            b"='fr'",
        ),
        ("a.xhtml", b'<html xml:lang="en" lang="en">', ("en", ""), b'xml:lang="fr" lang="fr"'),
        ("a.htm", b'<html data-lang="en"><p>', ("", ""), b'data-lang="en"'),
        ("a.xlf", XLIFF_1 % b"", ("en-US", ""), b'"en-US" target-language="fr">'),
        ("a.xlf", XLIFF_1 % b' target-language="de"', ("en-US", "de"), b'target-language="de"'),
        ("a.xliff", XLIFF_2 % b"", ("en", ""), b'srcLang="en" trgLang="fr">'),
        ("a.xliff", XLIFF_2 % b" trgLang = 'pt-BR'", ("en", "pt-BR"), b"trgLang = 'pt-BR'>"),
        (
            "a.xlf",
            XLIFF_1 % b' target-language=""',
            ("en-US", ""),
            b'"en-US" target-language="fr">',
        ),
        (
            "a.htm",
            b"<!-- <html lang='de'> --><html lang=en>",
            ("en", ""),
            b"'de'> --><html lang=fr>",
        ),
        ("a.htm", b'<html><body class="a" lang="en">', ("en", ""), b'"a" lang="fr">'),
        ("a.po", PO % b"", ("", ""), b'"Language: fr\\n"'),
        ("a.po", PO % b"de", ("", "de"), b'"Language: de\\n"'),
        ("a.txt", b'<html lang="en">', ("", ""), b'"en"'),
        ("a.html", b"", ("", ""), b""),
        ("a.html", '<html lang="en">'.encode("utf-16"), ("", ""), b""),
    ],
)
def test_what_a_file_says(
    name: str, data: bytes, languages: tuple[str, str], declared: bytes
) -> None:
    assert [each for each in find_languages(data, name) if any(each)] == [languages] * any(
        languages
    )
    assert declared in declare_language(data, name, "fr")
    assert declare_language(data, name, None) == data


def test_other_languages_are_named() -> None:
    data = XLIFF_1 % b' target-language="de"'
    assert compare_languages(data, "a.xlf", "en", "de-AT") == ""
    assert compare_languages(data, "a.xlf", None, None) == ""
    assert compare_languages(data, "a.xlf", "fr", "es") == (
        "a.xlf says that its texts are in en-US, not in fr, "
        "and its translations are in de, not in es"
    )


def test_each_file_in_one_has_its_languages() -> None:
    data = XLIFF_1 % b' target-language="de"' + XLIFF_1.replace(b"en-US", b"es") % b""
    said = (
        "a.xlf says that its translations are in de, not in fr, and its texts are in es, not in en"
    )
    assert compare_languages(data, "a.xlf", "en", "fr") == said
    written = declare_language(data, "a.xlf", "fr")
    assert written.count(b'target-language="fr"') == written.count(b'target-language="de"') == 1


def test_a_long_tag_takes_no_time() -> None:
    """A hostile page is searched once from left to right."""
    data = b"<html " + b" lang='" * 200_000
    assert find_languages(data, "a.html") == [("", "")]
    assert declare_language(data, "a.html", "fr") == data


def test_the_command_writes_and_says_the_languages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, catalogue = tmp_path / "page.html", tmp_path / "a.po"
    page.write_text('<html lang="en"><p>The cat is small.</p></html>', encoding="utf-8")
    catalogue.write_bytes(PO % b"de" + b'\nmsgid "The cat is small."\nmsgstr ""\n')
    for path in (page, catalogue):
        out = path.with_stem("out")
        main(["translate", "demo", "--file", str(path), "--output", str(out)])
    assert '<html lang="fr">' in (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "a.po says that its translations are in de, not in fr" in capsys.readouterr().err


UNSET = b'"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n'
FORMS = b'\nmsgid "a"\nmsgid_plural "%d b"\nmsgstr[0] "c"\nmsgstr[1] ""\n"%d d"\n'


@pytest.mark.parametrize("unset", [UNSET, b""])
@pytest.mark.parametrize(
    ("language", "count", "rule", "one"),
    [
        ("fr", 2, b"(n > 1)", b'"c"'),
        ("de-AT", 2, b"(n != 1)", b'"c"'),
        ("pt-BR", 2, b"(n > 1)", b'"c"'),
        ("ja", 1, b"(0)", b"%d d"),
        ("ru", 3, b"(n%10==1 && ", b"%d d"),
        ("pl", 3, b"(n==1 ? ", b'"c"'),
    ],
)
def test_gettext_gets_the_plural_forms_of_its_language(
    unset: bytes, language: str, count: int, rule: bytes, one: bytes
) -> None:
    written = declare_language(PO % b"" + unset + FORMS, "a.po", language)
    assert b"nplurals=%d; plural=%s" % (count, rule) in written
    forms = written.partition(b"msgstr[0]")[2]
    assert forms.count(b"msgstr[") == count - 1 and written.endswith(b'"%d d"\n')
    assert one in forms.partition(b"msgstr[")[0]
    assert declare_language(written, "a.po", "fr") == written
