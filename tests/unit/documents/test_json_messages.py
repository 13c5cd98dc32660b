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


def test_entries_may_be_in_an_array_or_within() -> None:
    entry = {"id": "a", "description": "A cat.", "defaultMessage": "A dog."}
    source = {"list": [entry], "en": {"a": {"comment": "A cat.", "message": "A dog."}}, "b": "It."}
    expected = json.dumps(source).replace("A dog.", "A DOG.").replace("It.", "IT.")
    assert fill(json.dumps(source)) == expected
    assert json.loads(fill(json.dumps([entry]))) == [entry | {"defaultMessage": "A DOG."}]
    dialogs = {"dialogs": {"open": {"title": "A cat.", "message": "A dog."}}}
    assert fill(json.dumps(dialogs)) == json.dumps(dialogs).replace("A cat.", "A CAT.").replace(
        "A dog.", "A DOG."
    )


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ('{"a": "The {n}."}', '{"a": "l’{n} é/"}'),  # ' would quote the brace for ICU
        (r'{"\u00e9": "The\/ {n}."}', r'{"\u00e9": "l\u2019{n} \u00e9\/"}'),
        ('\ufeff["The {n}."]\r\n', '\ufeff["l’{n} é/"]\r\n'),
    ],
)
def test_the_file_is_written_as_it_was(source: str, result: str) -> None:
    document = open_document(source.encode(), "a.json")
    (text,) = document.texts
    (tag,) = re.findall("<img[^<>]*>", text)
    assert document.fill([f"l'{tag} é/"]).decode() == result


def test_comments_and_last_commas_stay() -> None:
    source = '// The app.\n{"a": "A cat.", /* {"b": "A dog." */ "c": ["No // cat.", ], // "x"\n}\n'
    made = fill(source)
    assert made == source.replace("A cat.", "A CAT.").replace("No // cat.", "NO // CAT.")


@pytest.mark.parametrize("text", ["{", "", "[" * 99_999, "a: b", '{"a": "b"} c', "[1,,]", "/*"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no valid JSON|nested too deeply"):
        open_document(text.encode(), "a.json")


@pytest.mark.parametrize("text", ["{}", "[]", "3", "null", '{"a": "", "b": "{x}"}'])
def test_a_file_without_text_stays(text: str) -> None:
    assert open_document(text.encode(), "a.json").texts == [] and fill(text) == text


def test_a_choice_in_a_form_or_behind_another_is_made_in_each() -> None:
    inner = "{m, plural, one {# fish} other {# fishes}}"
    source = f"I saw {{n, plural, one {{a bird}} other {{birds}}}} and {inner}."
    expected = "{n, plural, one {{m, plural, one {I SAW A BIRD AND # FISH.} other {I SAW A BIRD"
    expected += " AND # FISHES.}}} other {{m, plural, one {I SAW BIRDS AND # FISH.} other {I SAW"
    assert json.loads(fill(json.dumps([source])))[0] == f"{expected} BIRDS AND # FISHES.}}}}}}}}"
    nested = "{g, select, male {{n, plural, one {He.} other {# of him.}}} other {They.}}"
    expected = "{g, select, male {{n, plural, one {HE.} other {# OF HIM.}}} other {THEY.}}"
    assert json.loads(fill(json.dumps([nested]))) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        *("{n, plural, one {a", "{n, plural, one {a} {b}", "{n, plural,", "{n, plural, } }"),
        "{n, plural, one {x} other {# friends {s, select, a {his dog} other {a dog}}}}",
        "# {n, plural, one {a} other {b}}",
        "{n, plural, one {a} other {b}}" * 9,
        "{n, plural, one {" * 9_000,
        "{n, plural, one {" * 900 + "a" + "}}" * 900,
    ],
)
def test_forms_that_are_not_understood_stay_and_are_named(text: str) -> None:
    source = json.dumps({"a": f"the {text}", "b": "A cat."})
    document = open_document(source.encode(), "a.arb")
    assert document.texts == ["A cat."] and len(document.failures.said) == 1
    assert json.loads(document.fill(["Un chat."])) == json.loads(source) | {"b": "Un chat."}


def test_the_endings_of_an_ordinal_stay() -> None:
    source = json.dumps(["{n, selectordinal, one {#st place} other {#th place}}"])
    assert json.loads(fill(source)) == ["{n, selectordinal, one {#st PLACE} other {#th PLACE}}"]


def test_tabs_and_breaks_separate_sentences() -> None:
    document = open_document(json.dumps(["Hello\tthere", "A cat.<br/>A dog."]).encode(), "a.json")
    assert document.texts == ["Hello", "there", "A cat.", "A dog."]
    made = document.fill(["Bonjour", "là", "Un chat.", "Un chien."])
    assert json.loads(made) == ["Bonjour\tlà", "Un chat.<br/>Un chien."]


