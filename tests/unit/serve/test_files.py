"""Documents over HTTP, as LibreTranslate's clients send them."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

pytest.importorskip("lxml", reason="the extra `documents` is not installed")

from fastapi import Request

from glassformer.extensions.documents.markup import Run
from glassformer.extensions.serve.api_error import ApiError
from glassformer.extensions.serve.limits import Limits
from glassformer.extensions.serve.proxies import ProxyMiddleware, name_own_address
from glassformer.extensions.serve.running import make_service
from glassformer.extensions.serve.service.translated_files import TranslatedFiles
from glassformer.extensions.serve.service.translation_service import (
    PARAGRAPHS,
    TranslationService,
)

from .conftest import Answer, Client, start

PAGE = b"<p>The <b>black</b> dog is tired.</p>"


@pytest.fixture(scope="module")
def small() -> Iterator[Client]:
    yield from start(make_service(["demo"], limits=Limits(document=40, file=5000)))


def send(client: Client, name: str = "a.html", data: bytes = PAGE, **fields: str) -> Answer:
    """Fields in capitals are headers."""
    headers = {key: fields.pop(key) for key in [*fields] if key[0].isupper()}
    given = {"source": "en", "target": "fr", **fields}
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in given.items()
        if value
    ]
    head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = b"".join([*parts, head.encode(), data, b"\r\n--x--\r\n"])
    headers["Content_Type"] = "multipart/form-data; boundary=x"
    return client.ask("/translate_file", body, **headers)


def fetch(answer: Answer) -> bytes:
    assert answer.status == 200, answer.body
    with urlopen(answer.json["translatedFileUrl"], timeout=30) as found:
        data: bytes = found.read()
        return data


def test_a_page(client: Client) -> None:
    expected = "<p>Le chien <b>noir</b> est fatigué.</p>"
    assert fetch(send(client)).decode() == expected
    assert fetch(send(client, source="auto")).decode() == expected


def name_address(peer: str, headers: dict[str, str]) -> str:
    """Return the address of the server for a client behind a proxy that trusts its own machine."""
    addresses = list[str]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        addresses.append(name_own_address(Request(scope)))

    sent = {"host": "localhost:5000", "x-forwarded-for": "10.9.8.7", **headers}
    raw = [(name.encode(), value.encode()) for name, value in sent.items()]
    facts = {"type": "http", "method": "POST", "path": "/translate_file", "query_string": b""}
    scope = {**facts, "scheme": "http", "headers": raw, "client": (peer, 1)}
    asyncio.run(ProxyMiddleware(app, "127.0.0.1")(scope, None, None))  # type: ignore[arg-type]
    return addresses[0]


def test_a_proxy_says_where_it_is() -> None:
    whole = {"x-forwarded-proto": "https", "x-forwarded-host": "mt.example:8443, inner"}
    whole["x-forwarded-prefix"] = "/our/mt/"
    for headers, address in (
        ({}, "http://localhost:5000/"),
        (whole, "https://mt.example:8443/our/mt/"),
        ({"x-forwarded-host": "[::1]:80"}, "http://[::1]:80/"),
        ({"x-forwarded-prefix": "/"}, "http://localhost:5000/"),
    ):
        assert name_address("127.0.0.1", headers) == address
        assert name_address("10.0.0.1", headers) == "http://localhost:5000/"  # is not trusted
    for host in ("a b", "a/b", "user@a", "a?", "a#", "a:port", 'a"', "javascript:x", "", "é"):
        assert name_address("127.0.0.1", {"x-forwarded-host": host}) == "http://localhost:5000/"
    for prefix in ("mt", "//evil.example", "/a?b", "/a#b", "/a b", '/"', "/a\\b", "/é"):
        assert name_address("127.0.0.1", {"x-forwarded-prefix": prefix}) == "http://localhost:5000/"


def test_a_document_is_fetched_through_the_proxy(client: Client) -> None:
    answer = send(client, X_Forwarded_Host="mt.example", X_Forwarded_Prefix="/mt")
    assert answer.json["translatedFileUrl"].startswith("http://mt.example/mt/download_file/")


def test_a_text(client: Client) -> None:
    answer = send(client, "a.txt", b"I am a student.\n\n  The cat is old.\n")
    assert fetch(answer).decode() == "Je suis étudiant.\n\n  Le chat est vieux.\n"


def test_a_part_that_fails(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Run.write

    def write(run: Run, translation: str, links: Any) -> str:
        if "fatigué" in translation:
            raise KeyError("x")
        return whole(run, translation, links)

    monkeypatch.setattr(Run, "write", write)
    answer = send(client, data=PAGE + b"<p>The cat is old.</p>")
    assert fetch(answer) == PAGE + b"<p>Le chat est vieux.</p>"
    assert answer.json["note"].startswith("“The black dog is tired.” stays as it is: internal err")


def test_texts_that_fail_together_stay_as_they_are(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many texts are translated in parts; those of a part that is refused are said one by one."""
    whole = TranslationService.translate_markup

    async def translate(self: TranslationService, texts: Any, *more: Any, **options: Any) -> Any:
        if "I am a student." in texts:
            raise ApiError(400, "no such word")
        return await whole(self, texts, *more, **options)

    monkeypatch.setattr(TranslationService, "translate_markup", translate)
    refused = ["The dog is tired.", "I am a student."]

    def write(texts: list[str]) -> bytes:
        return "\n\n".join(f'msgid "{text}"\nmsgstr ""' for text in texts).encode()

    answer = send(client, "a.po", write(["The cat is old."] * PARAGRAPHS + refused))
    translated = fetch(answer).decode()
    assert translated.count('msgstr "Le chat est vieux."') == PARAGRAPHS
    assert answer.json["note"].split("; ") == [
        f"“{text}” stays as it is: no such word" for text in refused
    ]
    answer = send(client, "a.po", write(refused))
    assert answer.status == 400 and answer.json["error"] == "no such word"


