"""What seldom happens: IPv6, another processor at resume, slow clients, one huge line, a stop."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
from damage.ledger import ROOT, Ledger
from damage.trainings import SETTINGS, Trainings

from glassformer import Translator
from glassformer.config import Config
from glassformer.model.files.directory import SHIPPED

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

TEXT, TRANSLATION = "I am a student.", "Je suis étudiant."


def run(
    *words: str | Path, given: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "glassformer", *map(str, words)],
        input=given,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        check=False,
    )


@contextmanager
def serve(*options: str) -> Iterator[int]:
    with start(*options) as (_, port):
        yield port


@contextmanager
def start(*options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "glassformer", "serve", "demo", "--port", "0", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        found = re.search(r":(\d+)/\?token=", server.stdout.readline())
        assert found
        try:
            yield server, int(found[1])
        finally:
            server.terminate()


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.thorough
@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize(
    ("host", "reached"), [("::1", {"::1"}), ("::", {"::1", "127.0.0.1"}), ("localhost", {"::1"})]
)
def test_ipv6(host: str, reached: set[str], ledger: Ledger) -> None:
    with serve("--host", host) as port:
        for address in reached:
            connection = HTTPConnection(address, port, timeout=60)
            body = json.dumps({"q": TEXT, "source": "en", "target": "fr"})
            origin = f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"
            head = {"Content-Type": "application/json", "Origin": origin}
            connection.request("POST", "/translate", body, head)
            answer = connection.getresponse()
            assert answer.status == 200
            assert json.loads(answer.read()) == {"translatedText": TRANSLATION}
            connection.close()
    ledger.note("Serving", "IPv6, alone or beside IPv4", "every client got its right answer")


@pytest.mark.slow
def test_slow_clients(ledger: Ledger) -> None:
    """A byte a second, of the head or of the body: sent away within limits."""
    post = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    starts = [b"GET / HTTP/1.1\r\nHost: localhost\r\na: ", post + b"Content-Length: 1000\r\n\r\n"]
    with serve() as port:
        for start in starts:
            begun = time.monotonic()
            with socket.create_connection(("127.0.0.1", port), timeout=1) as sock:
                sock.sendall(start)
                said = b""
                while not said and time.monotonic() - begun < 60:
                    try:
                        sock.sendall(b" ")
                        said = sock.recv(1000) or b"closed"
                    except TimeoutError:
                        continue
                    except OSError:
                        said = b"closed"
            assert said, "it was never sent away"
            assert 15 < time.monotonic() - begun < 60
            assert b" 408 " in said or (said == b"closed" and start is starts[0])
    ledger.note(
        "Serving",
        "clients that send a byte a second, of a head or of a body",
        "closed after 20 s; a body gets 408",
        times=2,
    )


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")
@pytest.mark.parametrize("seconds", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_a_server_that_stands_still(ledger: Ledger, seconds: int) -> None:
    """As when a laptop sleeps: who waits gets the right answer then, and who comes later, too."""
    body = json.dumps({"q": TEXT, "source": "en", "target": "fr"})
    head = {"Content-Type": "application/json"}
    with start() as (server, port), ExitStack() as stack:
        waiting = []
        for place in range(8):
            connection = HTTPConnection("127.0.0.1", port, timeout=120)
            stack.callback(connection.close)
            waiting.append(connection)
            if place == 4:  # four are under way, and four come while nothing moves
                server.send_signal(signal.SIGSTOP)
            connection.request("POST", "/translate", body, head)
        time.sleep(seconds)
        server.send_signal(signal.SIGCONT)
        for connection in waiting:
            answer = connection.getresponse()
            assert (answer.status, json.loads(answer.read())) == (
                200,
                {"translatedText": TRANSLATION},
            )
        connection.request("POST", "/translate", body, head)
        assert connection.getresponse().status == 200
    ledger.note(
        "Serving",
        f"SIGSTOP of the server for {seconds} s, then SIGCONT",
        "every client got its right answer, those that came meanwhile, too",
        times=len(waiting) + 1,
    )


@pytest.mark.parametrize("change", ["plugin = 'evil.py'", "[plugins]\nfile = 'evil.py'"])
def test_a_plugin_that_a_strangers_model_names(tmp_path: Path, ledger: Ledger, change: str) -> None:
    folder, ran = tmp_path / "model", tmp_path / "ran"
    shutil.copytree(SHIPPED / "demo", folder)
    evil = f"open({str(ran)!r}, 'w').close()\n"
    for name in ("evil.py", "plugin.py", "config.py", "sitecustomize.py"):
        (folder / name).write_text(evil, encoding="utf-8")
    config = folder / "config.toml"
    ended = run("translate", folder, given=TEXT)
    assert ended.stdout.strip() == TRANSLATION, ended.stderr
    config.write_text(f"{change}\n{config.read_text('utf-8')}", encoding="utf-8")
    ended = run("translate", folder, given=TEXT)
    assert ended.returncode == 2 and "Traceback" not in ended.stderr
    assert "config.toml" in ended.stderr and "plugin" in ended.stderr
    assert not ran.exists()
    ledger.note(
        "Damaged files",
        "a model of strangers that names a plugin, or has Python beside it",
        "refused in one sentence, or not looked at; nothing ran",
        times=2,
    )


@pytest.mark.thorough
def test_another_processor_at_resume(tmp_path: Path, trainings: Trainings, ledger: Ledger) -> None:
    data = [word for path in trainings.data for word in ("--data", path)]
    out, steps = tmp_path / "out", SETTINGS["train"]["steps"]
    half = trainings.recipe(steps=steps // 2)
    ended = run("train", half, *data, "--out", out, GLASSFORMER_ISA="avx2")
    assert ended.returncode == 0, ended.stderr
    more = ("--set", f"train.steps={steps}", "--accept-changed-settings")
    ended = run("train", "--resume", out, *more, GLASSFORMER_ISA="generic")
    assert ended.returncode == 0 and "Traceback" not in ended.stderr, ended.stderr
    assert Translator.load(out).translate(["a b c"])
    assert Config.load(out / "config.toml")
    ledger.note(
        "Kill and resume",
        "another instruction set at resume (avx2, then generic)",
        "resumed, and trained to the end",
    )


@pytest.mark.parametrize(
    "sentences",
    [2_000, *(pytest.param(many, marks=pytest.mark.slow) for many in (20_000, 100_000))],
)
def test_many_sentences_in_one_line(ledger: Ledger, sentences: int) -> None:
    ended = run("translate", "demo", given=f"{TEXT} " * sentences + "\n")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == f"{TRANSLATION} " * sentences + "\n"
    ledger.note("Bad input", f"{sentences:,} sentences in one line", "each translated, in one line")


@pytest.mark.parametrize("lines", [10_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_many_short_lines(ledger: Ledger, lines: int) -> None:
    texts = [TEXT, "...", "", "The dog is tired."]
    expected = [TRANSLATION, "...", "", "Le chien est fatigué."]
    ended = run("translate", "demo", given="\n".join(texts * (lines // 4)) + "\n")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "\n".join(expected * (lines // 4)) + "\n"
    ledger.note("Bad input", f"{lines:,} short lines through translate", "a line out for each")
