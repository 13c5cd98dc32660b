"""LibreTranslate's API: what its clients send, and what they expect."""

from __future__ import annotations

import re
from urllib.parse import quote_plus, urlencode

import pytest

from glassformer import Translator
from glassformer.extensions.serve.api.libre import leave_same

from .conftest import Client

FORM = {"Content_Type": "application/x-www-form-urlencoded"}


def ask(client: Client, **given: object) -> object:
    found = client.ask("/translate", {"source": "en", "target": "fr", **given})
    assert found.status == 200, found.body
    return found.json


@pytest.fixture(scope="module")
def plain() -> Translator:
    return Translator.load("demo", device="cpu")


def test_one_text(client: Client, plain: Translator) -> None:
    text = "The black dog is tired."
    (expected,) = plain.translate([text])
    assert ask(client, q=text) == {"translatedText": expected}


def test_several_texts_come_back_in_order(client: Client, plain: Translator) -> None:
    texts = ["The cat is on the mat.", "I am a student.", "The dog is tired."]
    assert ask(client, q=texts) == {"translatedText": plain.translate(texts)}
    assert ask(client, q=texts[:1]) == {"translatedText": plain.translate(texts[:1])}


def test_a_form_and_the_query_will_do(client: Client, plain: Translator) -> None:
    given = {"q": "I am a student.", "source": "en", "target": "fr"}
    expected = {"translatedText": plain.translate([given["q"]])[0]}
    assert client.ask("/translate", urlencode(given).encode(), **FORM).json == expected
    assert client.ask(f"/translate?{urlencode(given)}", b"").json == expected


def write_parts(q: bytes, file: bytes = b"") -> bytes:
    fields = [b'name="q"\r\n\r\n' + q, b'name="source"\r\n\r\nen', b'name="target"\r\n\r\nfr']
    if file:
        fields.append(b'name="file"; filename="' + file + b'"\r\n\r\n<p>I am a student.</p>')
    return (
        b"".join(b"--x\r\nContent-Disposition: form-data; " + each + b"\r\n" for each in fields)
        + b"--x--\r\n"
    )


PARTS = {"Content_Type": "multipart/form-data; boundary=x"}
LATIN = {"Content_Type": 'multipart/form-data; charset="latin-1"; boundary=x'}


@pytest.mark.parametrize(
    ("path", "body", "headers", "said"),
    [
        ("/translate", b"q=caf%E9&source=en&target=fr", FORM, "the form is not UTF-8"),
        ("/translate", b"q=caf\xe9&source=en&target=fr", FORM, "the form is not UTF-8"),
        ("/translate", b"q=a&source=en&target=f%ff", FORM, "the form is not UTF-8"),
        ("/translate?q=caf%E9&source=en&target=fr", b"", {}, "the query is not UTF-8"),
        ("/translate", write_parts(b"caf\xe9"), PARTS, "the field 'q' of the form is not UTF-8"),
        ("/detect", b"q=%C3%28", FORM, "the form is not UTF-8"),
        ("/detect", write_parts(b"\xff"), PARTS, "the field 'q' of the form is not UTF-8"),
        (
            "/translate_file",
            write_parts(b"", b"\xe9.html"),
            PARTS,
            "'file' of the form is not UTF-8",
        ),
        ("/translate_file", write_parts(b"\xe9", b"a.html"), PARTS, "'q' of the form is not UTF-8"),
    ],
)
def test_a_form_that_is_not_utf8_is_refused(
    client: Client, path: str, body: bytes, headers: dict[str, str], said: str
) -> None:
    found = client.ask(path, body, **headers)
    assert found.status == 400 and found.json["error"].endswith(said)


@pytest.mark.parametrize("text", ["One cat.\r\n", "One cat.\n\n", "One cat.\r\nThe dog.", "\nA"])
def test_a_form_keeps_its_lines(client: Client, text: str) -> None:
    """As JSON does."""
    given = {"q": text, "source": "en", "target": "fr"}
    expected = client.ask("/translate", given).json
    assert client.ask("/translate", urlencode(given).encode(), **FORM).json == expected
    assert client.ask("/translate", write_parts(text.encode()), **PARTS).json == expected
    assert re.findall(r"\s*\n", expected["translatedText"]) == re.findall(r"\s*\n", text)


def test_a_form_in_parts_has_the_charset_that_it_names(client: Client, plain: Translator) -> None:
    text = "The café is on the mat."
    expected = {"translatedText": plain.translate(text)}
    assert client.ask("/translate", write_parts(text.encode()), **PARTS).json == expected
    assert client.ask("/translate", write_parts(text.encode("latin-1")), **LATIN).json == expected
    named = {"Content_Type": "multipart/form-data; boundary=x; charset=nosuch"}
    assert client.ask("/translate", write_parts(text.encode()), **named).status == 415
    assert client.ask("/translate_file", write_parts(b"", "é.html".encode()), **PARTS).status == 200


