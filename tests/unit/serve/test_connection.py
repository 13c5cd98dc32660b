"""One connection takes little time and memory, whatever it sends or does not send."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.extensions.serve import connection
from glassformer.extensions.serve.connection import HEADERS, PIPELINED, URL, Connection

from .conftest import Client


@pytest.mark.parametrize("begun", [b"", b"GET /health HTTP/1.1\r\nHost: loc"])
def test_who_asks_nothing_is_sent_away(
    client: Client, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as sock:
        sock.sendall(begun)
        assert sock.recv(1000) == b""


def test_a_closed_connection_is_let_go(client: Client) -> None:
    def count() -> int:
        gc.collect()
        return sum(type(each) is Connection for each in gc.get_objects())

    before = count()
    clients = [socket.create_connection(("127.0.0.1", client.port), timeout=20) for _ in range(5)]
    assert client.ask("/health").status == 200
    for sock in clients:
        sock.close()
    assert any(count() <= before or sleep(0.1) for _ in range(100))


UNDER_WAY, DONE = SimpleNamespace(response_complete=False), SimpleNamespace(response_complete=True)
NEXT = SimpleNamespace(response_complete=True)


@pytest.mark.parametrize(
    ("seen", "now", "is_left"),
    [
        (None, None, False),
        (DONE, DONE, False),
        (None, UNDER_WAY, True),
        (UNDER_WAY, UNDER_WAY, True),
        (DONE, NEXT, True),
    ],
    ids=["nothing", "nothing more", "begun", "long", "again and again"],
)
def test_whoever_is_at_it_is_left_alone(seen: Any, now: Any, is_left: bool) -> None:
    done = list[str]()
    idle = Connection.__new__(Connection)
    idle.cycle = now
    idle.transport = SimpleNamespace(close=lambda: done.append("closed"))
    idle._wait = lambda: done.append("waits")  # type: ignore[method-assign]
    idle._look(seen)
    assert done == ["waits" if is_left else "closed"]


def talk(client: Client, *parts: bytes) -> tuple[int, bytes]:
    """Send, and return the status and the body of the first answer.

    A server that refuses closes while more is being sent; its answer is there all the same.
    """
    answer = b""
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as sock:
        with suppress(ConnectionError):
            for part in parts:
                sock.sendall(part)
        with suppress(ConnectionError):
            while more := sock.recv(1 << 16):
                answer += more
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


HOST = b"Host: localhost\r\nConnection: close\r\n"


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_the_limits_are_exact(client: Client, more: int) -> None:
    get = b"GET /health HTTP/1.1\r\n" + HOST
    count, body = talk(client, get, b"a: b\r\n" * (HEADERS - 2 + more), b"\r\n")
    assert (count, b"at most 100 headers" in body) == ((431, True) if more > 0 else (200, False))
    query = b"/health?" + b"x" * (URL - len("/health?") + more)
    long, body = talk(client, b"GET " + query + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    assert (long, b"at most 32768 bytes" in body) == ((414, True) if more > 0 else (200, False))
    assert more <= 0 or set(json.loads(body)) == {"error"}


def test_a_head_of_any_form_has_a_limit(client: Client) -> None:
    get = b"GET /health HTTP/1.1\r\n" + HOST
    for size, expected in ((60_000, 200), (90_000, 431)):
        status, _ = talk(client, get, b"a: " + b"x" * size + b"\r\n\r\n")
        assert status == expected, size
    status, _ = talk(client, get, *repeat(b"a: " + b"x" * 1000 + b"\r\n", 90), b"\r\n")
    assert status == 431


def test_large_bodies_and_small_chunks_are_no_heads(client: Client) -> None:
    text = json.dumps({"q": "I am a student." + " " * 1000, "source": "en", "target": "fr"})
    head = b"POST /translate HTTP/1.1\r\nContent-Type: application/json\r\n" + HOST
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in b" " * 20_000 + text.encode())
    status, body = talk(client, head, b"Transfer-Encoding: chunked\r\n\r\n", chunks, b"0\r\n\r\n")
    assert status == 200 and b"tudiant" in body


def count_answers(client: Client, requests: bytes) -> int:
    """Return the answers to what is sent at once, till the connection is left alone or closed."""
    answer = b""
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as sock:
        sock.sendall(requests)
        with suppress(OSError):
            while more := sock.recv(1 << 16):
                answer += more
                sock.settimeout(1)
    return answer.count(b'"ok"')


H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
QUESTION = b'{"q": "I am a student.", "source": "en", "target": "fr"}'
SIZED = b"Content-Length: %d\r\n\r\n" % len(QUESTION) + QUESTION
IN_CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n38\r\n" + QUESTION + b"\r\n0\r\n\r\n"
TRANSLATE = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
LAST = b"GET /health HTTP/1.1\r\n" + H2C.replace(b"Upgrade,", b"close, upgrade,") + HOST + b"\r\n"


@pytest.mark.parametrize("body", [SIZED, IN_CHUNKS], ids=["sized", "in chunks"])
@pytest.mark.parametrize("split", ["together", "apart", "byte by byte"])
def test_another_protocol_is_offered_in_vain(client: Client, body: bytes, split: str) -> None:
    """Java and `curl --http2` offer HTTP/2 with each request; its body is that of HTTP/1.1."""
    head = TRANSLATE + H2C
    if split == "byte by byte":
        parts = [head[place : place + 1] for place in range(len(head))] + [body + LAST]
    else:
        parts = [head + body + LAST] if split == "together" else [head, body, LAST]
    answer = b""
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for part in parts:
            sock.sendall(part)
            sleep(0.05 if split == "apart" else 0)
        while more := sock.recv(1 << 16):
            answer += more
    assert answer.count(b"HTTP/1.1 200") == answer.count(b"HTTP/1.1") == 2, answer
    assert answer.index(b"tudiant") < answer.index(b'"ok"')


def test_many_offers_at_once(client: Client) -> None:
    one = b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + H2C + b"\r\n"
    assert count_answers(client, one * PIPELINED) == PIPELINED


def test_it_is_no_proxy(client: Client) -> None:
    status, body = talk(client, b"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n" + LAST)
    assert (status, json.loads(body)) == (400, {"error": "this server is no proxy"})


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_curl_offers_http2(client: Client) -> None:
    command = ["curl", "--http2", "-sS", f"{client.url}translate", "-H"]
    command += ["Content-Type: application/json", "-d", QUESTION.decode()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "tudiant" in done.stdout, done.stderr


def test_requests_that_are_sent_at_once(client: Client) -> None:
    one = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert count_answers(client, one * (1 + PIPELINED)) == 1 + PIPELINED
    assert count_answers(client, one * (2 + PIPELINED)) < 1 + PIPELINED
    address = ("127.0.0.1", client.port)
    with socket.create_connection(address, timeout=20) as sock, suppress(OSError):
        sock.sendall(one * 20 * PIPELINED)
        while sock.recv(1 << 16):
            pass
    assert client.ask("/health").status == 200


def test_who_takes_no_answer_is_sent_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with pytest.raises(OSError):  # reset
            for _ in range(2000):
                sock.sendall(b"GET /spec HTTP/1.1\r\nHost: localhost\r\n\r\n" * 8)
                sleep(0.01)


def test_who_takes_an_answer_slowly_gets_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.3)
    ends = list[int]()
    slow = Connection.__new__(Connection)
    sizes = iter([500, 400, 400])
    slow.transport = SimpleNamespace(
        get_write_buffer_size=lambda: next(sizes), abort=lambda: ends.append(1)
    )
    slow._watch = lambda: ends.append(0)  # type: ignore[method-assign]
    slow._check_taken(600)
    slow._check_taken(500)
    slow._check_taken(400)
    assert ends == [0, 0, 1]


def test_a_half_closed_connection_ends(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as sock:
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(1000) == b""


GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
FORM = POST.replace(b"json", b"x-www-form-urlencoded")
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
ENDLESS = {
    "headers": (GET, b"a:\r\n" * 16_000),
    "the value of a header": (GET + b"a: ", b"x" * 64_000),
    "the name of a header": (GET, b"x" * 64_000),
    "address": (b"GET /", b"x" * 64_000),
    "method": (b"", b"X" * 64_000),
    "trailers": (POST + CHUNKED + b"1\r\n{\r\n0\r\n", b"a:\r\n" * 16_000),
    "a trailer": (POST + CHUNKED + b"1\r\n{\r\n0\r\na: ", b"x" * 64_000),
    "the extension of a chunk": (POST + CHUNKED + b"1;", b"x" * 64_000),
    "empty lines": (b"", b"\r\n" * 32_000),
    "requests": (b"", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 2400),
    "requests with bodies": (b"", (POST + b"Content-Length: 9\r\n\r\n123456789") * 600),
    "answers that nobody reads": (b"", b"GET /spec HTTP/1.1\r\nHost: localhost\r\n\r\n" * 60),
}
PARTS = POST.replace(b"translate", b"translate_file").replace(
    b"application/json", b"multipart/form-data; boundary=x"
)
FILES = PARTS + b"Content-Length: 30000000\r\n\r\n--x\r\n"
ENDLESS |= {
    "the header of a part": (FILES + b"Content-Disposition: ", b"x" * 64_000),
    "headers of a part": (FILES, b"a:b\r\n" * 12_000),
    "parts": (FILES, b"Content-Disposition: form-data; name=a\r\n\r\n\r\n--x\r\n" * 1000),
    "a part": (FILES + b"Content-Disposition: form-data; name=a\r\n\r\n", b"x" * 64_000),
}
MANY = ",".join(f'"{number}":[]' for number in range(80_000))
HEAVY = {
    "keys of JSON": (POST, f'{{"q":"a",{MANY}}}'),
    "lists of JSON": (POST, '{"q":[' + "[]," * 300_000 + "1]}"),
    "numbers of JSON": (POST, '{"q":[' + "1e9," * 230_000 + "1]}"),
    "fields of a form": (FORM, "q=a&" * 250_000),
    "fields of a form without values": (FORM, "&".join(f"{number}=" for number in range(130_000))),
}


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[int, int]]:
    """The process id and the port of a server of its own."""
    command = [sys.executable, "-m", "glassformer", "serve", "demo", "--port", "0"]
    root = str(Path(__file__).parents[3] / "src")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": root}
    ) as process:
        assert process.stdout
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found
        yield process.pid, int(found[1])
        process.terminate()


def read_memory(pid: int, key: str) -> int:
    """Return MiB of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(rf"{key}:\s+(\d+) kB", status)
    assert found
    return int(found[1]) >> 10


