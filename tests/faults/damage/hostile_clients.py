"""Clients that send what is slow to read, and leave; and the server that they come to."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[3] / "src"
SIZE = 200_000  # bytes of a hostile page
CLIENTS, STAY = 60, 0.2  # who come at once; seconds until they leave


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


@contextmanager
def run_server() -> Iterator[Address]:
    """Serve `demo` in a process of its own; it has translated once."""
    command = [sys.executable, "-m", "glassformer", "serve", "demo", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(SOURCE)}
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
