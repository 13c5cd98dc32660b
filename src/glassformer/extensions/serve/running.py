"""Start a server, and shut it down after the requests that it has accepted."""

import asyncio
import gc
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, NamedTuple

import uvicorn

from glassformer.foundation.shared_library import load_library

from .app import build_app
from .connection import Connection
from .limits import Limits, TrainingLimits
from .listening import (
    BACKLOG,
    LOCAL,
    OPEN,
    accept_last,
    allow_files,
    listen,
    name_address,
)
from .proxies import ProxyMiddleware
from .rate_limit import Access
from .request_log import RequestLog
from .service.answers import AnswerCache
from .service.batching import Batcher, search_here
from .service.jobs import Jobs
from .service.languages import Languages
from .service.model_pool import ModelPool
from .service.own_trainings import OwnTrainings
from .service.processes import TranslatingProcess
from .service.recordings import Recordings
from .service.server_metrics import ServerMetrics
from .service.service import Service
from .service.translated_files import TranslatedFiles
from .service.translation_service import TranslationService

HEARING = 0.5  # seconds in which an accepted connection can still send a request at shutdown
PATIENT, LOOK = 2.0, 0.05  # seconds more, looking so often, if one has sent none at all
NEW_OBJECTS = 20_000  # after which garbage is collected, 2 ms long; Python's own number is 700
_USUAL = list[tuple[tuple[int, int, int], int]]()  # for each server: threshold, frozen objects
GRACE = 30  # seconds for running requests at shutdown


class Server(uvicorn.Server):
    """A uvicorn server that first tells the service to close, so that endless streams end."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self.service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, wait for requests of accepted connections, then finish running ones."""
        self.service.closing.set()
        await accept_last([sock for server in self.servers for sock in server.sockets])
        for server in self.servers:
            server.close()
        await asyncio.sleep(HEARING)
        for _ in range(int(PATIENT / LOOK)):
            if all(getattr(each, "cycle", True) for each in self.server_state.connections):
                break  # each has sent a request
            await asyncio.sleep(LOOK)
        await super().shutdown(sockets)


def make_service(
    models: Sequence[Path | str] = (),
    *,
    runs: Path | None = None,
    trainings: Path | None = None,
    training_limits: TrainingLimits | None = None,
    limits: Limits | None = None,
    access: Access | None = None,
    processes: int = 1,
    plugin: Path | None = None,
    **keywords: Any,
) -> Service:
    """Return the service for these models.

    `models`: folders, or names of shipped models; none: all shipped ones. processes: how many
    translate; 1 is this one. trainings: a folder for those that are begun in the app; None: none
    can be. plugin: the file of one that was loaded here, for the processes to load too. `keywords`
    are passed to `Translator.load`. Raises ValueError if one of the models is none.
    """
    load_library("engine")  # if it has to be built, then before somebody waits for a translation
    limits, metrics = limits or Limits(), ServerMetrics()
    model_pool = ModelPool(models, loaded=limits.loaded, **keywords)
    others = []
    if processes > 1:
        others = start_processes(model_pool, processes, metrics, keywords, plugin)
    own = None
    if trainings:
        most = training_limits or TrainingLimits()
        own = OwnTrainings(trainings, model_pool, most, keywords.get("device", "auto"))
    answers = AnswerCache(limits.cache << 20, model_pool.identify)
    batcher = Batcher(limits, metrics.observe_batch, others or (search_here,), answers)
    return Service(
        model_pool=model_pool,
        limits=limits,
        jobs=Jobs(limits),
        recordings=Recordings(limits.recordings << 20),
        batcher=batcher,
        translation_service=TranslationService(model_pool, batcher, limits),
        languages=Languages(model_pool),
        access=access or Access(),
        metrics=metrics,
        files=TranslatedFiles(limits.files),
        processes=others,
        runs=runs,
        own_trainings=own,
    )


