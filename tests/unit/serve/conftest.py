"""A server on this machine, in a thread, with two of the models that come with the package."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from io import StringIO
from pathlib import Path
from traceback import format_stack
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.extensions.serve.limits import Limits
from glassformer.extensions.serve.running import GRACE, make_service, prepare_server
from glassformer.extensions.serve.service.service import Service

TOKEN = "secret"
# Of 0.1 s, for the end of a server that waits for a request; one in which a machine stands still.
STEPS = 10 * (GRACE + 40)


class Answer(NamedTuple):
    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[tuple[str, Any]]:
        """Server-sent events, comments left out."""
        found = []
        for block in self.body.decode().strip().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.split("\n"))
            if "event" in fields:
                found.append((fields["event"], json.loads(fields["data"])))
        return found


class Client:
    def __init__(self, port: int, service: Service) -> None:
        self.port, self.service = port, service

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(self, path: str, body: Any = None, method: str | None = None, **headers: str) -> Answer:
        """`body`: bytes as they are, anything else as JSON."""
        named = {"Authorization": f"Bearer {TOKEN}"}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            named["Content-Type"] = "application/json"
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method or ("GET" if body is None else "POST"), path, body, named)
            response: HTTPResponse = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def stream(self, path: str, body: Any) -> list[tuple[str, Any]]:
        return self.ask(path, body, Accept="text/event-stream").events


def start(service: Service, **how: Any) -> Iterator[Client]:
    ready = prepare_server(service, port=0, token=TOKEN, **how)
    thread = threading.Thread(target=ready.run)
    thread.start()
    while not ready.server.started and thread.is_alive():
        time.sleep(0.01)
    yield Client(int(urlsplit(ready.address).port or 0), service)
    ready.server.should_exit = True
    for _ in range(STEPS):
        thread.join(0.1)
        if not thread.is_alive():
            return
    pytest.fail(f"the server still runs:\n{describe_waiting(ready.server.servers[0].get_loop())}")


def describe_waiting(loop: asyncio.AbstractEventLoop) -> str:
    """Return where each task of a loop waits, and where each thread is."""
    text = StringIO()
    for task in asyncio.all_tasks(loop):
        task.print_stack(file=text)
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        text.write(f"{names.get(ident)}:\n{''.join(format_stack(frame)[-3:])}")
    return text.getvalue()


@pytest.fixture(scope="package")
def client() -> Iterator[Client]:
    limits = Limits(characters=2000, texts=20, seconds=30, tokens=64)
    yield from start(make_service(["demo", "demo-fr-en"], device="cpu", limits=limits))


@pytest.fixture(scope="package")
def recording(client: Client) -> str:
    """The id of a recording of one sentence."""
    found = client.ask("/api/trace", {"text": "The cat is on the mat."})
    assert found.status == 200, found.body
    return str(found.json["id"])


@pytest.fixture(scope="package")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two models of one name that hardly learned anything, each of two pairs of languages."""
    pytest.importorskip("torch", reason="training needs PyTorch")
    from glassformer.config import Config
    from glassformer.train import train

    home = tmp_path_factory.mktemp("pairs")
    sides = {"en": "the red cat\nthe old dog\n", "xx": "tac der\ngod dlo\n", "yy": "CAT\nDOG\n"}
    for side, text in sides.items():
        (home / side).write_text(text * 9, encoding="utf-8")
    data = [str(home / "en"), f"{home / 'xx'},langs=en-xx"]
    data += [str(home / "en"), f"{home / 'yy'},langs=en-yy"]
    models = [home / name / "m" for name in "ab"]
    for seed, model in enumerate(models):
        settings = {
            "model": {"d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 1},
            "data": {"source_lang": "en", "target_lang": "xx"},
            "text": {"vocabulary": 300},
            "train": {"steps": 2, "seed": seed, "precision": "fp32", "watch": 0},
            "decode": {"max_extra": 5},
        }
        train(Config.read(settings), data, model, quiet=True)
    return models
