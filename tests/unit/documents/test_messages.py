"""Messages to readers that may have ended."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE

import pytest

from glassformer.extensions.documents.messages import exchange

ANSWERS = "import sys; sys.stdout.buffer.write(bytes([1]) + (2).to_bytes(8) + b'no')"


async def ask_late(code: str, messages: list[bytes]) -> tuple[bool, bytes]:
    """Exchange messages with a process that has run code and ended."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdin=PIPE, stdout=PIPE
    )
    await process.wait()
    await asyncio.sleep(0.1)  # until the loop knows that its pipes are closed
    return await exchange(process, messages)


@pytest.mark.parametrize("messages", [[], [b"x"], [b"x" * 1_000_000]])
def test_the_answer_of_a_reader_that_has_ended_counts(messages: list[bytes]) -> None:
    assert asyncio.run(ask_late(ANSWERS, messages)) == (True, b"no")


def test_a_reader_that_ended_without_an_answer_is_an_error() -> None:
    with pytest.raises(asyncio.IncompleteReadError):
        asyncio.run(ask_late("", [b"x"]))
