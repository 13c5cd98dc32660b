"""Clients that send what is slow to read, and leave: the others are served all the while."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import pytest
from damage.hostile_units import UNITS

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

SIZE = 200_000  # bytes of a hostile page
CLIENTS, STAY = 60, 0.2  # who come at once; seconds until they leave
SLOWEST = 2.0  # seconds of /health, on a machine that does other things too: idle, 0.2


class Address(NamedTuple):
    pid: int
    port: int

    def ask(self, path: str, body: object = None) -> tuple[int, bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Content-Type": "application/json"}
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request("GET" if body is None else "POST", path, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Address]:
    root = str(Path(__file__).parents[3] / "src")
    command = [sys.executable, "-m", "glassformer", "serve", "demo", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": root}
    ) as process:
        assert process.stdout
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found
        address = Address(process.pid, int(found[1]))
        address.ask("/translate", {"q": "A cat.", "source": "en", "target": "fr"})
        yield address
        process.terminate()


def write_page(unit: str) -> bytes:
    text = unit * (SIZE // len(unit.encode()))
    body = json.dumps({"q": text, "source": "en", "target": "fr", "format": "html"}).encode()
    head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def write_file(unit: str, name: str) -> bytes:
    parts = [b'name="source"\r\n\r\nen', b'name="target"\r\n\r\nfr']
    text = unit.encode() * (SIZE // len(unit.encode()))
    parts.append(f'name="file"; filename="{name}"\r\n\r\n'.encode() + text)
    begin = b"--x\r\nContent-Disposition: form-data; "
    body = b"".join(begin + part + b"\r\n" for part in parts) + b"--x--\r\n"
    head = "POST /translate_file HTTP/1.1\r\nHost: localhost\r\n"
    head += "Content-Type: multipart/form-data; boundary=x\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def send_and_leave(server: Address, request: bytes) -> None:
    with suppress(OSError), socket.create_connection(("127.0.0.1", server.port), 20) as sock:
        sock.sendall(request)
        time.sleep(STAY)


def count_under_way(server: Address) -> int:
    found = re.search(rb"^glassformer_requests_under_way (\d+)", server.ask("/metrics")[1], re.M)
    assert found
    return int(float(found[1]))


def test_the_others_are_served(server: Address) -> None:
    requests = [write_page(unit) for unit in ("<b>x</b>", "<a", "<b></i>", "x", "<a href=x>a</a> ")]
    requests += [write_file("<b>x</b> ", "a.html"), write_file("1\n", "a.srt")]
    waits = list[float]()
    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [
            pool.submit(send_and_leave, server, requests[number % len(requests)])
            for number in range(CLIENTS)
        ]
        while not all(client.done() for client in clients) or len(waits) < 30:
            begun = time.monotonic()
            assert server.ask("/health")[0] == 200
            waits.append(time.monotonic() - begun)
    assert max(waits) < SLOWEST, sorted(waits)[-5:]
    begun = time.monotonic()
    given = {"q": "I am a student.", "source": "en", "target": "fr"}
    for form in ("text", "html"):
        status, body = server.ask("/translate", {**given, "format": form})
        assert status == 200 and "Je suis étudiant." in json.loads(body).values()
    assert time.monotonic() - begun < 20


def test_nothing_is_left_of_them(server: Address) -> None:
    end = time.monotonic() + 60
    while count_under_way(server) > 1:  # this one
        assert time.monotonic() < end
        time.sleep(0.2)
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    if children.exists():
        assert children.read_text(encoding="ascii").split() == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(0, len(UNITS), 10))
def test_whatever_they_send(server: Address, number: int) -> None:
    waits = list[float]()
    with ThreadPoolExecutor(20) as pool:
        sent = [write_page(unit) for unit in UNITS[number : number + 10]]
        sent += [write_file(unit, "a.html") for unit in UNITS[number : number + 10]]
        clients = [pool.submit(send_and_leave, server, each) for each in sent]
        while not all(client.done() for client in clients):
            begun = time.monotonic()
            assert server.ask("/health")[0] == 200
            waits.append(time.monotonic() - begun)
    assert max(waits) < SLOWEST
