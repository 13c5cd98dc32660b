"""Pages of another port and of another host, in a real browser that has the app's cookie."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from opening import ARGUMENTS, TOKEN, Server, find_chromium

Serve = Callable[..., AbstractContextManager[Server]]
HOSTS = "--host-resolver-rules=MAP *.test 127.0.0.1"

# What a page can send without being asked, and with a question first.
ATTACK = """async (at) => {
    const form = "q=The+cat.&source=en&target=fr";
    const json = '{"q":"The cat.","source":"en","target":"fr"}';
    const plain = {method: "POST", mode: "no-cors", credentials: "include"};
    const send = (path, more) => fetch(at + path, {...plain, ...more}).catch(() => 0);
    const type = (value) => ({headers: {"Content-Type": value}});
    await send("/translate", {body: new URLSearchParams(form)});
    await send("/translate", {body: json, ...type("text/plain")});
    await send("/translate", {body: new Blob([json])});
    await send("/translate", {body: json, mode: "cors", ...type("application/json")});
    await send("/translate?" + form, {});
    await send("/detect", {body: new URLSearchParams("q=word")});
    await send("/api/trainings/mine/check", {});
    await send("/api/trainings/mine/stop", {body: "x", ...type("text/plain")});
    await send("/api/traces", {body: new Blob(["PK"])});
    await send("/api/traces", {method: "GET", body: undefined});
    navigator.sendBeacon(at + "/api/trainings/mine/resume", "");
    for (const path of ["/translate", "/api/trainings/mine/check"]) {
        const frame = document.createElement("iframe"), sent = document.createElement("form");
        frame.name = "frame" + path;
        document.body.append(frame, sent);
        Object.assign(sent, {method: "POST", action: at + path, target: frame.name});
        for (const [name, value] of new URLSearchParams(form)) {
            const field = document.createElement("input");
            Object.assign(field, {name, value});
            sent.append(field);
        }
        sent.submit();
    }
    const image = document.createElement("img");
    image.src = at + "/api/traces/x/figures/V49";
    document.body.append(image);
    await new Promise((done) => setTimeout(done, 1500));
}"""
ASK = """() => fetch("/translate", {
    method: "POST", body: new URLSearchParams("q=A+cat.&source=en&target=fr"),
}).then((it) => it.status)"""
REFUSED = (401, 403, 405, 415, 421)
SENT = 13
PATHS = ("/translate", "/detect", "/api/trainings/", "/api/traces")


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title><body>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture(scope="module")
def stranger(browsers: Any) -> Iterator[Any]:
    arguments = [*ARGUMENTS, HOSTS]
    running = browsers.chromium.launch(executable_path=find_chromium(), args=arguments)
    yield running
    running.close()


def read_log(path: Path, count: int) -> list[dict[str, Any]]:
    """Return the answered requests to PATHS, `count` or more: a line follows an answer."""
    for _ in range(100):
        lines = [json.loads(line) for line in path.read_text("ascii").splitlines()]
        sent = [each for each in lines if each["path"].startswith(PATHS)]
        sent = [each for each in sent if each["method"] != "OPTIONS"]
        if len(sent) >= count:
            return sent
        time.sleep(0.1)
    raise AssertionError(sent)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "evil.test"])
@pytest.mark.thorough
def test_pages_of_others(
    serve: Serve, stranger: Any, elsewhere: int, tmp_path: Path, host: str
) -> None:
    log = tmp_path / "log"
    with serve("--log", str(log), "--train", str(tmp_path / "trainings")) as server:
        window = stranger.new_page()
        window.goto(f"{server.address}/?token={TOKEN}")
        assert window.evaluate("() => fetch('/api/traces').then((it) => it.status)") == 200
        window.goto(f"http://{host}:{elsewhere}/")
        assert [each["status"] for each in read_log(log, 1)] == [200]
        window.evaluate(ATTACK, server.address)
        window.close()
        sent = read_log(log, 1 + SENT)[1:]
        assert [each for each in sent if each["status"] not in REFUSED] == []


@pytest.mark.thorough
def test_a_name_that_is_turned_to_this_machine(serve: Serve, stranger: Any) -> None:
    """DNS rebinding: the page's own host leads to the server afterwards."""
    with serve() as server:
        window = stranger.new_page()
        port = urlsplit(server.address).port
        answer = window.goto(f"http://rebound.test:{port}/languages")
        assert answer.status == 421
        assert window.evaluate(ASK) == 421
        window.close()


@pytest.mark.thorough
def test_the_same_where_any_host_will_do(serve: Serve, stranger: Any) -> None:
    with serve("--host", "0.0.0.0") as server:
        window, port = stranger.new_page(), urlsplit(server.address).port
        for host, status in (("rebound.test", 403), ("127.0.0.1", 200), ("localhost", 200)):
            assert window.goto(f"http://{host}:{port}/health").status == 200
            assert window.evaluate(ASK) == status, host
        window.close()


def test_a_page_that_the_server_knows(serve: Serve, stranger: Any, elsewhere: int) -> None:
    origin = f"http://friend.test:{elsewhere}"
    with serve("--cors", origin) as server:
        window = stranger.new_page()
        window.goto(origin)
        body = json.dumps({"q": "I am a student.", "source": "en", "target": "fr"})
        said = window.evaluate(
            """([at, body]) => fetch(at + "/translate", {
                method: "POST", body, headers: {"Content-Type": "application/json"},
            }).then((it) => it.json())""",
            [server.address, body],
        )
        assert said == {"translatedText": "Je suis étudiant."}
        window.close()
