"""Arguments and options that several verbs share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

Model = Annotated[Path, Argument(metavar="MODEL", help="The folder of a trained model.")]
Pair = Annotated[
    list[Path] | None,
    Argument(
        metavar="SOURCE TARGET",
        help="Text in the source language, a sentence a line, and its translations.",
    ),
]
Source = Annotated[
    Path | None, Option(metavar="FILE", help="SOURCE, by its name; - is the standard input.")
]
Target = Annotated[Path | None, Option(metavar="FILE", help="TARGET, by its name.")]
Output = Annotated[
    Path | None,
    Option("--output", "-o", metavar="FILE", help="Write here instead of the standard output."),
]
AsJson = Annotated[bool, Option("--json", help="Print JSON, for programs to read.")]

MACHINE = "Machine"
Device = Annotated[
    str,
    Option(
        metavar="auto|cpu|cuda|mps",
        help="What computes; auto is a GPU where there is one.",
        rich_help_panel=MACHINE,
    ),
]
Precision = Annotated[
    str,
    Option(
        metavar="auto|fp32|bf16|int8",
        help="The numbers it computes with; auto is the fastest that loses nothing to speak of.",
        rich_help_panel=MACHINE,
    ),
]
Exact = Annotated[
    str,
    Option(
        metavar="fp32|bf16",
        help="The numbers it computes with; fp32 is what the model was made of.",
        rich_help_panel=MACHINE,
    ),
]
Threads = Annotated[
    int | None,
    Option(metavar="N", min=1, help="Threads of each worker.", rich_help_panel=MACHINE),
]
Workers = Annotated[
    int | None,
    Option(
        metavar="N", min=1, help="Processes or copies that share the work.", rich_help_panel=MACHINE
    ),
]


def with_options(
    options: Mapping[str, Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add options to a verb, by name and type; an option that is not given is None.

    They are not arguments of the verb, which finds them in the parameters of its context.
    """

    def widen(verb: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(verb, eval_str=True)

        @functools.wraps(verb)
        def wider(**given: Any) -> None:
            verb(**{name: value for name, value in given.items() if name in own.parameters})

        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in options.items()
        ]
        every = [*own.parameters.values(), *more]
        wider.__signature__ = own.replace(parameters=every)  # type: ignore[attr-defined]
        wider.__annotations__ = {each.name: each.annotation for each in every}
        return wider

    return widen


def pick_pair(
    files: Sequence[Path] | None, source: Path | None, target: Path | None
) -> tuple[Path, Path]:
    """Return source and target; files fill those of the two that no option names.

    Raise ValueError if that does not give one file for each.
    """
    rest = list(files or ())
    pair = [path or (rest.pop(0) if rest else None) for path in (source, target)]
    first, second = pair
    if first is None or second is None or rest:
        raise ValueError("name two files: SOURCE and TARGET, or --source and --target")
    return first, second


def check_exact(precision: str) -> str:
    """Return a precision that `Exact` takes; ValueError for one that only translation takes."""
    if precision not in ("fp32", "bf16"):
        raise ValueError(f"precision={precision}: here one of fp32, bf16; translate has more")
    return precision
