"""Pages of other origins stay out, programs and our own pages do not."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from starlette.datastructures import Headers

from glassformer.extensions.serve import origins
from glassformer.extensions.serve.api_error import ApiError
from glassformer.extensions.serve.limits import Limits
from glassformer.extensions.serve.origins import OriginCheck, is_local_name, read_host
from glassformer.extensions.serve.running import make_service

from .conftest import TOKEN, Client, start

TEXT = {"q": "I am a student.", "source": "en", "target": "fr"}
FORM = {"Content_Type": "application/x-www-form-urlencoded"}
FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:1"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "http://evil.example", "Sec_Fetch_Site": "cross-site"},
    {"Origin": "http://localhost:1", "Sec_Fetch_Site": "same-site"},
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"},
    {"Sec_Fetch_Site": "made-up"},
]


def find_cookie(client: Client) -> str:
    found = client.ask(f"/?token={TOKEN}", Authorization="")
    return str(found.headers["Set-Cookie"]).partition(";")[0]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_pages_of_others_are_refused(client: Client, headers: dict[str, str]) -> None:
    cookie = {"Authorization": "", "Cookie": find_cookie(client)}
    for method, path, body in (
        ("POST", "/translate", urlencode(TEXT).encode()),
        ("POST", "/detect", b"q=word"),
        ("POST", "/translate_file", b""),
        ("POST", "/api/traces", b"PK"),
        ("POST", "/api/trainings/x/stop", b""),
        ("POST", "/api/trainings/x/check", b""),
        ("DELETE", "/api/traces/x", b""),
        ("PUT", "/api/trainings/x/source", b"a"),
        ("GET", "/api/traces", None),
        ("GET", "/api/traces/x/page", None),
    ):
        for more in ({}, cookie):
            found = client.ask(path, body, method, **FORM, **headers, **more)
            assert found.status == 403, (method, path)
            assert "may not use this server" in found.json["error"], found.body


def test_nothing_is_done_for_them(client: Client) -> None:
    before = client.ask("/metrics").body
    client.ask("/translate", urlencode(TEXT).encode(), **FORM, Origin="http://evil.example")
    name = b"glassformer_batch_sentences_count"
    after = client.ask("/metrics").body
    lines = [[line for line in text.splitlines() if name in line] for text in (before, after)]
    assert lines[0] == lines[1]


def test_programs_and_our_own_pages_are_served(client: Client) -> None:
    own = f"localhost:{client.port}"
    for headers in (
        {},
        {"Sec_Fetch_Site": "none"},
        {"Sec_Fetch_Site": "same-origin", "Origin": f"http://{own}", "Host": own},
        {"Origin": f"http://{own}", "Host": own},
        {"Origin": f"http://{own.upper()}", "Host": own},
        {"Origin": f"http://127.0.0.1:{client.port}"},
        {"Origin": "https://mt.example", "X_Forwarded_Host": "mt.example"},
        {"Origin": "https://mt.example", "Sec_Fetch_Site": "same-origin"},
    ):
        assert client.ask("/translate", urlencode(TEXT).encode(), **FORM, **headers).status == 200
        assert client.ask("/api/traces", **headers).status == 200


def test_pages_that_change_nothing_open_from_anywhere(client: Client) -> None:
    """A link in a chat leads to the app."""
    for path in ("/", "/languages", "/health", "/spec"):
        assert client.ask(path, Sec_Fetch_Site="cross-site").status == 200


@pytest.fixture(scope="module")
def friendly() -> Iterator[Client]:
    service = make_service(["demo"], device="cpu", limits=Limits(loaded=1))
    yield from start(service, origins=["https://friend.example"])


def test_a_trusted_origin_translates(friendly: Client) -> None:
    friend = {"Origin": "https://friend.example", "Sec_Fetch_Site": "cross-site"}
    assert friendly.ask("/translate", TEXT, **friend).status == 200
    stranger = friend | {"Origin": "https://x.example"}
    assert friendly.ask("/translate", TEXT, **stranger).status == 403
    assert friendly.ask("/api/traces", **friend).status == 200
    for given in ("", "Bearer wrong"):  # browsers add the cookie, whoever the page is
        cookie = {"Cookie": find_cookie(friendly), "Authorization": given}
        assert friendly.ask("/api/traces", **friend, **cookie).status == 401
        assert friendly.ask("/api/traces", **cookie).status == 200


def test_a_refused_preflight_says_why_as_every_error_does(friendly: Client) -> None:
    for origin, method, part in (
        ("https://x.example", "POST", "origin"),
        ("https://friend.example", "PATCH", "method"),
    ):
        headers = {"Origin": origin, "Access_Control_Request_Method": method}
        answer = friendly.ask("/translate", method="OPTIONS", **headers)
        assert answer.status == 400
        assert answer.json == {"error": f"pages elsewhere may not send this: see its {part}"}


def test_a_page_of_a_trusted_origin_uses_all_of_the_api(friendly: Client) -> None:
    friend = {"Origin": "https://friend.example", "Sec_Fetch_Site": "cross-site"}
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE"):
        asked = {"Access_Control_Request_Method": method}
        asked["Access_Control_Request_Headers"] = "authorization,content-type"
        assert friendly.ask("/api/traces/x", method="OPTIONS", **friend, **asked).status == 200
    for method in ("PUT", "DELETE"):  # the token is needed, and the cookie does not count
        cookie = {"Cookie": find_cookie(friendly), "Authorization": ""}
        assert friendly.ask("/api/traces/x", method=method, **friend, **cookie).status == 401
    assert friendly.ask("/api/traces/x", method="DELETE", **friend).status == 404
    exposed = friendly.ask("/health", **friend).headers["Access-Control-Expose-Headers"]
    for name in ("X-Shape", "X-Dtype", "X-Name", "Retry-After", "Content-Disposition"):
        assert name in exposed.split(", ")


def check(hosts: tuple[str, ...], trusted: tuple[str, ...] = (), **headers: str) -> bool:
    given = Headers({name.replace("_", "-"): value for name, value in headers.items()})
    try:
        OriginCheck(hosts, trusted).check_origin(given)
    except ApiError as error:
        assert error.status == 403
        return False
    return True


def test_a_name_that_others_let_lead_here_is_no_origin_of_ours() -> None:
    """DNS rebinding, where the server answers to any host: the page's own host is the server's."""
    rebound = {"Origin": "http://evil.example:5000", "Host": "evil.example:5000"}
    assert not check(("*",), **rebound)
    assert not check(("*",), **rebound, Sec_Fetch_Site="same-origin")
    assert check(("*", "evil.example"), **rebound)
    for name in ("10.0.0.2:5000", "[fe80::1]:5000", socket.gethostname()):
        assert check(("*",), Origin=f"http://{name}", Host=name), name
    with pytest.raises(ApiError, match=r"unless it has --name evil\.example"):
        OriginCheck(["*"]).check_origin(Headers(rebound))


def test_any_origin_may_be_trusted() -> None:
    assert check(("localhost",), ("*",), Origin="http://evil.example", Host="localhost")
    assert check(("localhost",), ("HTTP://a.example/",), Origin="http://a.example", Host="b")
    assert not check(("localhost",), ("http://a.example",), Origin="http://a.example:1", Host="b")


def test_names_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins.socket, "gethostname", lambda: "Box.lan.example")
    for name in ("localhost", "box.lan.example", "box", "box.local", "10.1.2.3", "::1"):
        assert is_local_name(name), name
    for name in ("evil.example", "box.example", "lan.example", "10.1.2.3.example", ""):
        assert not is_local_name(name), name


def test_hosts_are_read_without_ports() -> None:
    found = [read_host(each) for each in ("A:1", "a", "[::1]:5", "[::1]", "", "1.2.3.4:80")]
    assert found == ["a", "a", "::1", "::1", "", "1.2.3.4"]
