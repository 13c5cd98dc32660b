"""Messages of programs: read again by other libraries; placeholders, tags and keys stay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from glassformer.extensions.documents import plural_forms
from glassformer.extensions.documents.declared import declare_language
from glassformer.extensions.documents.formats import TranslatableDocument, open_document
from glassformer.extensions.documents.markup import read_markup

etree = pytest.importorskip("lxml.etree", reason="the extra `documents` is not installed")
polib = pytest.importorskip("polib", reason="the extra `documents` is not installed")

WORDS = {
    "The cat is here.": "Le chat est là.",
    "A dog.": "L'ami.",
    "Open": "Ouvrir",
    "Hello !": "Bonjour !",
    "You have new messages.": "Vous avez des messages.",
    "See the page for more.": "Voir la page.",
    "one file": "un fichier",
    "files": "fichiers",
}


def translate(document: TranslatableDocument) -> bytes:
    """Put the words of the table in, with what is between tags at the same word."""
    filled = []
    for text in document.texts:
        page, written = read_markup(text), []
        for run in page.runs:
            words = run.text.split()
            target = WORDS[" ".join(words)]
            links = [(n, min(n, len(target.split()) - 1), 1.0) for n in range(len(words))]
            written.append(run.write(target, links))
        filled.append(page.fill(written))
    return document.fill(filled)


PO = r"""# A translator's note.
msgid ""
msgstr ""
"Language: fr\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\n"

#. for the menu
#: main.c:12
msgctxt "menu"
msgid "Open"
msgstr ""

msgid "A dog."
msgstr "Kept."

#, c-format
msgid "You have %d new messages.\n"
msgstr ""

#, python-brace-format
msgid "one file"
msgid_plural "{n} files"
msgstr[0] ""
msgstr[1] ""

#~ msgid "Old"
#~ msgstr ""
"""


def test_po() -> None:
    made = translate(open_document(PO.encode(), "fr.po")).decode()
    before, after = polib.pofile(PO), polib.pofile(made)
    assert [entry.msgid for entry in after] == [entry.msgid for entry in before]
    assert [entry.occurrences for entry in after] == [entry.occurrences for entry in before]
    assert after.metadata == before.metadata and after.header == before.header
    assert [entry.msgstr for entry in after][:2] == ["Ouvrir", "Kept."]
    assert re.fullmatch(r"Vous avez( %d)? des( %d)? messages\.\n", after[2].msgstr)
    assert after[2].msgstr.count("%d") == 1
    assert after[3].msgstr_plural == {0: "un fichier", 1: "{n} fichiers"}
    assert after[4].obsolete and after[0].msgctxt == "menu"


def test_all_other_lines_of_po_stay() -> None:
    """Also those of a head that others would write in another order, and fold."""
    head = "\n".join(
        [
            f"# {'A long remark of a translator. ' * 4}",
            'msgid ""',
            r'msgstr "X-Generator: a\nLanguage: \n"',
            r'"Project-Id-Version: b\n"',
            rf'"Plural-Forms: nplurals=2; plural=({"n != 1 || " * 20}n > 1);\n"',
        ]
    )
    rest = 'msgid ""\n"The cat "\n"is here."\nmsgstr%s\n\nmsgid "A dog."\nmsgstr ""\n"Ke"\n"pt."\n'
    file = f"{head}\n\n#: a.c:1\n#: b.c:2\n{rest}".replace("\n", "\r\n")
    made = translate(open_document((file % ' ""\r\n""').encode(), "a.po"))
    assert made.decode() == file % ' "Le chat est là."'
    assert declare_language(made, "a.po", "fr") == made.replace(b"Language: ", b"Language: fr")


@pytest.mark.parametrize(
    ("rule", "sources"),
    [
        ("nplurals=1; plural=0;", ["{n} files"]),
        ("nplurals=2; plural=(n != 1);", ["one file", "{n} files"]),
        ("nplurals=2; plural=(n > 1);", ["one file", "{n} files"]),
        (  # that of 1, 21, 31 comes first
            "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2);",
            ["{n} files"] * 3,
        ),
        ("nplurals=3; plural=(n==0 ? 0 : n==1 ? 1 : 2);", ["{n} files", "one file", "{n} files"]),
        ("nplurals=2; plural=__import__(1);", ["one file", "{n} files"]),
        ("", ["one file", "{n} files"]),
    ],
)
def test_plurals_of_po(rule: str, sources: list[str]) -> None:
    forms = "".join(f'msgstr[{number}] ""\n' for number in range(len(sources)))
    head = f'msgid ""\nmsgstr "Plural-Forms: {rule}\\n"\n\n'
    text = f'{head}msgid "one file"\nmsgid_plural "{{n}} files"\n{forms}'
    document = open_document(text.encode(), "a.po")
    read = [re.sub(r"<[^>]*>", "{n}", each) for each in document.texts]
    assert [each.replace("{n}{n}", "{n}") for each in read] == sources


def test_a_form_is_chosen_without_a_look_at_its_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plural_forms, "find_verbatim", None)
    assert plural_forms.is_for_one({1}, "one file", "%d files")
    assert not plural_forms.is_for_one({0, 2}, "one file", "%d files")


def test_po_that_names_a_file_does_not_read_it(tmp_path: Path) -> None:
    secret = tmp_path / "secret.po"
    secret.write_text('msgid "secret"\nmsgstr ""\n', encoding="utf-8")
    for name in (secret, f"{secret}\n", "/etc/passwd"):
        try:
            document = open_document(str(name).encode(), "a.po")
        except ValueError as error:
            assert "passwd" not in str(error)
        else:
            assert "secret" not in " ".join(document.texts)


def test_a_copy_in_po_is_translated() -> None:
    document = open_document(b'msgid "A dog."\nmsgstr "A dog."\n', "a.po")
    assert document.texts == ["A dog."]


XLIFF_1 = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a"
 source-language="en" target-language="fr" datatype="plaintext"><body>
<trans-unit id="1"><source>The <g id="a">cat</g> is here.</source></trans-unit>
<trans-unit id="2"><source>Hello <x id="n"/>!</source><target state="new"></target></trans-unit>
<trans-unit id="3"><source>A dog.</source><target>Kept.</target></trans-unit>
<trans-unit id="4" translate="no"><source>A dog.</source></trans-unit>
<trans-unit id="5"><source>See <bpt id="1">&lt;a></bpt>the page<ept id="1">&lt;/a></ept> for
 more.</source><note>kept</note></trans-unit></body></file></xliff>"""


