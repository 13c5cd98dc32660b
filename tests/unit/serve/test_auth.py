"""Strangers, large bodies and slow ones stay outside; nothing given becomes mark-up."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from glassformer.extensions.serve.api import auth, pages
from glassformer.extensions.serve.api.requests import check_characters, check_text
from glassformer.extensions.serve.api_error import ApiError
from glassformer.extensions.serve.limits import Limits
from glassformer.extensions.serve.rate_limit import Access
from glassformer.extensions.serve.running import make_service

from .conftest import TOKEN, Client, start


def test_only_api_needs_the_token(client: Client) -> None:
    for path in ("/", "/languages", "/health", "/metrics", "/spec", "/frontend/settings"):
        assert client.ask(path, Authorization="").status == 200, path
    for path in ("/api/models", "/api/traces", "/api", "/api/nothing"):
        found = client.ask(path, Authorization="Bearer wrong")
        assert found.status == 401 and "terminal" in found.json["error"], path
    for path in ("//api/models", "/API/models", "/x/../api/models", "/%61pi/models"):
        assert client.ask(path, Authorization="").status in (401, 404), path


def test_the_address_of_the_terminal_gives_a_cookie(client: Client) -> None:
    found = client.ask(f"/?token={TOKEN}", Authorization="")
    assert found.status == 303 and found.headers["Location"] == "./"
    cookie = found.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
    name = cookie.partition(";")[0]
    assert client.ask("/api/models", Authorization="", Cookie=name).status == 200
    assert client.ask("/api/models", Authorization="", Cookie=f"{name}x").status == 401
    wrong = client.ask("/?token=wrong", Authorization="")
    assert wrong.status == 200 and "Set-Cookie" not in wrong.headers


def test_nothing_but_the_whole_token_opens(client: Client) -> None:
    """Neither what it begins with, nor what begins with it."""
    name = client.ask(f"/?token={TOKEN}", Authorization="").headers["Set-Cookie"].partition("=")[0]
    for given in (*(TOKEN[:size] for size in range(len(TOKEN))), f"{TOKEN}x", TOKEN.upper()):
        for headers in ({"Authorization": f"Bearer {given}"}, {"Cookie": f"{name}={given}"}):
            found = client.ask("/api/models", **{"Authorization": "", **headers})
            assert found.status == 401, headers
        assert "Set-Cookie" not in client.ask(f"/?token={given}", Authorization="").headers, given


def test_addresses_that_were_joined_carelessly(client: Client) -> None:
    given = {"q": "I am a student.", "source": "en", "target": "fr"}
    for path in ("//translate", "/translate/"):
        assert client.ask(path, given).json == {"translatedText": "Je suis étudiant."}, path
    assert client.ask("//api//models", Authorization="").status == 401


def test_a_path_answers_to_its_methods(client: Client) -> None:
    for path in ("/", "/languages", "/health", "/api/models"):
        asked, looked = client.ask(path), client.ask(path, method="HEAD")
        assert looked.status == 200 and looked.body == b"", path
        assert looked.headers["Content-Length"] == str(len(asked.body)), path
    assert client.ask("/").body.lower().startswith(b"<!doctype html>")
    for path, method, allowed in (
        ("/translate", "GET", "POST"),
        ("/translate", "PUT", "POST"),
        ("/", "POST", "GET, HEAD"),
        ("/spec", "POST", "GET, HEAD"),
        ("/languages", "DELETE", "GET, HEAD"),
        ("/api/models", "DELETE", "GET, HEAD"),
        ("/api/trace", "HEAD", "POST"),
        ("/api/traces", "PUT", "GET, HEAD, POST"),
        ("/api/traces/x", "POST", "DELETE, GET, HEAD"),
        ("/api/trainings/x/file", "PUT", "GET, HEAD"),
        ("/api/trainings/x/source", "GET", "PUT"),
    ):
        found = client.ask(path, method=method)
        assert (found.status, found.headers["Allow"]) == (405, allowed), (path, method)
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        for path in ("/nothing", "/v1/chat/completions", "/api/nothing"):
            found = client.ask(path, method=method)
            assert found.status == 404, (path, method)
            assert method == "HEAD" or found.json == {"error": "Not Found"}


@pytest.mark.skipif(not (pages.STATIC / "index.html").is_file(), reason="the app is not built")
def test_a_file_of_the_app_is_only_read(client: Client) -> None:
    found = client.ask("/index.html", method="POST")
    assert (found.status, found.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    ("version", "hosts", "status", "part"),
    [
        ("1.1", [], 400, "this one has none"),
        ("1.1", ["localhost", "localhost"], 400, "this one has 2"),
        ("1.0", ["localhost", "localhost"], 400, "this one has 2"),
        ("1.0", [], 200, "ok"),
        ("1.1", ["a.example"], 421, "that Host header"),
    ],
)
def test_a_request_has_one_host(
    client: Client, version: str, hosts: list[str], status: int, part: str
) -> None:
    lines = [f"GET /health HTTP/{version}", *(f"Host: {host}" for host in hosts)]
    with socket.create_connection(("127.0.0.1", client.port), 20) as sock:
        sock.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode())
        answer = sock.makefile("rb").read().decode()
    assert answer.startswith(f"HTTP/1.1 {status} ") and part in answer


def test_without_the_app_a_page_says_how_it_is_built(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pages, "STATIC", tmp_path)
    answer = client.ask("/")
    assert answer.status == 200 and b"<code>make web</code> builds it" in answer.body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_other_hosts_are_not_served(client: Client, host: str) -> None:
    for path in ("/", "/translate", "/api/models"):
        assert client.ask(path, Host=host).status in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1:1", "[::1]:5000"])
def test_this_machine_is_served(client: Client, host: str) -> None:
    assert client.ask("/api/models", Host=host).status == 200


@pytest.mark.parametrize(("version", "status"), [("1.0", b"200"), ("1.1", b"400")])
def test_a_request_of_http_1_0_needs_no_host(client: Client, version: str, status: bytes) -> None:
    """No browser sends one, so that no page can reach the server under a name of its own."""
    import socket

    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as sock:
        sock.sendall(f"GET /health HTTP/{version}\r\nConnection: close\r\n\r\n".encode())
        assert sock.recv(1000).split()[1] in (status, b"421" if version == "1.1" else status)


def test_every_answer_has_a_content_security_policy(client: Client) -> None:
    for path in ("/", "/languages", "/api/models", "/nothing", "/translate"):
        headers = client.ask(path).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'self';") and "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in headers


def test_large_bodies(client: Client) -> None:
    large = b'{"q": "' + b"a" * (1 << 20) + b'"}'
    assert client.ask("/translate", large, Content_Type="application/json").status == 413
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as sock:
        sock.sendall(
            b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        try:
            for _ in range(20):
                sock.sendall(chunk)
            sock.sendall(b"0\r\n\r\n")
        except OSError:
            pass  # the server has hung up already
        assert b" 413 " in sock.recv(1000)


@pytest.mark.parametrize("size", [9, 10, 11])
def test_a_limit_is_the_most_that_is_taken(size: int) -> None:
    for check in (
        lambda: check_characters(size, 10),
        lambda: check_text("é" * size, Limits(characters=10)),
    ):
        if size <= 10:
            check()
        else:
            with pytest.raises(ApiError, match=r"11.*10") as caught:
                check()
            assert caught.value.status == 400


def test_slow_bodies(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "SLOWEST", 0.2)
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as sock:
        sock.sendall(b"POST /detect HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n")
        sock.sendall(b"Content-Type: application/json\r\n\r\n{")
        begun = time.monotonic()
        assert b" 408 " in sock.recv(1000)
        assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    "path",
    [
        "/../../../etc/passwd",
        "/assets/../../app.py",
        "/%2e%2e/%2e%2e/app.py",
        "/..%2fapp.py",
        "/api/runs/..%2f..%2fetc",
        "/api/traces/..%2f..%2f",
        "/api/models/..%2Fdemo",
    ],
)
def test_paths_lead_nowhere_else(client: Client, path: str) -> None:
    found = client.ask(path)
    assert found.status in (400, 404) and b"root:" not in found.body and b"def " not in found.body


def test_texts_do_not_become_markup(client: Client) -> None:
    text = "<script>alert(1)</script> & <img src=x onerror=alert(1)>"
    found = client.ask("/api/trace", {"text": text})
    assert found.headers["Content-Type"] == "application/json"
    for id in ("V01", "V10", "V49"):
        picture = client.ask(f"/api/traces/{found.json['id']}/figures/{id}")
        assert picture.status == 200 and b"<script" not in picture.body
        assert b"<img" not in picture.body


def test_keys() -> None:
    access = Access(["one", "two"])
    access.check("two", "")
    with pytest.raises(ApiError, match="contact the server operator") as caught:
        access.check("", "")
    assert caught.value.status == 400
    for wrong in ("three", "tw", "twoo", "one two", "TWO"):
        with pytest.raises(ApiError, match="Invalid API key") as caught:
            access.check(wrong, "")
        assert caught.value.status == 403


def test_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("glassformer.extensions.serve.rate_limit.time.monotonic", lambda: now)
    access = Access(rate=3)
    for _ in range(3):
        access.check("", "a")
    with pytest.raises(ApiError, match="Slowdown: 3 per 1 minute") as caught:
        access.check("", "a")
    assert caught.value.status == 429 and caught.value.headers == {"Retry-After": "20"}
    access.check("", "b")
    now += 20.01
    access.check("", "a")
    with pytest.raises(ApiError):
        access.check("", "a")


FILE = """
[school]
key = "school-key"
rate = 2
characters = 30