def test_only_what_is_outside_texts_counts_as_values(client: Client) -> None:
    page = "<p>I am a student.</p><!--" + '[{,\\"' * 9000 + "-->"
    given = {"q": page, "source": "en", "target": "fr", "format": "html"}
    assert client.ask("/translate", given).status == 200


def send_much(port: int, begin: bytes, more: bytes) -> None:
    """Send 16 MiB after the beginning, as long as the server takes it."""
    with socket.create_connection(("127.0.0.1", port), timeout=2) as sock, suppress(OSError):
        sock.sendall(begin)
        for _ in range((16 << 20) // len(more)):
            sock.sendall(more)


def measure_peak(server: tuple[int, int], send: Callable[[], object]) -> int:
    """Return by how many MiB the server grows at most meanwhile; afterwards it still answers."""
    pid, port = server
    before = read_memory(pid, "VmRSS")
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
    send()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
        sock.sendall(GET + b"\r\n")
        assert b" 200 " in sock.recv(1000)
    return read_memory(pid, "VmHWM") - before


tells_peaks = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="only Linux tells peaks of memory"
)


@tells_peaks
@pytest.mark.parametrize("kind", ENDLESS)
def test_a_connection_takes_little_memory(server: tuple[int, int], kind: str) -> None:
    assert measure_peak(server, lambda: send_much(server[1], *ENDLESS[kind])) < 16


