"""The options of the search for a translation, and the settings that they make."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

if TYPE_CHECKING:
    from ..config import Config, Decode


SEARCH, SAMPLING = "Search (if not given: the model's own settings)", "Sampling"

Search = Annotated[
    str | None,
    Option(
        metavar="beam|greedy|sample",
        help="Keep the best beginnings, take the likeliest token each time, or throw dice.",
        rich_help_panel=SEARCH,
    ),
]
Beam = Annotated[
    int | None, Option(metavar="N", help="How many beginnings are kept.", rich_help_panel=SEARCH)
]
Penalty = Annotated[
    str | None,
    Option(
        metavar="gnmt|power|none",
        help="What a log-probability is divided by: ((5+n)/6)^alpha, n^alpha or 1.",
        rich_help_panel=SEARCH,
    ),
]
Alpha = Annotated[
    float | None, Option(metavar="X", help="Larger favours longer output.", rich_help_panel=SEARCH)
]
Stop = Annotated[
    str | None,
    Option(
        metavar="exact|first",
        help="End when nothing better can come, or when enough have ended.",
        rich_help_panel=SEARCH,
    ),
]
MinLength = Annotated[
    int | None, Option(metavar="N", help="Fewest tokens of output.", rich_help_panel=SEARCH)
]
MaxRatio = Annotated[
    float | None,
    Option(
        metavar="X",
        help="Most tokens of output: X for each source token, and --max-extra.",
        rich_help_panel=SEARCH,
    ),
]
MaxExtra = Annotated[
    int | None, Option(metavar="N", help="See --max-ratio.", rich_help_panel=SEARCH)
]
NoRepeat = Annotated[
    int | None,
    Option(metavar="N", help="Never the same N tokens twice; 0: off.", rich_help_panel=SEARCH),
]
Temperature = Annotated[
    float | None,
    Option(
        metavar="X", help="Below 1: fewer bold choices; above 1: more.", rich_help_panel=SAMPLING
    ),
]
TopK = Annotated[
    int | None,
    Option(metavar="N", help="Only among the N likeliest; 0: all.", rich_help_panel=SAMPLING),
]
TopP = Annotated[
    float | None,
    Option(
        metavar="X",
        help="Only among the likeliest that make up this share of the probability.",
        rich_help_panel=SAMPLING,
    ),
]
Seed = Annotated[
    int | None,
    Option(
        metavar="N",
        help="Other dice; the same seed gives the same output.",
        rich_help_panel=SAMPLING,
    ),
]


OPTIONS = {
    "search": Search,
    "beam": Beam,
    "length_penalty": Penalty,
    "alpha": Alpha,
    "stop": Stop,
    "min_length": MinLength,
    "max_ratio": MaxRatio,
    "max_extra": MaxExtra,
    "no_repeat_ngram_size": NoRepeat,
    "temperature": Temperature,
    "top_k": TopK,
    "top_p": TopP,
    "seed": Seed,
}


@cache
def list_serving() -> dict[str, str]:
    """Return the options that apply to one kind of search only, with the name of that search."""
    from ..config import SEARCH_OF

    return {**SEARCH_OF, "n_best": "beam", "seed": "sample"}


def choose_search(config: Config, given: Mapping[str, Any]) -> Decode:
    """Return the model's own settings, overridden by the options given (those not None).

    The rules are those of `Decode.override`. Since a user typed every option, raise ValueError
    for one that has no effect.
    """
    from ..config import Decode

    given = {name: value for name, value in given.items() if value is not None}
    if given.get("n_best") == 1:  # true of any search
        del given["n_best"]
    changes = {name: value for name, value in given.items() if name in Decode.model_fields}
    decode = config.decode.override(changes, given.get("n_best"))
    for name in given:
        needed = list_serving().get(name, decode.search)
        if needed != decode.search:
            option = "--" + name.replace("_", "-")
            raise ValueError(
                f"{option} has no effect on {decode.search} search; add --search {needed}"
            )
    return decode


def describe_search(decode: Decode) -> str:
    """Return the settings that apply to the search, as `--set decode.NAME=VALUE` takes them."""
    values = decode.model_dump()
    return " ".join(
        f"{name}={value}"
        for name, value in values.items()
        if list_serving().get(name, decode.search) == decode.search
    )