def test_xliff_1() -> None:
    made = etree.fromstring(translate(open_document(XLIFF_1.encode(), "a.xlf")))
    units = {unit.get("id"): unit for unit in made.iter("{*}trans-unit")}
    targets = {id: unit.find("{*}target") for id, unit in units.items()}
    assert "".join(targets["1"].itertext()) == "Le chat est là."
    assert targets["1"].find("{*}g").text == "chat" and targets["1"].find("{*}g").get("id") == "a"
    assert [each.tag.split("}")[1] for each in targets["2"]] == ["x"]
    assert targets["3"].text == "Kept." and targets["4"] is None
    codes = [each.tag.split("}")[1] for each in targets["5"]]
    assert codes == ["bpt", "ept"]
    assert targets["5"].find("{*}bpt").tail.strip() == "la page"
    assert [each.tag.split("}")[1] for each in units["5"]] == ["source", "target", "note"]
    sources = [*etree.fromstring(XLIFF_1.encode()).iter("{*}source")]
    assert [*map(etree.tostring, made.iter("{*}source"))] == [*map(etree.tostring, sources)]


def test_a_target_that_is_a_copy_of_its_source_is_replaced() -> None:
    inner = "The <g id='a'>cat</g> is here."
    unit = f"<source>{inner}</source><target state='new'>{inner}</target>"
    file = f"<xliff xmlns='urn:oasis:names:tc:xliff:document:1.2'><u>{unit}</u></xliff>"
    made = etree.fromstring(translate(open_document(file.encode(), "a.xlf")))
    (target,) = made.iter("{*}target")
    assert "".join(target.itertext()) == "Le chat est là." and not target.attrib
    assert [(each.get("id"), each.text) for each in target] == [("a", "chat")]


XLIFF_2 = """<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en"
 trgLang="fr"><file id="f"><unit id="1"><segment state="initial"><source>The <pc id="1">cat</pc> is
 here.</source></segment><segment><source>Hello <ph id="2"/>!</source></segment></unit>
<unit id="2" translate="no"><segment><source>A dog.</source></segment></unit></file></xliff>"""


def test_xliff_2() -> None:
    made = etree.fromstring(translate(open_document(XLIFF_2.encode(), "a.xliff")))
    first, second, third = made.iter("{*}segment")
    assert first.find("{*}target/{*}pc").text == "chat"
    assert "".join(first.find("{*}target").itertext()) == "Le chat est là."
    assert second.find("{*}target/{*}ph").get("id") == "2" and third.find("{*}target") is None


RESX = """<?xml version="1.0" encoding="utf-8"?>
<root><resheader name="version"><value>2.0</value></resheader>
<data name="a" xml:space="preserve"><value>Hello {0}!</value><comment>A dog.</comment></data>
<data name="b"><value>See &lt;b&gt;the page&lt;/b&gt; for more.</value></data>
<data name="i" type="System.Drawing.Bitmap"><value>A dog.</value></data>
<data name=">>x.Name"><value>A dog.</value></data></root>"""


def test_resx() -> None:
    made = etree.fromstring(translate(open_document(RESX.encode(), "a.resx")))
    values = [each.text for each in made.iter("value")]
    assert values == ["2.0", "Bonjour {0}!", "Voir <b>la page</b>.", "A dog.", "A dog."]
    assert made.find("data/comment").text == "A dog."