def test_codes_of_languages_stay() -> None:
    source = {"lang": "en", "locale": "pt_BR", "Language": "English", "a": {"language": "no"}}
    assert json.loads(fill(json.dumps(source))) == source | {"Language": "ENGLISH"}


def test_a_doubled_apostrophe_is_one() -> None:
    assert open_document(b"[\"It''s {n}.\"]", "a.arb").texts[0].startswith("It's ")


@pytest.mark.parametrize(
    "placeholder",
    [
        *("$t(a.b)", "@:a.b", "@.lower:a", "%{x}", "$X$", ":name", "<1>", "{x, number}", "{{x}}"),
        *("$$5.20", "$$", "'{'", "{'@'}", "{x, date, short}"),
    ],
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one apple|%count% apples", "ONE APPLE|%count% APPLES"),
        ("{0} none|{1} one|]1,Inf[ many", "{0} NONE|{1} ONE|]1,Inf[ MANY"),
        ("[0] none|[1,19] some|[20,*] many", "[0] NONE|[1,19] SOME|[20,*] MANY"),
        ("{0} car | {0} cars", "{0} CAR | {0} CARS"),
        ("one: an apple|more: apples", "one: AN APPLE|more: APPLES"),
        ("a\nb|c", "A\nB|C"),
    ],
)
def test_each_form_between_bars_is_a_text(text: str, expected: str) -> None:
    (form, *_) = open_document(json.dumps([text]).encode(), "a.json").texts
    assert "|" not in form and "1" not in re.sub("<[^<>]*>", "", form)
    assert json.loads(fill(json.dumps([text]))) == [expected]
    source = text.replace("\n", " ")
    unit = f"<source>{source}</source>"
    xliff = f"<xliff xmlns='urn:oasis:names:tc:xliff:document:1.2'><u>{unit}</u></xliff>"
    target = expected.replace("\n", " ")
    assert f"{unit}<target>{target}</target>" in fill(xliff, "a.xlf")


@pytest.mark.parametrize("text", ["a || b", "{{ a|b }} c", "x {'|'} y"])
def test_other_bars_are_no_borders(text: str) -> None:
    assert len(open_document(json.dumps([text]).encode(), "a.json").texts) == 1


@pytest.mark.parametrize(
    "text",
    [
        *("I like the red|blue car.", "I like the red|blue car", "(or <b>under|behind</b> it)"),
        *("[options] install|remove x", "-noLogo[:true|false]", "Press Y|N to go on."),
        *("<i>Use this | that</i>", '"Use this | that"', "a cat|", "{0}|a cat"),
    ],
)
def test_bars_in_a_sentence_are_no_borders(text: str) -> None:
    for name, file in (
        ("a.json", json.dumps([text])),
        ("a.strings", f'"a" = {json.dumps(text)};'),
        ("a.po", f'msgid {json.dumps(text)}\nmsgstr ""\n'),
    ):
        document = open_document(file.encode(), name)
        assert len(document.texts) == 1
        written = document.fill(document.texts).decode()
        assert text in written.replace('\\"', '"')


def test_a_choice_in_a_sentence_stays() -> None:
    text = "I like the red|blue car."
    assert json.loads(fill(json.dumps([text]))) == ["I LIKE THE red|blue CAR."]


def test_numbers_of_forms_rise_and_have_an_end() -> None:
    source = json.dumps(["{0} is here | {1} is not here", "{2} of us|{1} of us"])
    texts = open_document(source.encode(), "a.json").texts
    assert [text.count("<img") for text in texts] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "text",
    [
        "There is one apple.|There are %count% apples.",
        "{0} There are none|[1,19] There are some of them|[20,*] There are many",
        *("{1} :value minute ago|[2,*] :value minutes ago", "One new mail | {n} new mails"),
    ],
)
def test_forms_that_are_alike_are_cut(text: str) -> None:
    texts = open_document(json.dumps([text]).encode(), "a.json").texts
    assert len(texts) == text.count("|") + 1


@pytest.mark.parametrize(
    "inner",
    [
        {"form": {"name": "A name.", "message": "A cat."}},
        {"saved": {"message": "A cat.", "description": "A dog."}},
        {"x": {"message": "A cat.", "comment": "A dog."}},
        [{"name": "A doctor.", "message": "A cat."}],
        [{"id": 3, "name": "A doctor.", "message": "A cat."}],
    ],
)
def test_labels_beside_a_message_within_are_translated(inner: object) -> None:
    source = {"home": "Home.", "rest": inner}
    texts = re.findall(r"[A-Z][a-z ]+\.", json.dumps(source))
    assert open_document(json.dumps(source).encode(), "a.json").texts == texts


def test_within_what_programs_read_shows_messages() -> None:
    source = {"b": "It.", "all": [{"id": "m", "description": "A cat.", "message": "A dog."}]}
    assert open_document(json.dumps(source).encode(), "a.json").texts == ["It.", "A dog."]
