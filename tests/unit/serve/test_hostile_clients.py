"""Clients that send what is slow to read, and leave: the others are served all the while."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from damage.hostile_clients import (
    CLIENTS,
    Address,
    run_server,
    send_and_leave,
    write_file,
    write_page,
)
from damage.hostile_units import UNITS

from glassformer.extensions.documents.pages_apart import AT_ONCE

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

SLOWEST = 1.0  # seconds of /health, on a machine that does other things too: idle, 0.1


@pytest.fixture(scope="module")
def server() -> Iterator[Address]:
    with run_server() as address:
        yield address


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


def count_processes(server: Address) -> int:
    """Return how many processes the server has begun that have not ended."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    return len(children.read_text(encoding="ascii").split()) if children.exists() else 0


def test_nothing_is_left_of_them(server: Address) -> None:
    end = time.monotonic() + 60  # a process takes a while to end after it was told to
    while count_under_way(server) > 1 or count_processes(server) > AT_ONCE:
        assert time.monotonic() < end  # this request, and those that wait for further pages
        time.sleep(0.2)


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
