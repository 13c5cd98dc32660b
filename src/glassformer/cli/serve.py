"""The command `glassformer serve`: the app, and an HTTP service that translates."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from ..data.files import STANDARD
from ..serve.limits import Limits, TrainingLimits
from .options import DEVICE, MACHINE, PRECISION, THREADS, arg, flag, opt

OPERATION, TRAINING = "Operation", "Training in the app"


def serve(
    models: list[Path] | None = arg(
        "[MODEL ...]", "Folders of models; none: those that come with this."
    ),
    port: int = opt("N", "Where to listen; 0: any.", min=0, max=65535, default=5000),
    host: str = opt("ADDRESS", "Who may connect: this machine, or all.", default="localhost"),
    host_names: list[str] | None = opt(
        "NAME", "A further host name that this server answers to.", "--name"
    ),
    token: str | None = opt("TEXT", "What /api asks for; otherwise a new random one."),
    runs: Path | None = opt("FOLDER", "Trainings to show: a model's folder, or several."),
    api_key: list[str] | None = opt(
        "TEXT",
        "Ask programs for this key; may be given several times.",
        "--api-key",
        panel=OPERATION,
        envvar="GLASSFORMER_API_KEYS",
    ),
    keys: Path | None = opt(
        "FILE",
        "A TOML file with a table for each key: key, rate, characters a day; it is read again when "
        "it changes.",
        panel=OPERATION,
    ),
    rate: int = opt(
        "N",
        "Requests a minute of one key or address; 0: any number.",
        panel=OPERATION,
        min=0,
        default=0,
    ),
    cors: list[str] | None = opt(
        "ORIGIN",
        "Let pages of this origin ask, such as https://example.org.",
        "--cors",
        panel=OPERATION,
    ),
    characters: int = opt(
        "N", "Most of one request.", panel=OPERATION, min=1, default=Limits.characters
    ),
    seconds: float = opt(
        "N", "Longest for a request.", panel=OPERATION, min=0.1, default=Limits.seconds
    ),
    waiting: int = opt(
        "N",
        "Sentences that may wait; further requests are told when to try again.",
        panel=OPERATION,
        min=1,
        default=Limits.waiting,
    ),
    cache: int = opt(
        "MIB",
        "Memory for translated sentences; 0: none are kept.",
        panel=OPERATION,
        min=0,
        default=Limits.answers >> 20,
    ),
    recordings: int = opt(
        "MIB", "Memory for recordings.", panel=OPERATION, min=1, default=Limits.traces >> 20
    ),
    log: Path | None = opt(
        "FILE",
        "Append a line of JSON for every request: time, address, path, status, duration, model, "
        "how much text; - is the standard output. A file may be renamed meanwhile.",
        panel=OPERATION,
    ),
    log_text: bool = flag("Log the texts too.", "--log-text", panel=OPERATION),
    trainings: Path | None = opt(
        "FOLDER",
        "Let who has the token upload text and train models on it, which are kept here; one "
        "training at a time.",
        "--train",
        panel=TRAINING,
    ),
    train_minutes: float = opt(
        "N", "Longest for a training.", panel=TRAINING, min=0.1, default=TrainingLimits.minutes
    ),
    train_upload: int = opt(
        "MIB",
        "Largest file of text.",
        panel=TRAINING,
        min=1,
        default=TrainingLimits.upload >> 20,
    ),
    train_disk: int = opt(
        "MIB",
        "What all trainings may take of the disk.",
        panel=TRAINING,
        min=1,
        default=TrainingLimits.disk >> 20,
    ),
    batch: int = opt(
        "N", "Sentences translated together.", panel=MACHINE, min=1, default=Limits.batch
    ),
    processes: int = opt(
        "N",
        "Processes that translate; one that dies is replaced, and its work done again.",
        panel=MACHINE,
        min=1,
        max=256,
        default=1,
    ),
    loaded: int = opt("N", "Models kept in memory.", panel=MACHINE, min=1, default=Limits.loaded),
    device: str = DEVICE,
    precision: str = PRECISION,
    threads: int | None = THREADS,
) -> None:
    """Look inside in a browser, and translate for programs that speak LibreTranslate.

    \b
    glassformer serve demo demo-fr-en
    """
    check_installed()
    if runs is not None and not runs.is_dir():
        raise ValueError(f"--runs {runs} is no folder")
    if trainings is not None:
        check_torch(trainings)
    from ..serve.rate_limit import Access
    from ..serve.request_log import RequestLog
    from ..serve.running import make_service, prepare_server

    limits = Limits(
        characters=characters,
        seconds=seconds,
        waiting=waiting,
        batch=batch,
        loaded=loaded,
        answers=cache << 20,
        traces=recordings << 20,
        body=max(Limits.body, 12 * characters),  # bytes: an escaped character takes up to 12
    )
    most = TrainingLimits(train_minutes, train_upload << 20, train_disk << 20)
    machine = {"device": device, "precision": precision, "threads": threads}
    access = Access(api_key or (), rate, keys)
    ready = prepare_server(
        make_service(
            models or (),
            runs=runs,
            trainings=trainings,
            training_limits=most,
            limits=limits,
            access=access,
            processes=processes,
            **machine,
        ),
        host=host,
        port=port,
        hosts=host_names or (),
        token=token,
        origins=cors or (),
        log=RequestLog(log, with_text=log_text) if log else None,
    )
    out = sys.stderr if log == STANDARD else sys.stdout  # stdout has only lines of JSON then
    print(f"Open {ready.address}\nCtrl-C ends.", file=out, flush=True)
    ready.run()


def check_installed() -> None:
    """Raise ValueError if the packages that a server needs are missing."""
    if find_spec("fastapi") is None:
        raise ValueError("serving needs an extra: pip install 'glassformer[serve]'")


def check_torch(folder: Path) -> None:
    """Raise ValueError if this Python cannot train, or `folder` is a file."""
    if find_spec("torch") is None:
        raise ValueError("--train needs PyTorch: pip install torch")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--train {folder} is no folder")
