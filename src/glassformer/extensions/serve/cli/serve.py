"""The command `glassformer serve`: the app, and an HTTP service that translates."""

import sys
from importlib.util import find_spec
from pathlib import Path

from typer import Context

from glassformer.cli.options import DEVICE, MACHINE, PRECISION, THREADS, arg, flag, opt
from glassformer.cli.settings import list_limits
from glassformer.cli.verb import takes
from glassformer.data.files import STANDARD
from glassformer.foundation.machine.extras import need

from ..limits import Limits, TrainingLimits

OPERATION, TRAINING = "Operation", "Training in the app"


@takes(
    *list_limits(Limits, OPERATION, "characters", "seconds", "waiting", "cache", "recordings"),
    *list_limits(Limits, MACHINE, "batch", "loaded"),
    *list_limits(TrainingLimits, TRAINING, "minutes", "upload", "disk", prefix="train_"),
)
def serve(
    context: Context,
    models: list[Path] | None = arg(
        "[MODEL ...]", "Folders of models; if not given, the shipped models."
    ),
    port: int = opt("N", "The port to listen on; 0: any free one.", min=0, max=65535, default=5000),
    host: str = opt(
        "ADDRESS",
        "The address to listen on; localhost: only this machine can connect.",
        default="localhost",
    ),
    host_names: list[str] | None = opt(
        "NAME", "Another host name to which this server answers.", "--name"
    ),
    token: str | None = opt("TEXT", "The access token of /api; if not given, a new random one."),
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
        "Let pages of this origin use the server, such as https://example.org; *: all pages.",
        "--cors",
        panel=OPERATION,
    ),
    log: Path | None = opt(
        "FILE",
        "Append a line of JSON for every request: time, address, path, status, duration, model, "
        "amount of text; - is the standard output. You may rename the file while the server runs.",
        panel=OPERATION,
    ),
    log_text: bool = flag("Log the texts of users, too.", "--log-text", panel=OPERATION),
    trainings: Path | None = opt(
        "FOLDER",
        "Let whoever has the token upload text and train models on it; they are kept in this "
        "folder. One training at a time.",
        "--train",
        panel=TRAINING,
    ),
    processes: int = opt(
        "N",
        "How many processes translate; one that dies is replaced, and its work is done again.",
        panel=MACHINE,
        min=1,
        max=256,
        default=1,
    ),
    device: str = DEVICE,
    precision: str = PRECISION,
    threads: int | None = THREADS,
) -> None:
    """Serve the app for a browser, and LibreTranslate's API for programs.

    \b
    glassformer serve demo demo-fr-en
    """
    need("fastapi")
    if runs is not None and not runs.is_dir():
        raise ValueError(f"--runs {runs} is no folder")
    if trainings is not None:
        check_torch(trainings)
    from ..rate_limit import Access
    from ..request_log import RequestLog
    from ..running import make_service, prepare_server

    options = context.params
    limits = Limits(**{name: options[name] for name in Limits.model_fields if name in options})
    names = TrainingLimits.model_fields
    most = TrainingLimits(**{n: options[f"train_{n}"] for n in names if f"train_{n}" in options})
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
            plugin=options.get("plugin"),
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


def check_torch(folder: Path) -> None:
    """Raise ValueError if this Python cannot train, or `folder` is a file."""
    if find_spec("torch") is None:
        raise ValueError("--train needs PyTorch: pip install torch")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--train {folder} is no folder")
