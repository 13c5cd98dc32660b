"""Arguments and options that several verbs share, and short ways to write one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer import Argument, Option

MACHINE = "Machine"
SEARCH, SAMPLING = "Search (if not given: the model's own settings)", "Sampling"


def opt(
    metavar: str | None,
    says: str,
    *names: str,
    default: Any = None,
    panel: str | None = None,
    **more: Any,
) -> Any:
    """Return an option with a value, as the default of a verb's parameter.

    It is called as the parameter, unless `names` says otherwise. The default `...` means that it
    has to be given.
    """
    return Option(default, *names, metavar=metavar, help=says, rich_help_panel=panel, **more)


def flag(says: str, *names: str, default: bool | None = False, panel: str | None = None) -> Any:
    """Return an option without a value: it says yes."""
    return Option(default, *names, metavar="", help=says, rich_help_panel=panel)


def arg(metavar: str, says: str, default: Any = None) -> Any:
    """Return an argument, which is known by its place."""
    return Argument(default, metavar=metavar, help=says)


def check_exact(precision: str) -> str:
    """Return a precision of looking inside and scoring; ValueError for one of translation only."""
    if precision not in ("fp32", "bf16"):
        raise ValueError(f"precision={precision}: here one of fp32, bf16; translate has more")
    return precision


MODEL = arg(
    "MODEL", "The folder of a trained model, or the name of one that ships, like demo.", default=...
)
PAIR = arg("SOURCE TARGET", "Text in the source language, a sentence a line, and its translations.")
SOURCE = opt("FILE", "The same as SOURCE, as an option; - is the standard input.")
TARGET = opt("FILE", "The same as TARGET, as an option.")
TO = opt(
    "CODE",
    "With a model of several languages: the target language, like de, or the pair, like en-de. "
    "Other commands take MODEL@CODE.",
)
ENSEMBLE = opt(
    "MODEL",
    "Another model with the same vocabulary; give it again for each. The probability of a token "
    "is the mean of all models'.",
    "--model",
)
LM = opt(
    "MODEL",
    "A language model of the target language, with the same tokens, that takes part in the search "
    "(shallow fusion).",
    "--lm",
    panel=SEARCH,
)
LM_WEIGHT = opt(
    "X", "With --lm: the factor on its log-probabilities; 0.1 if not given.", panel=SEARCH
)
GLOSSARY = opt(
    "FILE",
    "A file that says how terms must be translated: on each line a source term, a tab and its "
    "target; a|b allows either, and a target that ends in * may be inflected.",
    panel=SEARCH,
)
OUTPUT = opt("FILE", "Write here instead of the standard output.", "--output", "-o")
AS_JSON = flag("Print JSON, for programs to read.", "--json")
CHANGES = opt(
    "KEY=VALUE",
    "Change a setting, like decode.beam=1; give it again for each further setting.",
    "--set",
)
NO_SPLIT = flag(
    "Translate each line as a whole, without splitting it into sentences or clauses, unless it is "
    "too long for the model.",
    "--no-split",
    panel=SEARCH,
)
NO_GUARD = flag(
    "Keep what the search finds first. Without this, a line that looks wrong (a loop, a copy, "
    "lost numbers) is searched again more carefully, except with --n-best or sampling.",
    "--no-guard",
    panel=SEARCH,
)
SEED = opt("N", "The seed of random numbers; the same seed gives the same output.", panel=SAMPLING)
DEVICE = opt(
    "auto|cpu|cuda|mps",
    "The device that computes; auto is what GLASSFORMER_DEVICE names or, if that is not set, a GPU "
    "if there is one.",
    default="auto",
    panel=MACHINE,
)
PRECISION = opt(
    "auto|fp32|bf16|int8",
    "The number format of the computation; auto is the fastest that costs no measurable quality.",
    default="auto",
    panel=MACHINE,
)
PRECISION_FP32 = opt("auto|fp32|bf16|int8", PRECISION.help, default="fp32", panel=MACHINE)
PLUGIN = opt(
    "FILE",
    "A Python file of your own with a network, loss, schedule or callback; its code is executed.",
    panel=MACHINE,
)
EXACT = opt(
    "fp32|bf16",
    "The number format of the computation; fp32 is that of the model itself.",
    default="fp32",
    panel=MACHINE,
    callback=check_exact,
)
THREADS = opt("N", "Threads; none: one for each core.", panel=MACHINE, min=1)
WORKERS = opt("N", "Processes or copies that share the work.", panel=MACHINE, min=1)


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


def check_choice(name: str, inputs: str | None, values: Sequence[str]) -> None:
    """Raise ValueError for a value of an option that is not one of those it takes."""
    if inputs is not None and inputs not in values:
        raise ValueError(f"--{name} {inputs}: one of {', '.join(values)}")
