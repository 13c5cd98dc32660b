"""Documents in a process apart: the same as here, within limits, and gone with who asked."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress

import pytest

from glassformer.extensions.documents.apart import DocumentApart, DocumentLimits, DocumentProcesses
from glassformer.extensions.documents.formats import open_document

PAGE = b"<p>The <b>cat</b> is here.</p><p>&copy; a dog</p>"


async def copy(data: bytes, name: str, limits: DocumentLimits | None = None) -> bytes:
    async with DocumentProcesses(limits).open(data, name) as document:
        return await document.fill(document.texts)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_is_the_same_document() -> None:
    async def look() -> tuple[str, list[str], list[str], bytes]:
        async with DocumentProcesses().open(PAGE, "a.html") as document:
            made = await document.fill([document.texts[0].replace("cat", "chat")])
            return document.form, document.texts, document.readable, made

    here = open_document(PAGE, "a.html")
    form, texts, readable, made = asyncio.run(look())
    assert (form, texts) == (here.form, here.texts)
    assert readable == ["The cat is here.\n© a dog"]
    assert made == PAGE.replace(b"cat", b"chat")


def test_errors_are_those_of_here() -> None:
    for data, name in ((b"no zip", "a.docx"), (b"", "a.pdf"), (b"Hello.", "a.srt")):
        with pytest.raises(ValueError, match=r"\w") as here:
            open_document(data, name)
        with pytest.raises(ValueError, match=r"\w") as apart:
            asyncio.run(copy(data, name))
        assert str(apart.value) == str(here.value)


def test_too_much_memory() -> None:
    limits = DocumentLimits(memory=200 << 20)
    with pytest.raises(ValueError, match=r"more than 200 MiB of memory|broke the reader"):
        asyncio.run(copy(b"<b>a</b> " * 240_000, "a.html", limits))


def test_too_many_tags() -> None:
    with pytest.raises(ValueError, match=r"^the document has more than 100 tags$"):
        asyncio.run(copy(b"<b>a</b> " * 51, "a.html", DocumentLimits(tags=100)))
    assert asyncio.run(copy(b"<b>a</b> " * 50, "a.html", DocumentLimits(tags=100)))


def test_too_long() -> None:
    with pytest.raises(ValueError, match=r"^the document was not read in 0\.01 seconds$"):
        asyncio.run(copy(PAGE, "a.html", DocumentLimits(seconds=0.01)))


def test_it_ends_with_who_asked() -> None:
    opened: list[DocumentApart] = []

    async def stay() -> None:
        async with DocumentProcesses().open(PAGE, "a.html") as document:
            opened.append(document)
            await asyncio.sleep(60)

    async def leave() -> int:
        task = asyncio.ensure_future(stay())
        while not opened:
            await asyncio.sleep(0.01)
        pid = opened[0]._process.pid
        assert is_running(pid)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return pid

    pid = asyncio.run(leave())
    end = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_running(pid)


def test_few_are_open_and_a_file_that_waits_is_not_read() -> None:
    class File:
        opened = most = read_early = 0

        async def read(self) -> bytes:
            File.read_early += File.opened >= 2
            return PAGE

    async def stay(processes: DocumentProcesses) -> None:
        async with processes.open(File(), "a.html") as document:
            File.opened += 1
            File.most = max(File.most, File.opened)
            await document.fill(document.texts)
            File.opened -= 1

    async def crowd() -> None:
        processes = DocumentProcesses(DocumentLimits(opened=2))
        await asyncio.gather(*(stay(processes) for _ in range(5)))

    asyncio.run(crowd())
    assert File.most <= 2 and File.read_early == 0
