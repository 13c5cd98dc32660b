"""Start a server, and end it well: what it has taken on is finished."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

from .access import Access
from .app import build
from .batching import Batcher
from .interpreter import Interpreter
from .jobs import Jobs
from .languages import Languages
from .limits import Limits
from .metrics import Metrics
from .recordings import Recordings
from .service import Service
from .shelf import Shelf

LOCAL = ("127.0.0.1", "localhost", "::1")
HEARING = 0.5  # seconds in which a connection that was accepted can still send its request
BACKLOG = 2048  # connections that wait to be accepted
GRACE = 30  # seconds for requests under way when the server is told to end


class Server(uvicorn.Server):
    """Tells the service at once that it is to end: streams without an end close."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self.service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Nobody new; whoever has just connected is heard; then what is under way is finished."""
        self.service.closing.set()
        for server in self.servers:
            server.close()
        await asyncio.sleep(HEARING)
        await super().shutdown(sockets)


def make_service(
    models: Sequence[Path | str] = (),
    *,
    runs: Path | None = None,
    limits: Limits | None = None,
    access: Access | None = None,
    **how: Any,
) -> Service:
    """`models`: folders, or names of shipped models; `how` as in Translator.

    ValueError where one of them is none.
    """
    limits, metrics = limits or Limits(), Metrics()
    shelf = Shelf(models, loaded=limits.loaded, **how)
    batcher = Batcher(limits, metrics.observe_batch)
    return Service(
        shelf=shelf,
        limits=limits,
        jobs=Jobs(limits),
        recordings=Recordings(limits.traces),
        batcher=batcher,
        interpreter=Interpreter(shelf, batcher, limits),
        languages=Languages(shelf),
        access=access or Access(),
        metrics=metrics,
        runs=runs,
    )


class Ready(NamedTuple):
    """A server that has its port, and the address to open, token included."""

    server: Server
    sock: socket.socket
    address: str

    def run(self) -> None:
        """Until it is told to end."""
        with self.sock:
            self.server.run(sockets=[self.sock])


def prepare(
    service: Service,
    *,
    host: str = "127.0.0.1",
    port: int = 5000,
    token: str | None = None,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
) -> Ready:
    """Take the port; 0 is any. OSError where it is taken.

    hosts: further names that the server answers to. origins: of pages elsewhere that may ask it,
    such as "https://example.org".
    """
    token = token or secrets.token_urlsafe(24)
    sock = bind(host, port)
    port = sock.getsockname()[1]
    is_open = host in ("0.0.0.0", "::") and not hosts
    names = (*LOCAL, *hosts, "*" if is_open else host)
    cookie = f"glassformer-{port}"
    app = build(service, token=token, cookie=cookie, hosts=names, origins=origins)
    config = uvicorn.Config(app, **_options(service.limits))
    shown = f"[{host}]" if ":" in host else host
    return Ready(Server(config, service), sock, f"http://{shown}:{port}/?token={token}")


def bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(BACKLOG)  # who comes before the server is ready waits
    except OSError as error:
        sock.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    return sock


def _options(limits: Limits) -> dict[str, Any]:
    return {
        "log_level": "warning",
        "backlog": BACKLOG,
        "limit_concurrency": limits.connections,
        "timeout_graceful_shutdown": GRACE,
        "timeout_keep_alive": 15,
        "server_header": False,
        "date_header": False,
    }