def test_a_form_may_have_utf8_as_it_is(client: Client, plain: Translator) -> None:
    """As `curl -d` sends it, which escapes nothing."""
    text = "The café is on the mat."
    for given in (text, quote_plus(text), text.replace(" ", "+")):
        found = client.ask("/translate", f"q={given}&source=en&target=fr".encode(), **FORM)
        assert found.json == {"translatedText": plain.translate(text)}


def test_several_texts_in_a_form(client: Client, plain: Translator) -> None:
    texts = ["The cat is on the mat.", "I am a student."]
    given = [("q", texts[0]), ("q", texts[1]), ("source", "en"), ("target", "fr")]
    found = client.ask("/translate", urlencode(given).encode(), **FORM)
    assert found.json == {"translatedText": plain.translate(texts)}


def test_lines_and_white_space_stay(client: Client, plain: Translator) -> None:
    one, other = plain.translate(["I am a student.", "The dog is tired."])
    found = ask(client, q="I am a student.\n\n  The dog is tired.  I am a student.\n")
    assert found == {"translatedText": f"{one}\n\n  {other}  {one}\n"}


@pytest.mark.parametrize("text", ["...", " \n", "-- !?"])
def test_what_has_no_letters_stays(client: Client, text: str) -> None:
    assert ask(client, q=text) == {"translatedText": text}


def test_the_server_says_what_python_says(client: Client, plain: Translator) -> None:
    """Also of what looks wrong and is searched for again, in a paragraph as alone."""
    odd = ["I like coffee.", "Die Katze ist alt.", "12 birds, 1234 dogs.", "word word word word."]
    texts = [*odd, " ".join(["The cat is old.", *odd]), "🙂🙂", "猫 The cat."]
    assert ask(client, q=texts)["translatedText"] == plain.translate(texts)


def test_alternatives(client: Client) -> None:
    found = ask(client, q="The cat is on the mat.", alternatives=2)
    assert isinstance(found, dict)
    assert found["translatedText"] not in found["alternatives"]
    assert len(set(found["alternatives"])) == len(found["alternatives"]) <= 2
    many = ask(client, q=["The cat is on the mat."], alternatives=2)
    assert many == {name: [value] for name, value in found.items()}


def test_alternatives_differ_in_more_than_their_marks() -> None:
    ways = ["J'aime ça.", "J’aime ça.", "j'aime\u202fça.", "« Oui »", '"oui"', "Non.", "Non."]
    assert leave_same(ways) == ["« Oui »", "Non."]
    assert leave_same(["Il la voit.", "Il l'a voit."]) == ["Il l'a voit."]


def test_auto(client: Client) -> None:
    found = ask(client, q="Le chat est sur le tapis.", source="auto", target="en")
    assert isinstance(found, dict)
    assert found["detectedLanguage"]["language"] == "fr"
    assert found["translatedText"] == "The cat is on the mat."
    mixed = ask(client, q=["Je suis étudiant.", "I am a student."], source="auto", target="fr")
    assert isinstance(mixed, dict)
    assert [each["language"] for each in mixed["detectedLanguage"]] == ["fr", "en"]
    assert mixed["translatedText"][0] == "Je suis étudiant."


def test_codes_with_a_region(client: Client, plain: Translator) -> None:
    expected = plain.translate(["I am a student."])[0]
    found = ask(client, q="I am a student.", source="en-US", target="fr_CA")
    assert found == {"translatedText": expected}


def test_languages(client: Client) -> None:
    assert client.ask("/languages").json == [
        {"code": "en", "name": "English", "targets": ["en", "fr"]},
        {"code": "fr", "name": "French", "targets": ["en", "fr"]},
    ]


def test_detect(client: Client) -> None:
    found = client.ask("/detect", {"q": "Le chat est sur le tapis."}).json
    assert found[0]["language"] == "fr" and 90 < found[0]["confidence"] <= 100