[office]
key = "office-key"
"""


def test_a_file_of_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(FILE, encoding="utf-8")
    access = Access(["given"], rate=5, file=path)
    assert [access.check(key, "") for key in ("school-key", "office-key", "given")] == [
        "school",
        "office",
        "key 1",
    ]
    access.check("school-key", "")
    with pytest.raises(ApiError, match="2 per 1 minute"):
        access.check("school-key", "")
    access.spend("school", 20)
    with pytest.raises(ApiError, match="30 characters per 1 day, 20 are used") as caught:
        access.spend("school", 11)
    assert caught.value.status == 429 and 0 < int(caught.value.headers["Retry-After"]) <= 86_400
    access.spend("school", 10)
    access.spend("office", 10**9)
    clock = "glassformer.extensions.serve.rate_limit.time"
    tomorrow = [time.time() + 86_400, time.monotonic() + 86_400]
    monkeypatch.setattr(f"{clock}.time", lambda: tomorrow[0])
    with pytest.raises(ApiError, match="30 are used"):  # the clock was only set
        access.spend("school", 1)
    monkeypatch.setattr(f"{clock}.monotonic", lambda: tomorrow[1])
    access.spend("school", 30)


def test_the_file_of_keys_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.extensions.serve.rate_limit.LOOK", 0.0)
    path = tmp_path / "keys.toml"
    path.write_text(FILE, encoding="utf-8")
    access = Access(file=path)
    path.write_text(FILE.replace("office-key", "another-key"), encoding="utf-8")
    assert access.check("another-key", "") == "office"
    with pytest.raises(ApiError, match="Invalid API key"):
        access.check("office-key", "")
    for broken in ("[broken", "a = " + "[" * 100_000):
        path.write_text(broken, encoding="utf-8")
        assert access.check("another-key", "") == "office"
    path.unlink()
    assert access.check("another-key", "") == "office"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a", "keys.toml"),
        pytest.param("a = " + "[" * 100_000, "nested too deeply", id="deep"),
        ("[a]\nrate = 1", r"\[a\]: Invalid request: missing key"),
        ("[a]\nkey = 'x'\nlimit = 1", r"\[a\]: unknown key limit"),
        ("[a]\nkey = 'x'\nrate = -1", r"\[a\]: rate"),
        ("[a]\nkey = 'x'\n[b]\nkey = 'x'", "the same key"),
        ("a = 1", r"\[a\]"),
    ],
)
def test_a_wrong_file_of_keys(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        Access(file=path)


@pytest.fixture(scope="module")
def closed() -> Iterator[Client]:
    """Asks for a key, lets two requests a minute through, and knows one foreign page."""
    service = make_service(
        ["demo"], device="cpu", limits=Limits(loaded=1), access=Access(["key"], rate=2)
    )
    yield from start(service, origins=["https://friend.example"], hosts=["mt.example"])


def test_a_closed_server(closed: Client) -> None:
    given = {"q": "I am a student.", "source": "en", "target": "fr"}
    assert closed.ask("/translate", given, Authorization="").status == 400
    assert closed.ask("/translate", {**given, "api_key": "wrong"}).status == 403
    assert closed.ask("/translate", {**given, "api_key": "key"}).status == 200
    assert closed.ask("/translate", given, Authorization="Bearer key").status == 200
    found = closed.ask("/translate", {**given, "api_key": "key"})
    assert found.status == 429 and int(found.headers["Retry-After"]) > 0
    assert closed.ask("/languages", Host="mt.example").status == 200


def test_cors(closed: Client) -> None:
    friend = closed.ask("/languages", Origin="https://friend.example").headers
    assert friend["Access-Control-Allow-Origin"] == "https://friend.example"
    stranger = closed.ask("/languages", Origin="https://evil.example").headers
    assert "Access-Control-Allow-Origin" not in stranger


def test_metrics(client: Client) -> None:
    client.ask("/languages")
    client.ask("/no/such/path")
    text = client.ask("/metrics").body.decode()
    assert 'glassformer_requests_total{path="/languages",status="200"}' in text
    assert "no/such" not in text and "glassformer_batch_sentences_bucket" in text


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Authorization": "Bearer wrong"}, 401), ({}, 415)],
)
def test_a_client_that_still_sends_reads_its_refusal(
    client: Client, headers: dict[str, str], status: int
) -> None:
    """Closed meanwhile, its connection would be reset, and the refusal lost."""
    given = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "text/plain", **headers}
    with closing(HTTPConnection("127.0.0.1", client.port, timeout=60)) as connection:
        connection.putrequest("POST", "/api/trace")
        for name, value in {**given, "Content-Length": "400000"}.items():
            connection.putheader(name, value)
        connection.endheaders(b"x" * 100_000)
        for _ in range(3):
            time.sleep(0.2)  # it is refused after the first of these
            connection.send(b"x" * 100_000)
        answer = connection.getresponse()
        assert answer.status == status and "error" in json.load(answer)
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
