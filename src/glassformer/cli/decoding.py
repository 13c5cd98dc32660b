"""The search for a translation, as the options of a verb choose it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..config import Config, Decode


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