def test_settings_and_health(client: Client) -> None:
    settings = client.ask("/frontend/settings").json
    assert settings["charLimit"] == 2000 and settings["keyRequired"] is False
    assert settings["language"]["source"] == {"code": "auto", "name": "Auto Detect"}
    assert client.ask("/health").json["status"] == "ok"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"source": "en", "target": "fr"}, "Invalid request: missing q parameter"),
        ({"q": "a", "target": "fr"}, "Invalid request: missing source parameter"),
        ({"q": "a", "source": "en"}, "Invalid request: missing target parameter"),
        ({"q": "a", "source": "xx", "target": "fr"}, "xx is not supported"),
        ({"q": "a", "source": "en", "target": "xx"}, "xx is not supported"),
        (
            {"q": "a", "source": "en", "target": "fr", "format": "pdf"},
            "pdf format is not supported",
        ),
        (
            {"q": "a" * 2001, "source": "en", "target": "fr"},
            "Invalid request: request (2001) exceeds text limit (2000)",
        ),
        (
            {"q": ["a"] * 21, "source": "en", "target": "fr"},
            "Invalid request: request (21) exceeds text limit (20)",
        ),
        (
            {"q": {"a": 1}, "source": "en", "target": "fr"},
            "Invalid request: q is a text, or a list of texts",
        ),
        ({"q": "a", "source": ["en"], "target": "fr"}, "Invalid request: source is a text"),
    ],
)
def test_mistakes(client: Client, given: object, sentence: str) -> None:
    found = client.ask("/translate", given)
    assert (found.status, found.json) == (400, {"error": sentence})


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"null", b"[" * 9000, b"\xff\xfe"])
def test_no_json(client: Client, body: bytes) -> None:
    found = client.ask("/translate", body, Content_Type="application/json")
    assert found.status == 400 and set(found.json) == {"error"}


CAFE = '{"q": "I am a student.", "source": "en", "target": "fr", "note": "café"}'
READ = {
    "a type of JSON": (b"application/ld+json", CAFE.encode()),
    "with another charset": (b"application/json; charset=iso-8859-1", CAFE.encode("latin-1")),
    "with a byte order mark": (b"application/json", CAFE.encode("utf-8-sig")),
    "in UTF-16": (b"application/json", CAFE.encode("utf-16")),
}


@pytest.mark.parametrize("how", READ)
def test_json_as_clients_send_it(client: Client, how: str) -> None:
    kind, body = READ[how]
    answer = client.ask("/translate", body, Content_Type=kind.decode())
    assert answer.json == {"translatedText": "Je suis étudiant."}


@pytest.mark.parametrize("kind", ["", "text/plain", "text/plain;charset=UTF-8", "application/xml"])
@pytest.mark.parametrize("path", ["/translate", "/detect", "/api/translate", "/api/trace"])
def test_json_has_to_say_that_it_is_json(client: Client, path: str, kind: str) -> None:
    """Any page may send plain text, or a body without a type, to any server."""
    found = client.ask(path, CAFE.encode(), **({"Content_Type": kind} if kind else {}))
    assert found.status == 415 and "application/json" in found.json["error"]


def test_bodies_that_cannot_be_read_are_refused_with_the_reason(client: Client) -> None:
    body, kind = CAFE.encode(), "application/json"
    packed = client.ask("/translate", body, Content_Type=kind, Content_Encoding="gzip")
    assert packed.status == 415 and "compressed (gzip)" in packed.json["error"]
    strange = client.ask("/translate", body, Content_Type=f"{kind}; charset=klingon")
    assert strange.status == 415 and "klingon is unknown" in strange.json["error"]
    for path in ("/translate", "/api/trace"):
        wrong = client.ask(path, CAFE.encode("latin-1"), Content_Type=kind)
        assert (wrong.status, wrong.json) == (400, {"error": "the body is not UTF-8"})


def test_half_a_character_is_mended(client: Client) -> None:
    body = b'{"q": "I am \\ud83d a student.\\u0000", "source": "en", "target": "fr"}'
    assert client.ask("/translate", body, Content_Type="application/json").status == 200


@pytest.mark.parametrize("form", ["text", "html"])
def test_a_text_loses_its_nul(client: Client, form: str) -> None:
    assert ask(client, q="..\0.\n\0", format=form) == {"translatedText": "...\n"}


def test_what_libretranslate_can_and_this_cannot(client: Client) -> None:
    found = client.ask("/suggest", {})
    assert found.status == 403 and "disabled" in found.json["error"]


def test_alignment(client: Client) -> None:
    text = "The black dog is tired."
    found = ask(client, q=text, alignment=True)
    assert isinstance(found, dict)
    said = found["translatedText"]
    pairs = {
        (text[slice(*each["source"])], said[slice(*each["target"])]): each["weight"]
        for each in found["alignment"]
    }
    assert {("black", "noir"), ("dog", "chien"), ("tired", "fatigué")} <= pairs.keys()
    assert all(0 < weight <= 1 for weight in pairs.values())
    many = ask(client, q=[text, "..."], alignment="true")
    assert isinstance(many, dict) and many["alignment"] == [found["alignment"], []]


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1500,
        "One" * 500 + ". Two.",
        "“I am a student. The dog is tired.”",
        "(The dog is tired. 🙂) The cat is old. 🙂🙂",
        "The dog\nis tired.\n\nThe cat. " + "The old dog, " * 100,
    ],
    ids=["long word", "long words", "quoted", "symbols", "clauses"],
)
def test_words_of_clauses_and_quotations_are_aligned(client: Client, text: str) -> None:
    """A link joins words of the same sentence, wherever that was cut."""
    found = ask(client, q=[text, "A cat."], alignment=True, confidence=True)
    assert isinstance(found, dict)
    said, sentences = found["translatedText"][0], found["sentences"][0]
    assert found["alignment"][0]
    for link in found["alignment"][0]:
        (a, b), (c, d) = link["source"], link["target"]
        assert 0 <= a < b <= len(text) and 0 <= c < d <= len(said)
        assert any(
            a < each["source"][1]
            and each["source"][0] < b
            and c < each["target"][1]
            and each["target"][0] < d
            for each in sentences
        )


