"""Messages between a server and its readers: each has its length before it, an answer its kind."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from glassformer.foundation.machine.python_process import plan_python

if TYPE_CHECKING:  # a reader starts without them
    from asyncio.subprocess import Process
    from collections.abc import Sequence

LENGTH = 8  # bytes that say how long a message is
NICE = 10  # of 19: a tenth of the time, where others want all of it


async def start_reader(module: str) -> Process:
    """Start a reader; the server works before it does.

    Where the system can do so, that holds from its first instruction: many readers that start at
    once would else keep a server from answering.
    """
    from asyncio.subprocess import PIPE, create_subprocess_exec

    command, environment = plan_python(["-m", module])
    if nice := shutil.which("nice"):
        command = [nice, "-n", str(NICE), *command]
    return await create_subprocess_exec(
        *command, env=environment, stdin=PIPE, stdout=PIPE, start_new_session=True
    )


async def exchange(process: Process, messages: Sequence[bytes]) -> tuple[bool, bytes]:
    """Send messages to a reader; return whether its answer tells an error, and the answer.

    Raises OSError or IncompleteReadError if the reader has ended without an answer.
    """
    orders, answers = process.stdin, process.stdout
    assert orders and answers
    for message in messages:
        orders.write(len(message).to_bytes(LENGTH) + message)
    with suppress(OSError):  # a reader that has ended may have answered before
        await orders.drain()
    is_error = await answers.readexactly(1) == b"\1"
    length = int.from_bytes(await answers.readexactly(LENGTH))
    return is_error, await answers.readexactly(length)


def receive(inputs: IO[bytes]) -> bytes:
    """Return the next message. Raises SystemExit if there is none: the server has gone."""
    length = inputs.read(LENGTH)
    if len(length) < LENGTH:
        raise SystemExit
    return inputs.read(int.from_bytes(length))


def send(out: IO[bytes], message: bytes, kind: bytes = b"\0") -> None:
    """Send an answer."""
    out.write(kind + len(message).to_bytes(LENGTH) + message)
    out.flush()


def send_error(out: IO[bytes], sentence: str, package: str = "") -> None:
    """Answer with what went wrong; `package`: the one that is not installed, if that is it."""
    error: dict[str, Any] = {"said": sentence, "package": package}
    send(out, json.dumps(error).encode(), b"\1")


def limit_address_space(most: int) -> None:
    """Let this process have so many bytes of memory, where the system can limit them."""
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))
