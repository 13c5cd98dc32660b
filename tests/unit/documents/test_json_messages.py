"""Catalogues of messages in JSON: what is translated, and what stays."""

from __future__ import annotations

import json
import re

import pytest

from glassformer.extensions.documents.declared import compare_languages, declare_language
from glassformer.extensions.documents.formats import open_document

pytest.importorskip("lxml.etree", reason="the extra `documents` is not installed")

MESSAGES = r"""{
  "@@locale": "en", "@greeting": {"description": "The cat is here."},
  "greeting": "The cat is \"here\".",
  "more": {"open": "Open", "list": ["The dog is old.", 3, null, "12"], "url": "https://a.org/b"},
  "cats": "{n, plural, =0 {No cat.} one {# cat is here.} other {{n, number} cats are here.}}",
  "who": "It is {who, select, a {a cat} other {a dog}} here.", "none": "{n, plural, one {#}}"
}
"""
_KEPT = re.compile(r"(<[^<>]*>|&\w+;)|[^<&]+")


def fill(text: str, name: str = "a.json") -> str:
    """Return a file whose texts are in capitals afterwards; tags and entities stay."""
    document = open_document(text.encode(), name)
    translations = [
        _KEPT.sub(lambda match: match[1] or match[0].upper(), each) for each in document.texts
    ]
    return document.fill(translations).decode()


def test_values_are_translated_and_all_else_stays() -> None:
    made = fill(MESSAGES)
    before, after = json.loads(MESSAGES), json.loads(made)
    for name in ("@@locale", "@greeting", "none"):
        assert after[name] == before[name]
    assert made.splitlines()[2] == r"""  "greeting": "THE CAT IS \"HERE\".","""
    lines = {"open": "OPEN", "list": ["THE DOG IS OLD.", 3, None, "12"]}
    assert after["more"] == before["more"] | lines
    assert made.splitlines()[0] == "{"


def test_each_form_of_a_message_is_one_with_the_text_around_it() -> None:
    after = json.loads(fill(MESSAGES))
    forms = "=0 {NO CAT.} one {# CAT IS HERE.} other {{n, number} CATS ARE HERE.}"
    assert after["cats"] == f"{{n, plural, {forms}}}"
    assert after["who"] == "{who, select, a {IT IS A CAT HERE.} other {IT IS A DOG HERE.}}"


@pytest.mark.parametrize("key", ["message", "defaultMessage", "string"])
def test_of_entries_with_a_message_that_alone_is_translated(key: str) -> None:
    entry = {key: "Hello $user$!", "description": "A cat.", "placeholders": {"user": {"x": "A."}}}
    made = json.loads(fill(json.dumps({"a": entry, "b": {key: "A dog."}})))
    assert made == {"a": entry | {key: "HELLO $user$!"}, "b": {key: "A DOG."}}


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ('{"a": "The {n}."}', '{"a": "l’{n} é/"}'),  # ' would quote the brace for ICU
        ('{"a": "The \'{n}\'."}', '{"a": "l\'{n} é/"}'),
        (r'{"\u00e9": "The\/ {n}."}', r'{"\u00e9": "l\u2019{n} \u00e9\/"}'),
        ('\ufeff["The {n}."]\r\n', '\ufeff["l’{n} é/"]\r\n'),
    ],
)
def test_the_file_is_written_as_it_was(source: str, result: str) -> None:
    document = open_document(source.encode(), "a.json")
    (text,) = document.texts
    assert document.fill([text.replace("The", "l'").replace(" ", "")]).decode() != source
    number = text[text.index("<") : text.rindex(">") + 1] if "<" in text else "{n}"
    assert document.fill([f"l'{number} é/"]).decode() == result


@pytest.mark.parametrize("text", ["{", "", "[" * 99_999, "a: b", '{"a": "b"} c', "[1,]"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no valid JSON|nested too deeply"):
        open_document(text.encode(), "a.json")


@pytest.mark.parametrize("text", ["{}", "[]", "3", "null", '{"a": "", "b": "{x}"}'])
def test_a_file_without_text_stays(text: str) -> None:
    assert open_document(text.encode(), "a.json").texts == [] and fill(text) == text


@pytest.mark.parametrize(
    "text", ["{n, plural, one {a", "{n, plural, one {a} {b}", "{n, plural,", "{n, plural, } }", "}"]
)
def test_forms_that_are_broken_are_none(text: str) -> None:
    source = json.dumps({"a": f"the {text}"})
    document = open_document(source.encode(), "a.arb")
    assert json.loads(document.fill(document.texts)) == json.loads(source)


@pytest.mark.parametrize(
    "placeholder",
    ["$t(a.b)", "@:a.b", "@.lower:a", "%{x}", "$X$", ":name", "<1>", "{x, number}", "{{x}}"],
)
def test_placeholders_are_no_text(placeholder: str) -> None:
    source = json.dumps({"a": f"Hello {placeholder} my friend!"})
    assert json.loads(fill(source)) == {"a": f"HELLO {placeholder} MY FRIEND!"}


def test_a_surrogate_alone_is_a_replacement_character() -> None:
    document = open_document(rb'["\ud83d\ude00 cat", "\ud800 dog"]', "a.json")
    assert document.texts == ["😀 cat", "\ufffd dog"]


def test_arb_says_its_language() -> None:
    data = b'{"@@locale": "de", "a": "Die Katze."}'
    assert "its texts are in de, not in en" in compare_languages(data, "a.arb", "en", "fr")
    assert declare_language(data, "a.arb", "pt_BR") == data.replace(b'"de"', b'"pt-BR"')
    assert declare_language(data, "a.json", "fr") == data