def test_a_mark_behind_a_symbol_is_no_word_of_its_sentence(client: Client) -> None:
    """The sentence is read with it, but the next word of the text is the symbol."""
    text = "The dog is tired 🙂. The black cat is old."
    found = ask(client, q=text, alignment=True)
    assert isinstance(found, dict)
    said = found["translatedText"]
    pairs = {
        (text[slice(*each["source"])], said[slice(*each["target"])]) for each in found["alignment"]
    }
    assert {("dog", "chien"), ("black", "noir"), ("cat", "chat")} <= pairs
    assert "🙂" not in {source for source, _ in pairs}


def test_confidence(client: Client) -> None:
    text = "I am a student. Word word word word."
    found = ask(client, q=text, confidence=True)
    assert isinstance(found, dict)
    sure, unsure = found["sentences"]
    assert [text[slice(*each["source"])] for each in (sure, unsure)] == [text[:15], text[16:]]
    assert sure["confidence"] > 0.8 and not sure["problems"]
    assert unsure["problems"] and unsure["problems"][0].keys() == {"kind", "said"}
    assert found["confidence"] == unsure["confidence"] < sure["confidence"]
    page = {"q": "<p>a</p>", "source": "en", "target": "fr", "format": "html", "confidence": True}
    refused = client.ask("/translate", page)
    assert refused.status == 400 and "for format text" in refused.json["error"]
    same = ask(client, q=text, source="en", target="en", confidence=True, alignment=True)
    empty = {"alignment": [], "confidence": 1.0, "sentences": []}
    assert same == {"translatedText": text, **empty}


def test_a_stream(client: Client, plain: Translator) -> None:
    sentences = ["I am a student.", "The dog is tired.", "The cat is old."]
    given = {"q": " ".join(sentences), "source": "en", "target": "fr"}
    for found in (
        client.ask("/translate", {**given, "stream": True}).events,
        client.stream("/translate", given),
    ):
        assert [name for name, _ in found] == ["sentence"] * 3 + ["done"]
        assert [each["translatedText"] for _, each in found[:3]] == plain.translate(sentences)
        assert [given["q"][slice(*each["source"])] for _, each in found[:3]] == sentences
        assert found[3][1] == {"translatedText": " ".join(plain.translate(sentences))}
    refused = client.ask("/translate", {**given, "q": sentences, "stream": True})
    assert refused.status == 400 and "one text" in refused.json["error"]


@pytest.mark.parametrize("name", ["alignment", "confidence", "stream"])
def test_flags(client: Client, name: str) -> None:
    given = {"q": "a", "source": "en", "target": "fr", name: "perhaps"}
    found = client.ask("/translate", given)
    assert (found.status, found.json["error"]) == (400, f"Invalid request: {name} is true or false")


def test_of_a_page_only_the_text_counts(client: Client) -> None:
    link = f'<a href="/{"x" * 300}">a cat</a>'
    page = f"<p>{link}</p>" * 10
    found = ask(client, q=page, format="html")
    assert isinstance(found, dict) and found["translatedText"].count("x" * 300) == 10
    long = {"q": "<p>The cat.</p>" * 300, "source": "en", "target": "fr", "format": "html"}
    refused = client.ask("/translate", long)
    said = "Invalid request: request (2400) exceeds text limit (2000)"
    assert (refused.status, refused.json) == (400, {"error": said})


def test_html_end_to_end(client: Client, plain: Translator) -> None:
    page = '<p>The <b>cat</b> is on the <a href="/x?a=1&amp;b">mat</a>.</p><code>cat</code>'
    (text,) = plain.translate(["The cat is on the mat."])
    assert text == "Le chat est sur le tapis."
    assert ask(client, q=page, format="html") == {
        "translatedText": '<p>Le <b>chat</b> est sur le <a href="/x?a=1&amp;b">tapis</a>.</p>'
        "<code>cat</code>"
    }
    whole = ask(client, q="<i>The cat is on the mat.</i><script>a<b</script>", format="html")
    assert whole == {"translatedText": f"<i>{text}</i><script>a<b</script>"}
