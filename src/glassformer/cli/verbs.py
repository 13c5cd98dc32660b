"""The table of all verbs of the command line, by the panel of the help in which they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from . import (
    VERSION,
    align,
    average,
    check_data,
    demo,
    doctor,
    evaluate,
    export,
    import_model,
    info,
    publish,
    score,
    see,
    serve,
    train,
    translate,
)
from .unknown import Verb

VERBS: dict[str, list[Callable[..., None]]] = {
    "Try": [demo.demo],
    "Train": [check_data.check_data, train.train, average.average],
    "Use": [
        translate.translate,
        see.see,
        serve.serve,
        score.score,
        align.align,
        info.info,
        doctor.doctor,
    ],
    "Measure": [evaluate.evaluate],
    "Exchange": [import_model.import_, export.export, publish.publish],
}
ALONE = (demo.demo, doctor.doctor, serve.serve)  # these verbs run without an argument

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
for panel, verbs in VERBS.items():
    for verb in verbs:
        name = verb.__name__.strip("_").replace("_", "-")
        app.command(name, cls=Verb, rich_help_panel=panel, no_args_is_help=verb not in ALONE)(verb)


@app.command(
    hidden=True,
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
)
def bench() -> None:
    """Say where the former verb is now."""
    raise ValueError(
        "glassformer bench is now `python -m benchmarks`, in a checkout of glassformer's source"
    )


@app.callback()
def glassformer(
    version: Annotated[
        bool,
        typer.Option(VERSION, help="Say which it is."),
    ] = False,
) -> None:
    """Train, run and look inside your own translation Transformer.

    Begin with "glassformer demo"; "glassformer VERB --help" explains each verb.
    """
