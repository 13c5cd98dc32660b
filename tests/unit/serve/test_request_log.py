"""The log of requests: what an operator needs, no key, and no text unless asked."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from glassformer.cli import main
from glassformer.extensions.serve.rate_limit import Access
from glassformer.extensions.serve.request_log import RequestLog
from glassformer.extensions.serve.running import make_service

from .conftest import TOKEN, Client, start

KEY, TEXT = "a-secret-key", "The black dog is tired."


@pytest.fixture(scope="module", params=[False, True], ids=["without text", "with text"])
def logged(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Client, Path, bool]]:
    path = tmp_path_factory.mktemp("log") / "requests.jsonl"
    service = make_service(["demo"], device="cpu", precision="fp32", access=Access([KEY]))
    log = RequestLog(path, with_text=request.param)
    for client in start(service, log=log):
        yield client, path, request.param
    assert log._file is None  # closed with the server


def begin_anew(path: Path) -> None:
    """Remove the file, as logrotate does it; the next line begins a new one.

    The line of the last request may come a moment after its answer.
    """
    time.sleep(0.2)
    path.unlink(missing_ok=True)


def read(path: Path, count: int) -> list[dict[str, Any]]:
    """The last lines, once they are there: a client may have its answer a moment before."""
    for _ in range(200):
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if len(lines) >= count:
            break
        time.sleep(0.01)
    assert len(lines) == count
    return [json.loads(line) for line in lines]


def test_a_line_says_who_asked_what_and_how_it_went(logged: tuple[Client, Path, bool]) -> None:
    client, path, with_text = logged
    begin_anew(path)
    begun = time.time()
    given = {"q": [TEXT, "Yes."], "source": "en", "target": "fr", "api_key": KEY}
    assert client.ask("/translate", given).status == 200
    assert client.ask("/translate", {**given, "api_key": "wrong"}).status == 403
    assert client.ask("/api/trace", {"text": TEXT}).status == 200
    assert client.ask(f"/?token={TOKEN}").status == 303
    assert client.ask("/api/models/demo/tokens?text=secretly", Authorization="").status == 401
    assert client.ask("/nothing/here\x1b[2J".replace("\x1b", "%1b")).status == 404
    done, refused, traced, opened, stranger, lost = read(path, 6)
    expected = {
        "address": "127.0.0.1",
        "method": "POST",
        "path": "/translate",
        "status": 200,
        "models": ["demo"],
        "texts": 2,
        "characters": len(TEXT) + 4,
        "key": sha256(KEY.encode()).hexdigest()[:8],
    }
    assert expected.items() <= done.items()
    assert 0 < done["ms"] < 60_000
    assert done["time"].endswith("Z") and done["time"][:4] == time.strftime(
        "%Y", time.gmtime(begun)
    )
    assert refused["status"] == 403 and refused["key"] == sha256(b"wrong").hexdigest()[:8]
    assert "texts" not in refused
    assert (traced["path"], traced["models"], traced["texts"]) == ("/api/trace", ["demo"], 1)
    assert [each["status"] for each in (opened, stranger, lost)] == [303, 401, 404]
    assert opened["path"] == "/" and stranger["path"] == "/api/models/demo/tokens"
    told = path.read_bytes()
    assert b"\x1b" not in told
    for secret in (KEY, TOKEN, "wrong", "secretly"):
        assert secret.encode() not in told
    assert (TEXT.encode() in told) == with_text
    if with_text:
        assert done["text"] == [TEXT, "Yes."] and traced["text"] == [TEXT]


def test_a_renamed_file_gets_no_more_lines(logged: tuple[Client, Path, bool]) -> None:
    client, path, _ = logged
    begin_anew(path)
    assert client.ask("/health").status == 200
    (first,) = read(path, 1)
    path.rename(path.with_suffix(".1"))
    assert client.ask("/languages").status == 200
    (second,) = read(path, 1)
    assert (first["path"], second["path"]) == ("/health", "/languages")
    assert len(read(path.with_suffix(".1"), 1)) == 1


@pytest.mark.skipif(os.name != "posix", reason="only there do files have such modes")
def test_others_may_not_read_the_log(tmp_path: Path) -> None:
    """Whatever the mask of the process is."""
    before = os.umask(0)
    try:
        log = RequestLog(tmp_path / "log")
        assert log._file
        log._file.close()
    finally:
        os.umask(before)
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o640


def test_half_a_character_is_logged(logged: tuple[Client, Path, bool]) -> None:
    client, path, _ = logged
    begin_anew(path)
    body = b'{"text": "The \\ud800 cat."}'
    client.ask("/api/trace", body, Content_Type="application/json")
    assert read(path, 1)[0]["path"] == "/api/trace"


def test_a_log_that_cannot_be_written_stops_no_request(
    logged: tuple[Client, Path, bool], capfd: pytest.CaptureFixture[str]
) -> None:
    client, path, _ = logged
    folder = path.parent
    kept = folder.rename(folder.with_name("away"))
    try:
        assert [client.ask("/health").status for _ in range(3)] == [200] * 3
    finally:
        kept.rename(folder)
    assert client.ask("/health").status == 200
    assert capfd.readouterr().err.count("nothing is logged") == 1


def test_a_log_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        RequestLog(tmp_path / "no folder" / "log")


def test_a_log_that_fails_from_the_first_line_says_so_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = RequestLog(folder / "log")
    for path in (folder / "log", folder):
        path.unlink() if path.is_file() else path.rmdir()
    log.write({})
    log.write({})
    assert capfd.readouterr().err.count("nothing is logged") == 1


def test_a_line_has_the_milliseconds_of_its_request(
    logged: tuple[Client, Path, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, path, _ = logged
    begin_anew(path)
    times = count(3.0, 2.5)
    clock = SimpleNamespace(perf_counter=lambda: next(times))
    monkeypatch.setattr("glassformer.extensions.serve.request_log.time", clock)
    client.ask("/timed")
    assert read(path, 1)[0]["ms"] == 2500.0


def test_what_does_not_work_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "demo", "--port", "0", "--log", str(tmp_path / "no/where")]) == 2
    assert "no/where: No such file" in capsys.readouterr().err
    assert main(["serve", "demo", "--port", "0", "--log-text"]) == 2
    assert "--log-text has no effect without --log" in capsys.readouterr().err
