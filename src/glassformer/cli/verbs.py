"""The table of all verbs of the command line, by the panel of the help in which they stand."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from ..foundation.extensions import PACKAGE, load_place, read_tables
from .terminal import VERSION
from .verb import Verb, list_spellings, raise_as_sentence, refuse_option

# Those of the core; extensions add others, `foundation/extensions.py` says how.
PANELS = {
    "Try": (),
    "Train": ("train",),
    "Use": ("translate", "see", "score"),
    "Language models": ("complete", "fill", "classify"),
    "Measure": ("evaluate",),
    "Exchange": (),
}
OWN = {name: panel for panel, names in PANELS.items() for name in names}
ALONE = ("demo", "doctor", "models", "serve")  # these verbs run without an argument
# What became of a verb that there was.
FORMER = {"bench": "`python -m benchmarks`, in a checkout of glassformer's source"}
MODULES = dict.fromkeys(("complete", "fill", "classify"), "language")


@cache
def list_verbs() -> dict[str, tuple[str, str]]:
    """Return the panel of each verb and the function that makes it, in the order of the help."""
    panels = {panel: list(names) for panel, names in PANELS.items()}
    places = {name: f"{__package__}.{MODULES.get(name, name)}.{name}" for name in OWN}
    added = {
        name: (panel, before, f"{PACKAGE}.extensions.{extension}.{place}")
        for extension, table in read_tables("VERBS").items()
        for name, (panel, before, place) in table.items()
    }
    while added:
        follows = (name for name, (panel, before, _) in added.items() if before in panels[panel])
        name = next(follows, next(iter(added)))  # the verb before it may be in none
        panel, before, places[name] = added.pop(name)
        verbs = panels[panel]
        at_end = len(verbs) if before else 0
        verbs.insert(verbs.index(before) + 1 if before in verbs else at_end, name)
    return {name: (panel, places[name]) for panel, names in panels.items() for name in names}


class Verbs(Mapping[str, Any]):
    """The verbs by name; the module of one is imported when it is first looked at."""

    def __getitem__(self, name: str) -> Any:
        return make_verb(name)

    def __contains__(self, name: object) -> bool:
        return name in OWN or name in list_verbs()

    def __iter__(self) -> Iterator[str]:
        return iter(list_verbs())

    def __len__(self) -> int:
        return len(list_verbs())


@cache
def make_verb(name: str) -> Any:
    """Return the command of a verb, whose module is imported now.

    A verb is made once in a process: with its options it costs 10 to 20 ms.
    """
    if name in OWN:  # without a look at the extensions
        panel, place = OWN[name], f"{__package__}.{MODULES.get(name, name)}.{name}"
    else:
        panel, place = list_verbs()[name]
    alone = typer.Typer(add_completion=False)
    needs_more = name not in ALONE
    alone.command(name, cls=Verb, rich_help_panel=panel, no_args_is_help=needs_more)(
        load_place(place)
    )
    return get_command(alone)


class Group(TyperGroup):
    """The command glassformer, with a verb below it for each module."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.commands = Verbs()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        return [*list_verbs()]  # as in the table: before 0.13, Typer would sort them

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        arguments = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            unknown = getattr(error, "option_name", None)
            if type(error).__name__ == "NoSuchOption" and unknown:
                options = [name for each in self.get_params(ctx) for name in list_spellings(each)]
                refuse_option(unknown, arguments, options)
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
