"""A server under load whose processes are killed, and whose memory is asked for more and more."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from damage.ledger import ROOT, Ledger

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="processes are found in /proc"
)

TABLE = "Serving"
NOUNS = {"cat": "chat", "dog": "chien"}
ENDS = {"old": "vieux", "tired": "fatigué", "small": "petit"}
SENTENCES = {
    f"The {noun} is {end}.": f"Le {NOUNS[noun]} est {ENDS[end]}." for noun in NOUNS for end in ENDS
}


def start(*options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "glassformer", "serve", "demo", "--port", "0", "--token", "t"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*command, "--device", "cpu", *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout
        found = re.search(r":(\d+)/\?token=t", server.stdout.readline())
        assert found
        yield server, int(found[1])
        server.kill()


@pytest.fixture
def several() -> Iterator[tuple[subprocess.Popen[str], int]]:
    yield from start("--processes", "2", "--cache", "0")


@pytest.fixture
def tight() -> Iterator[tuple[subprocess.Popen[str], int]]:
    yield from start("--recordings", "24")


def list_children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    return [int(each) for each in found.split()]


def ask(port: int, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    head = {"Content-Type": "application/json", "Authorization": "Bearer t"}
    connection.request("POST", path, json.dumps(body), head)
    response = connection.getresponse()
    answer = response.status, json.loads(response.read())
    connection.close()
    return answer


class Client(threading.Thread):
    """Asks one sentence after the other, and counts what is right."""

    def __init__(self, port: int, seed: int, requests: int) -> None:
        super().__init__()
        self.port, self.draw, self.requests = port, random.Random(seed), requests
        self.right, self.wrong = 0, list[str]()

    def run(self) -> None:
        for _ in range(self.requests):
            texts = self.draw.choices([*SENTENCES], k=self.draw.randint(1, 4))
            try:
                status, found = ask(
                    self.port, "/translate", {"q": texts, "source": "en", "target": "fr"}
                )
            except OSError as error:
                self.wrong.append(repr(error))
                continue
            expected = {"translatedText": [SENTENCES[text] for text in texts]}
            if (status, found) == (200, expected):
                self.right += 1
            else:
                self.wrong.append(f"{status} {found} for {texts}")


@pytest.mark.parametrize(
    ("clients", "requests"), [(24, 10), pytest.param(200, 20, marks=pytest.mark.slow)]
)
def test_killed_processes(
    several: tuple[subprocess.Popen[str], int], ledger: Ledger, clients: int, requests: int
) -> None:
    """SIGKILL at random moments, while all clients are waiting."""
    server, port = several
    draw, killed = random.Random(1), 0
    running = [Client(port, seed, requests) for seed in range(clients)]
    for client in running:
        client.start()
    end = time.monotonic() + 240
    while any(client.is_alive() for client in running) and time.monotonic() < end:
        time.sleep(draw.uniform(0.2, 1.5))
        if children := list_children(server.pid):
            with suppress(ProcessLookupError):
                os.kill(draw.choice(children), signal.SIGKILL)
                killed += 1
    for client in running:
        client.join(60)
    assert not [wrong for client in running for wrong in client.wrong]
    assert sum(client.right for client in running) == clients * requests and killed
    ledger.note(
        TABLE,
        "SIGKILL of a translating process under load",
        "replaced, its batch done again: every client got its own right answer",
        times=killed,
        detail=f"{clients * requests:,} requests of {clients} clients",
    )


def test_a_killed_server_leaves_no_process(
    several: tuple[subprocess.Popen[str], int], ledger: Ledger
) -> None:
    server, port = several
    assert ask(port, "/translate", {"q": "The cat is old.", "source": "en", "target": "fr"})[0] == (
        200
    )
    children = list_children(server.pid)
    assert len(children) == 2
    server.kill()
    server.wait(30)
    end = time.monotonic() + 30
    while any(Path(f"/proc/{each}/fd").exists() for each in children) and time.monotonic() < end:
        time.sleep(0.1)
    assert not [each for each in children if Path(f"/proc/{each}/cmdline").exists()]
    ledger.note(TABLE, "SIGKILL of the server", "its processes end too", "requests under way")


def read_memory(process: int) -> int:
    """MiB in memory."""
    pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") >> 20


@pytest.mark.thorough
def test_recordings_stay_within_their_budget(
    tight: tuple[subprocess.Popen[str], int], ledger: Ledger
) -> None:
    """Four times as many as fit; what is looked at in them counts too."""
    pytest.importorskip("torch")
    server, port = tight
    texts = [*SENTENCES, "The animal did not cross the street because it was too tired."]

    def look(times: int) -> int:
        for number in range(times):
            text = texts[number % len(texts)]  # its own translation: nothing has to be found
            status, found = ask(port, "/api/trace", {"text": text, "target": text})
            assert status == 200, found
        return read_memory(server.pid)

    before = look(15)  # most of the budget: libraries and threads have what they need
    after = look(75)
    assert after - before < 40, (before, after)
    ledger.note(
        TABLE,
        "recordings of four times the memory that they may take",
        "the least recently used leave, and the server stays as large as it was",
        detail=f"{after - before} MiB more after 75 recordings",
    )
