"""The memory of a server over many requests of all kinds, of which some are cut off or refused."""

from __future__ import annotations

import io
import json
import os
import random
import socket
import sys
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from damage.ledger import Ledger

from .test_serving import start

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="memory is found in /proc"
)
pytest.importorskip("lxml", reason="the extra `documents` is not installed")

REQUESTS = int(os.environ.get("GLASSFORMER_REQUESTS", "20000"))
SETTLED = 10  # parts: after the first of so many, memory is to stay as it is
CLIENTS, SLACK = 4, 16 << 10  # KiB that memory may differ by: allocators keep some
ADJECTIVES, NOUNS = ("old", "black", "small", "tired"), ("cat", "dog", "horse", "bird", "student")
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
HEAD = {"Authorization": "Bearer t"}


class Client:
    """A client that asks for things of all kinds, as its number says."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, path: str, body: bytes | None = None, kind: str = "application/json") -> bytes:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            method = "GET" if body is None else "POST"
            connection.request(method, path, body, HEAD | {"Content-Type": kind})
            answer = connection.getresponse()
            data = answer.read()
            assert answer.status < 500 or answer.status == 503, (path, answer.status, data[:200])
            return data
        finally:
            connection.close()

    def translate(self, q: object, **more: object) -> bytes:
        body = {"q": q, "source": "en", "target": "fr", **more}
        return self.ask("/translate", json.dumps(body).encode())

    def leave(self, text: str) -> None:
        """Ask for a stream, read its beginning, and leave."""
        body = json.dumps({"q": text * 9, "source": "en", "target": "fr", "stream": True}).encode()
        head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 20) as sock:
            sock.sendall(head.encode() + body)
            sock.recv(200)

    def send_file(self, name: str, data: bytes) -> None:
        parts = [b'name="source"\r\n\r\nen', b'name="target"\r\n\r\nfr']
        parts.append(f'name="file"; filename="{name}"\r\n\r\n'.encode() + data)
        begin = b"--x\r\nContent-Disposition: form-data; "
        body = b"".join(begin + part + b"\r\n" for part in parts) + b"--x--\r\n"
        said = json.loads(self.ask("/translate_file", body, "multipart/form-data; boundary=x"))
        if url := said.get("translatedFileUrl"):
            self.ask(urlsplit(url).path)

    def record(self, text: str) -> None:
        said = json.loads(self.ask("/api/trace", json.dumps({"text": text}).encode()))
        if number := said.get("id"):
            self.ask(f"/api/traces/{number}")


def write_docx(text: str) -> bytes:
    buffer = io.BytesIO()
    xml = f'<w:d xmlns:w="{WORD}"><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:d>'
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", xml)
    return buffer.getvalue()


def list_kinds(client: Client, text: str) -> list[tuple[int, Callable[[], object]]]:
    """Return what may be asked for, and how often among 100."""
    cue = f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n"
    return [
        (40, lambda: client.translate(text)),
        (15, lambda: client.translate([text, f"{text} {text}"], alignment=True, confidence=True)),
        (10, lambda: client.translate(f"<p>{text} <b>{text}</b></p>", format="html")),
        (8, lambda: client.translate(text, stream=True)),
        (8, lambda: client.leave(text)),
        (4, lambda: client.record(text)),
        (3, lambda: client.send_file("a.srt", cue.encode())),
        (3, lambda: client.send_file("a.docx", write_docx(text))),
        (5, lambda: client.translate(text, alternatives=2)),
        (2, lambda: client.translate(text, target="xx")),
        (2, lambda: client.ask("/translate", b"{")),
    ]


def send(client: Client, number: int) -> None:
    draw = random.Random(number)
    text = f"The {draw.choice(ADJECTIVES)} {draw.choice(NOUNS)} is {number % 997} years old."
    shares, kinds = zip(*list_kinds(client, text), strict=True)
    draw.choices(kinds, shares)[0]()


def read_memory(pid: int) -> int:
    """Return the resident memory of a process, in KiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


@pytest.mark.parametrize(
    "requests",
    [pytest.param(300, marks=pytest.mark.thorough), pytest.param(0, marks=pytest.mark.slow)],
    ids=["some", "many"],
)
def test_memory_stays_as_it_is(requests: int, ledger: Ledger) -> None:
    requests = requests or REQUESTS
    part, sizes = requests // SETTLED, list[int]()
    for server, port in start("--recordings", "24"):
        client = Client(port)
        with ThreadPoolExecutor(CLIENTS) as pool:
            for first in range(0, requests, part):
                list(pool.map(partial(send, client), range(first, first + part)))
                time.sleep(0.2)
                sizes.append(read_memory(server.pid))
    settled, last = sizes[0], sorted(sizes[-3:])[1]
    if requests >= 10_000:  # before, caches fill
        assert last <= 1.05 * settled + SLACK, sizes
    assert last <= 2 * settled, sizes
    told = f"{settled >> 10} MiB after a tenth, {last >> 10} MiB at the end"
    told += ", while the cache of sentences fills"
    ledger.note("Serving", f"{requests:,} requests of all kinds, some cut off", told)