@tells_peaks
@pytest.mark.parametrize("kind", HEAVY)
def test_a_body_of_many_parts_takes_little_memory(server: tuple[int, int], kind: str) -> None:
    head, body = HEAVY[kind]
    request = head + f"Content-Length: {len(body)}\r\n\r\n{body}".encode()

    def send() -> None:
        with socket.create_connection(("127.0.0.1", server[1]), timeout=60) as sock:
            sock.sendall(request)
            assert b" 413 " in sock.recv(1000)

    assert measure_peak(server, send) < 16


def test_no_more_is_written_while_a_client_takes_nothing() -> None:
    """What is sent waits, rather than what is to be sent growing."""
    done = list[str]()
    full = Connection.__new__(Connection)
    full.flow = SimpleNamespace(
        pause_writing=lambda: done.append("pause"), resume_writing=lambda: done.append("resume")
    )
    full._watch = lambda: done.append("watch")  # type: ignore[method-assign]
    full._stop_watching = lambda: done.append("unwatch")  # type: ignore[method-assign]
    full.pause_writing()
    assert set(done) == {"pause", "watch"}
    full.resume_writing()
    assert set(done[2:]) == {"resume", "unwatch"} and len(done) == 4


def test_a_body_that_says_it_is_too_large_is_not_waited_for(client: Client) -> None:
    kind = b"Content-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n"
    status, body = talk(client, b"POST /translate HTTP/1.1\r\n" + HOST + kind)
    assert status == 413 and b"the body has 1000000000 bytes" in body
