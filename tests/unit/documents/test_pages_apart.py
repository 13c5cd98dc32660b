"""Pages of HTML in processes apart: the same as here, within limits, and gone with who asked."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import NoReturn

import pytest

from glassformer.extensions.documents import markup, pages_apart
from glassformer.extensions.documents.failures import Failures
from glassformer.extensions.documents.markup import read_markup
from glassformer.extensions.documents.messages import LENGTH
from glassformer.extensions.documents.page_reader import serve_pages, unpack_pages
from glassformer.extensions.documents.pages_apart import PageProcesses

PAGES = [
    "<p>The <b>cat <i>is</i></b> here.<br>A&nbsp;dog &copy; <img src=x> too.</p>",
    "<script>x</script> one</b> two</i> <a href='#'>three",
    "Use <code>x</code> <i>now</i>, <img data-verbatim='%s'>.",
    "no tags",
    "",
]


def run(work: Callable[[PageProcesses], object]) -> object:
    async def use() -> object:
        processes = PageProcesses()
        try:
            return await work(processes)  # type: ignore[misc]
        finally:
            await processes.close()

    return asyncio.run(use())


def list_pids(processes: PageProcesses) -> list[int]:
    return [process.pid for process in processes._idle]


def test_they_are_the_same_pages() -> None:
    async def read(processes: PageProcesses) -> None:
        assert await processes.read(PAGES, Failures()) == [*map(read_markup, PAGES)]
        runs = [run for page in PAGES for run in read_markup(page).runs]
        assert await processes.count(PAGES) == sum(len(run.full_text) for run in runs)

    run(read)


def test_what_cannot_be_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(parts: object) -> NoReturn:
        raise ValueError("no run")

    monkeypatch.setattr(markup, "_make_run", refuse)
    order, out = json.dumps({"read": ["<p>A <b>cat</b>.</p>"]}).encode(), BytesIO()
    with pytest.raises(SystemExit):  # when nothing more comes
        serve_pages(BytesIO(len(order).to_bytes(LENGTH) + order), out)
    pages, said = unpack_pages(out.getvalue()[1 + LENGTH :])
    assert pages[0].fill([]) == "<p>A <b>cat</b>.</p>"
    assert said == ["“A cat.” stays as it is: no run"]


def test_one_process_reads_page_after_page() -> None:
    async def read(processes: PageProcesses) -> list[list[int]]:
        return [[await processes.count(PAGES), *list_pids(processes)] for _ in range(3)]

    first, *others = run(read)  # type: ignore[misc]
    assert len(first) == 2 and others == [first, first]


def test_so_many_work_at_a_time() -> None:
    async def read(processes: PageProcesses) -> int:
        await asyncio.gather(*(processes.count(PAGES) for _ in range(7)))
        return len(list_pids(processes))

    assert run(read) == pages_apart.AT_ONCE


def test_a_process_that_was_killed_is_replaced() -> None:
    async def read(processes: PageProcesses) -> None:
        expected = await processes.count(PAGES)
        (process,) = processes._idle
        os.kill(process.pid, signal.SIGTERM)
        await process.communicate()
        assert await processes.count(PAGES) == expected
        assert process.pid not in list_pids(processes)

    run(read)


def test_nobody_waits_for_a_process_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(processes: PageProcesses) -> None:
        monkeypatch.setattr(pages_apart, "SECONDS", 0.01)
        with pytest.raises(ValueError, match=r"^the page was not read in 0\.01 seconds$"):
            await processes.count(PAGES)
        monkeypatch.undo()
        assert list_pids(processes) == []
        assert await processes.count(PAGES)

    run(read)


def test_one_that_breaks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(processes: PageProcesses) -> None:
        monkeypatch.setattr(pages_apart, "READER", "no.such.reader")
        with pytest.raises(ValueError, match=r"^the page could not be read: it broke the reader$"):
            await processes.count(PAGES)

    run(read)


def test_it_ends_with_who_asked() -> None:
    async def leave(processes: PageProcesses) -> None:
        task = asyncio.ensure_future(processes.count(["<b></i>" * 200_000]))
        await asyncio.sleep(0.3)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert list_pids(processes) == []

    run(leave)


def test_it_ends_when_nobody_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_apart, "STAY", 0.01)

    async def wait(processes: PageProcesses) -> None:
        await processes.count(PAGES)
        (process,) = processes._idle
        await asyncio.wait_for(process.communicate(), 30)
        assert not processes._idle

    run(wait)