ANDROID = r"""<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- kept -->
    <string name="a">The <b>cat</b> is here.</string>
    <string name="b" translatable="false">A dog.</string>
    <string name="c">A dog.</string>
    <string name="d">Hello <xliff:g id="who">%1$s</xliff:g>!</string>
    <string name="e">@string/a</string>
    <plurals name="f"><item quantity="one">one file</item><item quantity="other">%d files</item>
    </plurals>
</resources>"""


def test_android() -> None:
    made = translate(open_document(ANDROID.encode(), "strings.xml"))
    root = etree.fromstring(made)
    texts = {each.get("name"): "".join(each.itertext()) for each in root.iter("string")}
    assert texts == {
        "a": "Le chat est là.",
        "b": "A dog.",
        "c": r"L\'ami.",  # as Android needs it
        "d": texts["d"],
        "e": "@string/a",
    }
    assert root.find("string/b").text == "chat"
    assert root.find("string/{*}g").text == "%1$s" and b"<!-- kept -->" in made
    assert [each.text.strip() for each in root.iter("item")] == ["un fichier", "%d fichiers"]
    with pytest.raises(ValueError, match="only Android's"):
        open_document(b"<a>text</a>", "a.xml")


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        (r"A\u0020dog.", r"L\'ami."),
        (r'"A dog."', r'"L\'ami."'),
        (r"\"A dog.\"", r"\"L\'ami.\""),
        (r"Hello\u00a0!", "Bonjour !"),
    ],
)
def test_escapes_of_android_come_back(text: str, translation: str) -> None:
    file = f"<resources><string name='a'>{text}</string></resources>"
    WORDS['"A dog."'] = '"L\'ami."'
    root = etree.fromstring(translate(open_document(file.encode(), "strings.xml")))
    assert root.find("string").text == translation


def test_what_android_has_no_words_in_stays() -> None:
    text = r"\'%1$s\' \u2019 \"%2$s\""
    file = f"<resources><string name='a'>{text}</string><string name='b'>Open</string></resources>"
    root = etree.fromstring(translate(open_document(file.encode(), "strings.xml")))
    assert [each.text for each in root.iter("string")] == [text, "Ouvrir"]


@pytest.mark.parametrize("mark", ["mtype='protected'", "translate='no'"])
def test_what_xliff_protects_stays(mark: str) -> None:
    inner = f"The cat is <mrk {mark}>files</mrk> here."
    file = (
        "<xliff xmlns='urn:oasis:names:tc:xliff:document:1.2'>"
        f"<u><source>{inner}</source></u></xliff>"
    )
    made = etree.fromstring(translate(open_document(file.encode(), "a.xlf")))
    (target,) = made.iter("{*}target")
    (protected,) = target
    assert protected.tag.endswith("}mrk") and protected.text == "files"
    assert " ".join("".join(target.itertext()).replace("files", "").split()) == "Le chat est là."


def test_an_empty_file_is_in_utf_8() -> None:
    assert open_document(b"", "a.po").fill([]).isascii()
    assert b"\0" not in open_document(b"", "a.po").fill([])


STRINGS = r"""/* A dog. = "kept" */
"key.one" = "The cat is here.";
// "A dog."
open = "Open";
"two" = "You have %@ new messages.\n";
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_apple_strings(encoding: str) -> None:
    made = translate(open_document(STRINGS.encode(encoding), "a.strings")).decode(encoding)
    lines, former = made.splitlines(), STRINGS.splitlines()
    assert lines[:2] == [former[0], '"key.one" = "Le chat est là.";']
    assert lines[2:4] == [former[2], 'open = "Ouvrir";']
    assert re.fullmatch(r'"two" = "Vous avez (%@ )?des (%@ )?messages\.\\n";', lines[4])
    assert lines[4].count("%@") == 1


def test_surrogates_that_escapes_name_are_one_character() -> None:
    given = '"a" = "\\UD83D\\UDE00 cat"; "b" = "\\uD800 dog";'
    assert open_document(given.encode(), "a.strings").texts == ["😀 cat", "\ufffd dog"]


def test_what_has_no_value_stays() -> None:
    given = 'no value; "none either"; "a" "b" = "c"; "open'
    document = open_document(given.encode(), "a.strings")
    assert document.texts == ["c"]
    assert document.fill(["d"]).decode() == given.replace('"c"', '"d"')


@pytest.mark.parametrize(
    "placeholder",
    ["%s", "%1$d", "%(name)s", "{x}", "{{x}}", "${x}", "%@", "<b>", "&amp;", "https://a.org/b?c=d"],
)
def test_placeholders_come_back_once(placeholder: str) -> None:
    strings = f'"a" = "Hello {placeholder}!";'
    made = translate(open_document(strings.encode(), "a.strings")).decode()
    assert made.count(placeholder) == 1 and "Bonjour" in made
