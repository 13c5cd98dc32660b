"""The command `glassformer serve`: the app, and an HTTP service that translates."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ..data.files import STANDARD
from ..serve.limits import Limits
from .options import MACHINE, Device, Precision, Threads

if TYPE_CHECKING:
    from ..serve.running import Ready

OPERATION = "Operation"

Models = Annotated[
    list[Path] | None,
    Argument(metavar="[MODEL ...]", help="Folders of models; none: those that come with this."),
]
Port = Annotated[int, Option(metavar="N", min=0, max=65535, help="Where to listen; 0: any.")]
Host = Annotated[str, Option(metavar="ADDRESS", help="Who may connect: this machine, or all.")]
Token = Annotated[
    str | None, Option(metavar="TEXT", help="What /api asks for; otherwise a new random one.")
]
Runs = Annotated[
    Path | None, Option(metavar="FOLDER", help="Trainings to show: a model's folder, or several.")
]
HostNames = Annotated[
    list[str] | None,
    Option("--name", metavar="NAME", help="A further host name that this server answers to."),
]


Keys = Annotated[
    list[str] | None,
    Option(
        "--api-key",
        metavar="TEXT",
        help="Ask programs for this key; may be given several times.",
        envvar="GLASSFORMER_API_KEYS",
        rich_help_panel=OPERATION,
    ),
]
Rate = Annotated[
    int,
    Option(
        metavar="N",
        min=0,
        rich_help_panel=OPERATION,
        help="Requests a minute of one key or address; 0: any number.",
    ),
]
Origins = Annotated[
    list[str] | None,
    Option(
        "--cors",
        metavar="ORIGIN",
        rich_help_panel=OPERATION,
        help="Let pages of this origin ask, such as https://example.org.",
    ),
]
Characters = Annotated[
    int,
    Option(metavar="N", min=1, help="Most of one request.", rich_help_panel=OPERATION),
]
Seconds = Annotated[
    float,
    Option(metavar="N", min=0.1, help="Longest for a request.", rich_help_panel=OPERATION),
]
Waiting = Annotated[
    int,
    Option(
        metavar="N",
        min=1,
        rich_help_panel=OPERATION,
        help="Sentences that may wait; further requests are told when to try again.",
    ),
]
Log = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        rich_help_panel=OPERATION,
        help="Append a line of JSON for every request: time, address, path, status, duration, "
        "model, how much text; - is the standard output. A file may be renamed meanwhile.",
    ),
]
LogText = Annotated[
    bool, Option("--log-text", help="Log the texts too.", rich_help_panel=OPERATION)
]
Batch = Annotated[
    int, Option(metavar="N", min=1, help="Sentences translated together.", rich_help_panel=MACHINE)
]
Loaded = Annotated[
    int, Option(metavar="N", min=1, help="Models kept in memory.", rich_help_panel=MACHINE)
]


def serve(
    models: Models = None,
    port: Port = 5000,
    host: Host = "localhost",
    host_names: HostNames = None,
    token: Token = None,
    runs: Runs = None,
    api_key: Keys = None,
    rate: Rate = 0,
    cors: Origins = None,
    characters: Characters = Limits.characters,
    seconds: Seconds = Limits.seconds,
    waiting: Waiting = Limits.waiting,
    log: Log = None,
    log_text: LogText = False,
    batch: Batch = Limits.batch,
    loaded: Loaded = Limits.loaded,
    device: Device = "auto",
    precision: Precision = "auto",
    threads: Threads = None,
) -> None:
    """Look inside in a browser, and translate for programs that speak LibreTranslate.

    \b
    glassformer serve demo demo-fr-en
    """
    if log_text and not log:
        raise ValueError("--log-text has no effect without --log")
    body = max(Limits.body, 12 * characters)  # bytes: an escaped character takes up to 12
    limits = Limits(
        characters=characters,
        seconds=seconds,
        waiting=waiting,
        batch=batch,
        loaded=loaded,
        body=body,
    )
    ready = start(
        models or (),
        host=host,
        port=port,
        names=host_names or (),
        token=token,
        runs=runs,
        keys=api_key or (),
        rate=rate,
        origins=cors or (),
        limits=limits,
        log=log,
        log_text=log_text,
        device=device,
        precision=precision,
        threads=threads,
    )
    out = sys.stderr if log == STANDARD else sys.stdout  # stdout has only lines of JSON then
    print(f"Open {ready.address}\nCtrl-C ends.", file=out, flush=True)
    ready.run()


def start(
    models: Sequence[Path | str],
    *,
    port: int,
    host: str = "localhost",
    names: Sequence[str] = (),
    token: str | None = None,
    runs: Path | None = None,
    keys: Sequence[str] = (),
    rate: int = 0,
    origins: Sequence[str] = (),
    limits: Limits | None = None,
    log: Path | None = None,
    log_text: bool = False,
    **how: Any,
) -> Ready:
    """Return a server that has its port and its models; it answers once it runs."""
    if find_spec("fastapi") is None:
        raise ValueError("serving needs an extra: pip install 'glassformer[serve]'")
    if runs is not None and not runs.is_dir():
        raise ValueError(f"--runs {runs} is no folder")
    from ..serve.rate_limit import Access
    from ..serve.request_log import RequestLog
    from ..serve.running import make_service, prepare_server

    lines = RequestLog(log, with_text=log_text) if log else None
    service = make_service(models, runs=runs, limits=limits, access=Access(keys, rate), **how)
    where: dict[str, Any] = {"host": host, "port": port, "hosts": names}
    return prepare_server(service, **where, token=token, origins=origins, log=lines)
