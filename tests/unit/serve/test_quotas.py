"""The characters of a day: what is translated counts, and what was refused is given back."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from glassformer.extensions.serve import counting
from glassformer.extensions.serve.api_error import ApiError
from glassformer.extensions.serve.limits import Limits
from glassformer.extensions.serve.rate_limit import Access
from glassformer.extensions.serve.running import make_service

from .conftest import Answer, Client, start

DAY = 1000
KEYS = f"[school]\nkey = 'key'\ncharacters = {DAY}\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    file = tmp_path_factory.mktemp("keys") / "keys.toml"
    file.write_text(KEYS, encoding="utf-8")
    access = Access(file=file)
    limits = Limits(loaded=1, characters=2000, alternatives=2)
    yield from start(make_service(["demo"], device="cpu", limits=limits, access=access))


@pytest.fixture
def counted(running: Client) -> Client:
    """A server where nothing has been counted today."""
    running.service.access._used.clear()
    return running


def translate(client: Client, q: object, **more: object) -> Answer:
    return client.ask(
        "/translate", {"q": q, "source": "en", "target": "fr", "api_key": "key", **more}
    )


def count_used(client: Client) -> int:
    """Return what the server has counted today."""
    return client.service.access._used.get("school", 0)


CAT = "The cat is on the mat."


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (f"<p>{CAT}</p>", len(CAT)),
        (f"< {CAT} >", len(CAT) + 4),
        (f"<1 {CAT}>", len(CAT) + 4),
        (f"{CAT} <", len(CAT) + 2),
        (f"<b>The cat</b> is on <i>the mat.</i><script>{CAT}</script>", len(CAT)),
        (f"<p title='{CAT}'>{escape('A & B')}</p><!-- {CAT} -->", 5),
        (f"<p>{CAT}</p><p>...</p><p>{CAT}</p>", 2 * len(CAT)),
        (f"&lt;{CAT}&gt;", len(CAT) + 2),
    ],
)
@pytest.mark.parametrize("short", [counting.SHORT, 0])  # read in the server, and in a process apart
def test_what_is_translated_counts(
    counted: Client, page: str, expected: int, short: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "SHORT", short)
    assert translate(counted, page, format="html").status == 200
    assert count_used(counted) == expected
    assert translate(counted, [page, page], format="html").status == 200
    assert count_used(counted) == 3 * expected


def test_a_text_counts_as_it_is(counted: Client) -> None:
    assert translate(counted, f"< {CAT} >").status == 200
    assert count_used(counted) == len(CAT) + 4


def write_form(name: str, text: str) -> bytes:
    fields = {"source": "en", "target": "fr", "api_key": "key"}
    parts = [f'name="{key}"\r\n\r\n{value}' for key, value in fields.items()]
    parts.append(f'name="file"; filename="{name}"\r\n\r\n{text}')
    begin = "--x\r\nContent-Disposition: form-data; "
    return ("".join(f"{begin}{part}\r\n" for part in parts) + "--x--\r\n").encode()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", f"< {CAT} >", len(CAT) + 4),
        ("a.html", f"<p>{CAT}</p>", len(CAT)),
        ("a.html", f"< {CAT} >", len(CAT) + 4),
        ("a.srt", f"1\n00:00:01,000 --> 00:00:02,000\n{CAT}\n", len(CAT)),
    ],
)
def test_of_a_document_too(counted: Client, name: str, text: str, expected: int) -> None:
    parts = {"Content_Type": "multipart/form-data; boundary=x"}
    found = counted.ask("/translate_file", write_form(name, text), **parts)
    assert found.status == 200, found.body
    assert count_used(counted) == expected
    long = counted.ask("/translate_file", write_form("b.txt", "a" * (DAY + 1)), **parts)
    assert long.status == 429 and count_used(counted) == expected


def test_beyond_the_quota_nothing_is_translated(counted: Client) -> None:
    page = f"< {CAT} >" * 10
    answers = [translate(counted, page, format="html").status for _ in range(6)]
    assert answers == [200] * 3 + [429] * 3
    assert count_used(counted) == 3 * (10 * (len(CAT) + 4))


@pytest.mark.parametrize(
    "wrong",
    [
        {"alternatives": "many"},
        {"alternatives": -1},
        {"alignment": "perhaps"},
        {"target": "xx"},
        {"source": "xx"},
        {"format": "pdf"},
        {"format": "html", "confidence": True},
        {"stream": True, "alternatives": 1},
        {"stream": True, "target": "xx"},
        {"q": ["x" * 1500, "x" * 1500]},
    ],
    ids=json.dumps,
)
def test_what_is_refused_is_given_back(counted: Client, wrong: dict[str, Any]) -> None:
    found = translate(counted, **{"q": CAT, **wrong})
    assert found.status == 400 and count_used(counted) == 0


def test_what_a_full_server_refuses_is_given_back(
    counted: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ApiError(503, "too much to do: try again later", 1)

    monkeypatch.setattr(counted.service.batcher, "_order", refuse)
    new = "An old dog is on the mat."  # no answer is kept of it
    assert translate(counted, new).status == 503 and count_used(counted) == 0
    (told,) = translate(counted, new, stream=True).events
    assert told[0] == "error" and count_used(counted) == 0
    form = {"Content_Type": "multipart/form-data; boundary=x"}
    assert counted.ask("/translate_file", write_form("a.txt", new), **form).status == 503
    assert count_used(counted) == 0


def test_a_client_that_leaves_has_spent(counted: Client) -> None:
    access = counted.service.access
    for error in (ApiError(503, ""), ValueError(), RuntimeError()):
        with pytest.raises(type(error)), access.charge("school", 10):
            raise error
        assert count_used(counted) == 0
    with pytest.raises(asyncio.CancelledError), access.charge("school", 10):
        raise asyncio.CancelledError  # as `wait_for` ends what nobody waits for
    assert count_used(counted) == 10


def test_a_day_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was spent yesterday is not given back today."""
    (tmp_path / "keys.toml").write_text(KEYS, encoding="utf-8")
    now = 86_399.0
    clock = SimpleNamespace(time=lambda: now, monotonic=lambda: now)
    monkeypatch.setattr("glassformer.extensions.serve.rate_limit.time", clock)
    access = Access(file=tmp_path / "keys.toml")
    late = access.spend("school", 700)
    now += 2
    early = access.spend("school", 600)
    access.give_back(late)
    with pytest.raises(ApiError, match="600 are used"):
        access.spend("school", 500)
    access.give_back(early)
    access.spend("school", DAY)


def test_python_changes_threads_as_before_after_pages_were_read(counted: Client) -> None:
    usual = sys.getswitchinterval()
    page = f"<p>{CAT}</p>" + "<!-- x -->" * 1000
    assert translate(counted, [page, page], format="html").status == 200
    assert translate(counted, "<p>a</p>" * 2001, format="html").status == 400
    assert sys.getswitchinterval() == usual