def start_processes(
    pool: ModelPool,
    number: int,
    metrics: ServerMetrics,
    machine: dict[str, Any],
    plugin: Path | None = None,
) -> list[TranslatingProcess]:
    """Return processes that translate; unless `machine` has threads, they share the processor's."""
    threads = machine.get("threads") or max(1, (os.cpu_count() or 1) // number)
    options = {**machine, "threads": threads}
    arguments = pool, options, metrics.replaced.inc, plugin
    return [TranslatingProcess(*arguments) for _ in range(number)]


class Ready(NamedTuple):
    """A server that is bound to its port, and the address to open, token included."""

    server: Server
    socks: list[socket.socket]
    address: str

    def run(self) -> None:
        """Run the server until it is told to end: by Ctrl-C, SIGTERM or SIGHUP.

        SIGHUP says that the terminal was closed; below nohup it is ignored.
        """
        hangup, is_main = getattr(signal, "SIGHUP", None), current_thread() is main_thread()
        if hangup and is_main and signal.getsignal(hangup) != signal.SIG_IGN:
            signal.signal(hangup, self.server.handle_exit)
        with ExitStack() as held:
            held.enter_context(collect_seldom())
            for sock in self.socks:
                held.enter_context(sock)
            self.server.run(sockets=self.socks)


def prepare_server(
    service: Service,
    *,
    host: str = "localhost",
    port: int = 5000,
    token: str | None = None,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    log: RequestLog | None = None,
) -> Ready:
    """Bind the port, and return a server that is ready to run.

    port: 0 is any free one. hosts: further names that the server answers to. origins: of pages
    elsewhere that may send requests, such as "https://example.org". log: the log of requests.
    Raises OSError if the port is taken.
    """
    token = token or secrets.token_urlsafe(24)
    allow_files(2 * service.limits.connections)
    socks = listen(host, port)
    port = socks[0].getsockname()[1]
    names = (*LOCAL, *hosts, "*" if host in OPEN and not hosts else host)
    cookie = f"glassformer-{port}"
    app = build_app(service, token=token, cookie=cookie, hosts=names, origins=origins, log=log)
    proxies = os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1")  # as uvicorn has it
    behind = ProxyMiddleware(app, proxies)  # type: ignore[arg-type, unused-ignore]
    config = uvicorn.Config(behind, **_options(service.limits))
    address = f"{name_address(host, port)}/?token={token}"
    return Ready(Server(config, service), socks, address)


@contextmanager
def collect_seldom() -> Iterator[None]:
    """Let garbage be collected less often, and never look through the objects that are here now.

    A collection holds Python's lock for as long as it has objects to look through, and nobody is
    answered meanwhile. Of several servers in one process, the last to end puts back what was usual.
    """
    _USUAL.append((gc.get_threshold(), gc.get_freeze_count()))
    if len(_USUAL) == 1:
        gc.collect()
        gc.freeze()
        gc.set_threshold(NEW_OBJECTS, *_USUAL[0][0][1:])
    try:
        yield
    finally:
        threshold, frozen = _USUAL[0]
        _USUAL.pop()
        if not _USUAL:
            gc.set_threshold(*threshold)
            if not frozen:
                gc.unfreeze()


def open_app(models: list[Path | str], runs: Path | None, show: Callable[[str], object]) -> None:
    """Serve models to a browser on this machine until the server ends; show gets the address."""
    ready = prepare_server(make_service(models, runs=runs), port=0)
    show(ready.address)
    ready.run()


def _options(limits: Limits) -> dict[str, Any]:
    return {
        "http": Connection,
        "ws": "none",
        "proxy_headers": False,  # ProxyMiddleware reads them
        "log_level": "error",  # uvicorn warns of every malformed request
        "backlog": BACKLOG,
        "limit_concurrency": limits.connections,
        "timeout_graceful_shutdown": GRACE,
        "timeout_keep_alive": 15,
        "server_header": False,
        "date_header": False,
    }
