"""Arguments and options that several verbs share, and short ways to write one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

MACHINE = "Machine"
SEARCH, SAMPLING = "Search (if not given: the model's own settings)", "Sampling"


def opt(metavar: str | None, says: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """Return an option with a value; its name is that of the parameter if none is given."""
    return Option(*names, metavar=metavar, help=says, rich_help_panel=panel, **more)


def flag(name: str, says: str, panel: str | None = None) -> Any:
    """Return an option without a value: it says yes."""
    return Option(name, help=says, rich_help_panel=panel)


def arg(metavar: str, says: str) -> Any:
    """Return an argument, which is known by its place."""
    return Argument(metavar=metavar, help=says)


Model = Annotated[Path, arg("MODEL", "The folder of a trained model.")]
Pair = Annotated[
    list[Path] | None,
    arg("SOURCE TARGET", "Text in the source language, a sentence a line, and its translations."),
]
Source = Annotated[Path | None, opt("FILE", "SOURCE, by its name; - is the standard input.")]
Target = Annotated[Path | None, opt("FILE", "TARGET, by its name.")]
Output = Annotated[
    Path | None, opt("FILE", "Write here instead of the standard output.", "--output", "-o")
]
AsJson = Annotated[bool, flag("--json", "Print JSON, for programs to read.")]
Changes = Annotated[
    list[str] | None,
    opt("KEY=VALUE", "Change a setting, like decode.beam=1; again for each further one.", "--set"),
]
NoSplit = Annotated[
    bool,
    flag(
        "--no-split",
        "Translate each line whole, not sentence by sentence, nor a long one by clauses, unless it "
        "is too long for the model.",
        SEARCH,
    ),
]
NoGuard = Annotated[
    bool,
    flag(
        "--no-guard",
        "Take what the search finds. If not given, a line that looks wrong (a loop, a copy, lost "
        "numbers) is searched for again with more care, unless --n-best or sampling is on.",
        SEARCH,
    ),
]
Seed = Annotated[
    int | None, opt("N", "Other dice; the same seed gives the same output.", panel=SAMPLING)
]
Device = Annotated[
    str, opt("auto|cpu|cuda|mps", "What computes; auto is a GPU where there is one.", panel=MACHINE)
]
Precision = Annotated[
    str,
    opt(
        "auto|fp32|bf16|int8",
        "The numbers it computes with; auto is the fastest that loses nothing to speak of.",
        panel=MACHINE,
    ),
]
Exact = Annotated[
    str,
    opt(
        "fp32|bf16",
        "The numbers it computes with; fp32 is what the model was made of.",
        panel=MACHINE,
    ),
]
Threads = Annotated[int | None, opt("N", "Threads of each worker.", panel=MACHINE, min=1)]
Workers = Annotated[
    int | None, opt("N", "Processes or copies that share the work.", panel=MACHINE, min=1)
]


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


def check_choice(name: str, given: str | None, values: Sequence[str]) -> None:
    """Raise ValueError for a value of an option that is not one of those it takes."""
    if given is not None and given not in values:
        raise ValueError(f"--{name} {given}: one of {', '.join(values)}")
