"""Documents that are read and written in a process apart, with limits of time and memory.

A server opens files of strangers. Whatever one of them does to a parser, the process ends with its
time or memory, or when nobody waits for the document any more, and the server goes on.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import IO, Protocol

from .declared import Languages, compare_languages, declare_language
from .failures import Failures
from .formats import TranslatableDocument, open_document
from .markup import read_markup
from .messages import exchange, limit_address_space, receive, send, send_error, start_reader


@dataclass(frozen=True)
class DocumentLimits:
    """The limits of reading or writing one document, and how many are read at a time."""

    seconds: float = 60.0
    memory: int = 1 << 30  # bytes
    tags: int = 500_000
    at_once: int = max(2, os.cpu_count() or 1)
    opened: int = 8  # documents that are translated meanwhile, too


class DocumentApart:
    """A document in a process of its own.

    `form` and `texts` are as in `formats.TranslatableDocument`; `readable` are its texts without
    tags.
    """

    def __init__(self, turn: asyncio.Semaphore, limits: DocumentLimits) -> None:
        self._turn, self.limits = turn, limits
        self._process: Process | None = None
        self.form = ""
        self.texts: list[str] = []
        self.readable: list[str] = []
        self.failures = Failures()

    async def read(self, data: bytes, name: str) -> None:
        """Read the file. Raises what `open_document` raises, and ValueError beyond the limits."""
        head = {"name": name, "memory": self.limits.memory, "tags": self.limits.tags}
        answer = await self._ask([json.dumps(head).encode(), data], "read")
        content = json.loads(answer)
        self.form, self.texts = content["form"], content["texts"]
        self.readable = content["readable"]

    async def fill(self, translations: Sequence[str], languages: Languages = (None, None)) -> bytes:
        """Return the document with these translations in place of its texts.

        languages: those of its texts and of the translations. `failures` gets what stays as it is,
        and a sentence if the document says other languages.
        """
        message = {"translations": [*translations], "languages": languages}
        written = await self._ask([json.dumps(message).encode()], "written")
        self.failures.said += json.loads(await self._ask([], "written"))
        return written

    async def _ask(self, messages: Sequence[bytes], action: str) -> bytes:
        """Return the answer to messages. Raises the error that it tells."""
        limit = f"the document was not {action} in {self.limits.seconds:g} seconds"
        async with self._turn:
            # In its turn, since Python takes longer to start than many files to be read.
            self._process = self._process or await start_reader(__name__)
            try:
                async with asyncio.timeout(self.limits.seconds):
                    is_error, answer = await exchange(self._process, messages)
            except TimeoutError:
                raise ValueError(limit) from None
            except (OSError, asyncio.IncompleteReadError):
                raise ValueError(
                    f"the document could not be {action}: it broke the reader"
                ) from None
        if not is_error:
            return answer
        error = json.loads(answer)
        if error["package"]:
            raise ModuleNotFoundError(error["said"], name=error["package"])
        raise ValueError(error["said"])

    async def close(self) -> None:
        """End the process."""
        if self._process:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.communicate()  # until its pipes are closed, too


class DocumentSource(Protocol):
    """A file that is read only when there is room for it."""

    async def read(self) -> bytes:
        """Return all of it."""


class DocumentProcesses:
    """Opens documents in processes apart; so many are open, and fewer work, at a time.

    The others wait, and a file that waits is neither in memory nor in a process.
    """

    def __init__(self, limits: DocumentLimits | None = None) -> None:
        self.limits = limits or DocumentLimits()
        self._turn = asyncio.Semaphore(self.limits.at_once)
        self._places = asyncio.Semaphore(self.limits.opened)

    @asynccontextmanager
    async def open(self, source: bytes | DocumentSource, name: str) -> AsyncIterator[DocumentApart]:
        """Give a document; its process ends with the block, however that is left."""
        async with self._places:
            data = source if isinstance(source, bytes) else await source.read()
            document = DocumentApart(self._turn, self.limits)
            try:
                await document.read(data, name)
                yield document
            finally:
                await document.close()


def serve_document(inputs: IO[bytes], out: IO[bytes]) -> None:
    """Read a document, say what is in it, and write it with the translations that come back."""
    head, data = json.loads(receive(inputs)), receive(inputs)
    try:
        limit_address_space(head["memory"])
        document = open_document(data, head["name"])
        send(out, _spell(document, head["tags"]))
        send(out, _write(document, head["name"], **json.loads(receive(inputs))))
        send(out, json.dumps(document.failures.said).encode())
    except ModuleNotFoundError as error:
        send_error(out, str(error), error.name or "")
    except ValueError as error:
        send_error(out, str(error))
    except MemoryError:
        send_error(out, f"the document needs more than {head['memory'] >> 20:,} MiB of memory")
    except RecursionError:
        send_error(out, "the document is damaged: it is nested too deeply")


def _write(
    document: TranslatableDocument, name: str, translations: list[str], languages: Languages
) -> bytes:
    written = document.fill(translations)
    if mismatch := compare_languages(written, name, *languages):
        document.failures.said.insert(0, mismatch)
    return declare_language(written, name, languages[1])


def _spell(document: TranslatableDocument, tags: int) -> bytes:
    """Return what a document has as JSON. Raises ValueError if it has more tags than that."""
    texts = document.texts
    if document.form == "html" and sum(text.count("<") for text in texts) > tags:
        raise ValueError(f"the document has more than {tags:,} tags")
    readable = texts
    if document.form == "html":
        pages = map(read_markup, texts)
        readable = ["\n".join(run.full_text for run in page.runs) for page in pages]
    return json.dumps({"form": document.form, "texts": texts, "readable": readable}).encode()


if __name__ == "__main__":
    serve_document(sys.stdin.buffer, sys.stdout.buffer)
