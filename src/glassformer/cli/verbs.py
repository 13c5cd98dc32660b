"""The table of all verbs of the command line, by the panel of the help in which they stand."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from . import VERSION
from .verb import Verb, list_spellings, raise_as_sentence, refuse_option

PANELS = {
    "Try": ("demo",),
    "Train": ("check-data", "augment", "train", "average", "prune", "shortlist"),
    "Use": (
        "translate",
        "see",
        "serve",
        "page",
        "site",
        "score",
        "align",
        "heads",
        "info",
        "doctor",
    ),
    "Language models": ("complete", "fill", "classify"),
    "Measure": ("evaluate", "probe"),
    "Exchange": ("import", "export", "publish"),
}
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}
ALONE = ("demo", "doctor", "serve")  # these verbs run without an argument
# What became of a verb that there was.
FORMER = {"bench": "`python -m benchmarks`, in a checkout of glassformer's source"}
# A word of Python's own cannot be a module; and several verbs may share one.
MODULES = dict.fromkeys(("complete", "fill", "classify"), "language") | {
    "check-data": ".extensions.check_data.cli.check_data",
    "export": ".extensions.bridge.cli.export",
    "heads": ".extensions.lab.cli.heads",
    "import": ".extensions.bridge.cli.import_model",
    "page": ".extensions.site.cli.page",
    "probe": ".extensions.lab.cli.probe",
    "prune": ".extensions.lab.cli.prune",
    "serve": ".extensions.serve.cli.serve",
    "site": ".extensions.site.cli.site",
}


class Verbs(Mapping[str, Any]):
    """The verbs by name; the module of one is imported when it is first looked at."""

    def __getitem__(self, name: str) -> Any:
        return make_verb(name, PANEL_OF[name])

    def __iter__(self) -> Iterator[str]:
        return iter(PANEL_OF)

    def __len__(self) -> int:
        return len(PANEL_OF)


@cache
def make_verb(name: str, panel: str) -> Any:
    """Return the command of a verb: the function of that name in the module of that name.

    A verb is made once in a process: with its options it costs 10 to 20 ms.
    """
    plain = name.replace("-", "_")
    module = import_module(f".{MODULES.get(name, plain)}", __package__)
    verb = getattr(module, plain, None) or getattr(module, f"{plain}_")
    alone = typer.Typer(add_completion=False)
    needs_more = name not in ALONE
    alone.command(name, cls=Verb, rich_help_panel=panel, no_args_is_help=needs_more)(verb)
    return get_command(alone)


class Group(TyperGroup):
    """The command glassformer, with a verb below it for each module."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.commands = Verbs()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        return [*PANEL_OF]  # as in the table: before 0.13, Typer would sort them

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            unknown = getattr(error, "option_name", None)
            if type(error).__name__ == "NoSuchOption" and unknown:
                options = [name for each in self.get_params(ctx) for name in list_spellings(each)]
                refuse_option(unknown, given, options)
            raise_as_sentence(error, "glassformer")
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in FORMER:
            raise ValueError(f"glassformer {args[0]} is now {FORMER[args[0]]}")
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            raise_as_sentence(error, "glassformer")
            raise


app = typer.Typer(cls=Group, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def glassformer(
    version: Annotated[bool, typer.Option(VERSION, help="Say which it is.")] = False,
) -> None:
    """Train, run and look inside your own translation Transformer.

    Begin with "glassformer demo"; "glassformer VERB --help" explains each verb.
    """
