"""Listening sockets."""

import asyncio
import ctypes
import errno
import os
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector
from typing import Any

LOCAL = ("127.0.0.1", "localhost", "::1")
OPEN = ("0.0.0.0", "::")
BACKLOG = 2048  # connections that may wait to be accepted
HANDSHAKE = 0.05  # seconds that the last packet of a connection's begin may be on its way
_ATTACH_FILTER = 26  # Linux's SO_ATTACH_FILTER, which Python does not name
_NO_SYN = b"".join(  # a program for packets, whose 14th byte has TCP's flags
    struct.pack("HBBI", *step)
    for step in [(0x30, 0, 0, 13), (0x45, 0, 1, 2), (0x06, 0, 0, 0), (0x06, 0, 0, 2**32 - 1)]
)


def listen(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets; port 0 is any free one.

    `localhost` is IPv4 and, if the machine has it, IPv6. Raises OSError if the port is taken.
    """
    first = bind(LOCAL[0] if host == "localhost" else host, port)
    if host == "localhost":
        with suppress(OSError):
            return [first, bind("::1", first.getsockname()[1])]
    return [first]


def bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    is_dual, address = host == "::", (host, port)
    try:  # connections before the server is ready wait
        return socket.create_server(address, family=family, backlog=BACKLOG, dualstack_ipv6=is_dual)
    except OSError as error:
        is_known = (error.errno or 0) > 0  # or of getaddrinfo
        message = (
            os.strerror(error.errno or 0) if is_known else str(error.strerror).partition(" (")[0]
        )
        hint = "; --port 0 takes one that is free" if error.errno == errno.EADDRINUSE else ""
        raise OSError(error.errno, f"{message}{hint}", f"{host}:{port}") from None


def name_address(host: str, port: int) -> str:
    """Return the address that a browser on this machine opens."""
    shown = {"localhost": LOCAL[0], "0.0.0.0": LOCAL[0], "::": LOCAL[2]}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def allow_files(most: int) -> None:
    """Raise the limit of open files to `most`, or to the system's limit if that is lower.

    Each connection is an open file.
    """
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        number = most if hard == resource.RLIM_INFINITY else min(most, hard)
        if soft < number:
            resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))


async def accept_last(sockets: Sequence[Any]) -> None:
    """Let no further connection begin, and return when none waits, so that closing resets none."""
    if any([refuse_new(sock) for sock in sockets]):
        await asyncio.sleep(HANDSHAKE)
    await accept_waiting(sockets)


def refuse_new(sock: Any) -> bool:
    """Have Linux drop the first packet of whoever connects to this socket, or return False.

    Such a client tries again a second later, when nobody listens. Without it, whoever connects
    between the last look at the socket and its end is accepted by the system and then reset.
    """
    if not sys.platform.startswith("linux"):
        return False
    steps = ctypes.create_string_buffer(_NO_SYN, len(_NO_SYN))
    program = struct.pack("HP", len(_NO_SYN) // 8, ctypes.addressof(steps))
    try:
        sock.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
    except OSError:  # a sandbox without such filters
        return False
    return True


async def accept_waiting(sockets: Sequence[Any]) -> None:
    """Return when no connection waits at these sockets.

    asyncio accepts a connection in one turn of its loop and takes it over in the next, which fails
    once the server is closed. So nobody may have waited in two turns.
    """
    with DefaultSelector() as selector:
        for sock in sockets:
            selector.register(sock, EVENT_READ)
        quiet = 0
        for _ in range(BACKLOG):
            quiet = 0 if selector.select(0) else quiet + 1
            if quiet == 2:
                return
            await asyncio.sleep(0)
