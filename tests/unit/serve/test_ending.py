"""The command as people run it, and SIGTERM in the middle: what was accepted is answered."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from math import inf
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.extensions.serve import running
from glassformer.extensions.serve.listening import bind

from .conftest import start

SOURCE = Path(__file__).parents[3] / "src"
SENTENCES = {
    "The cat is on the mat.": "Le chat est sur le tapis.",
    "I am a student.": "Je suis étudiant.",
    "The dog is tired.": "Le chien est fatigué.",
}


@pytest.fixture
def process() -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "glassformer", "serve", "demo", "--port", "0", "--token", "t"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout
        found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=t", started.stdout.readline())
        assert found
        yield started, int(found[1])
        started.kill()


class Clients(threading.Thread):
    """Asks again and again until nobody answers; a new connection each time, or one for all.

    A connection that asks nothing for HEARING seconds is idle: a server that ends may close it.
    """

    def __init__(self, port: int, number: int) -> None:
        super().__init__()
        self.port, self.number = port, number
        self.right, self.wrong = 0, list[str]()

    def run(self) -> None:
        connection = None
        for turn in range(self.number, 10**6):
            text = [*SENTENCES][turn % len(SENTENCES)]
            if connection is None:
                connection, answered = HTTPConnection("127.0.0.1", self.port, timeout=30), inf
                try:
                    connection.connect()
                except OSError:
                    connection.close()
                    return  # nobody listens any more
            began = time.monotonic()
            try:
                self.ask(connection, text)
            except OSError as error:
                if began - answered < running.HEARING - 0.1:
                    self.wrong.append(repr(error))
                connection.close()
                return
            answered = time.monotonic()
            if self.number % 2 or connection.sock is None:  # None: the server said that it closes
                connection.close()
                connection = None

    def ask(self, connection: HTTPConnection, text: str) -> None:
        body = json.dumps({"q": text, "source": "en", "target": "fr"})
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        found = json.loads(response.read())
        if response.status == 200 and found == {"translatedText": SENTENCES[text]}:
            self.right += 1
        else:
            self.wrong.append(f"{response.status} {found}")


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGTERM")
def test_who_hangs_up_within_a_request_is_no_error(
    process: tuple[subprocess.Popen[str], int],
) -> None:
    server, port = process
    for kind in ("application/json", "application/x-www-form-urlencoded", "multipart/form-data"):
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        connection.putrequest("POST", "/translate")
        connection.putheader("Content-Type", f"{kind}; boundary=x")
        connection.putheader("Content-Length", "5000")
        connection.endheaders(b"--x")
        time.sleep(0.2)
        connection.close()
    client, connection = Clients(port, 0), HTTPConnection("127.0.0.1", port, timeout=30)
    client.ask(connection, "I am a student.")
    connection.close()
    assert client.right == 1
    server.send_signal(signal.SIGTERM)
    server.wait(30)
    assert server.stderr and server.stderr.read() == ""


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGTERM")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_accepted_requests_are_finished(
    process: tuple[subprocess.Popen[str], int], name: str
) -> None:
    server, port = process
    asked = getattr(signal, name)
    if signal.getsignal(asked) == signal.SIG_IGN:
        pytest.skip("these tests run under nohup, which their processes inherit")
    clients = [Clients(port, number) for number in range(12)]
    for client in clients:
        client.start()
    end = time.monotonic() + 60
    while sum(client.right for client in clients) < 100 and time.monotonic() < end:
        time.sleep(0.01)
    server.send_signal(asked)
    for client in clients:
        client.join(60)
    assert server.wait(30) in (0, -asked)
    assert not [wrong for client in clients for wrong in client.wrong]
    assert sum(client.right for client in clients) >= 100
    assert server.stderr and server.stderr.read() == ""


def test_a_server_waits_for_nobody_if_all_have_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "PATIENT", 1000)
    service = running.make_service(["demo"], device="cpu")
    assert not service.processes
    for client in start(service):  # it ends at once
        assert client.ask("/health").status == 200


def test_a_port_that_is_taken() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError) as caught:
            bind("127.0.0.1", port)
    assert caught.value.filename == f"127.0.0.1:{port}" and "--port 0" in str(caught.value)


def test_a_host_that_is_none() -> None:
    with pytest.raises(OSError) as caught:
        bind("999.1.1.1", 0)
    assert caught.value.filename == "999.1.1.1:0"
    assert "Unknown error" not in str(caught.value) and "while" not in str(caught.value)