def test_slides(client: Client) -> None:
    pptx = pytest.importorskip("pptx", reason="python-pptx is not installed")
    deck, written = pptx.Presentation(), io.BytesIO()
    deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = "I am a student."
    deck.save(written)
    made = pptx.Presentation(io.BytesIO(fetch(send(client, "a.pptx", written.getvalue()))))
    assert made.slides[0].shapes.title.text == "Je suis étudiant."


def test_settings_name_the_formats(client: Client) -> None:
    settings = client.ask("/frontend/settings").json
    assert settings["filesTranslation"] and ".docx" in settings["supportedFilesFormat"]


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"name": "a.pdf"}, 400, "end in .arb, .docx"),
        ({"name": "a.docx"}, 400, "damaged or encrypted"),
        ({"name": "a.odt", "data": b""}, 400, "damaged or encrypted"),
        ({"source": ""}, 400, "missing source parameter"),
        ({"target": "xx"}, 400, "xx is not supported"),
    ],
)
def test_refused(client: Client, given: dict[str, str], status: int, said: str) -> None:
    found = send(client, **given)  # type: ignore[arg-type]
    assert found.status == status and said in found.json["error"]


def test_no_file(client: Client) -> None:
    assert "missing file" in client.ask("/translate_file", {}).json["error"]
    assert client.ask("/download_file/nothing.docx").status == 404


def test_limits(small: Client) -> None:
    assert send(small).status == 200
    assert "exceeds text limit (40)" in send(small, data=PAGE * 2).json["error"]
    assert send(small, data=PAGE * 1000).status == 413


def test_files_leave_when_there_is_no_room() -> None:
    files = TranslatedFiles(10)
    first, second = files.add(b"123456", "../a b.TXT"), files.add(b"123456", "b.txt")
    assert first.startswith("a b-") and first.endswith(".txt") and files.size == 6
    assert files.find(second) == b"123456"
    with pytest.raises(ApiError, match="translate it again"):
        files.find(first)


def test_a_client_of_others(client: Client, tmp_path: Path) -> None:
    library = pytest.importorskip("libretranslate_aio", reason="libretranslate-aio is not there")
    (tmp_path / "a.html").write_bytes(PAGE)
    with library.LibreTranslate(client.url) as api:
        found = api.translate_file(tmp_path / "a.html", "en", "fr")
        assert api.frontend_settings().supported_files_format
    with urlopen(found.translated_file_url, timeout=30) as answer:
        assert "<b>noir</b>" in answer.read().decode()


def test_the_openapi_document_says_so(client: Client) -> None:
    paths = json.loads(client.ask("/spec").body)["paths"]
    body = paths["/translate_file"]["post"]["requestBody"]["content"]["multipart/form-data"]
    assert body["schema"]["required"] == ["file", "source", "target"]
    fields = paths["/translate"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert {"alignment", "confidence", "stream"} <= fields["properties"].keys()
