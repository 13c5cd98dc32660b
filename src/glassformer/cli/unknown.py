"""Unknown options of a verb, answered with the name of the option that was meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from typer.core import TyperCommand

from ..other_names import Ours, find_name, suggest_names

SETTABLE = {"train": "", "evaluate": "decode."}  # verbs with --set: the prefix it takes


class Verb(TyperCommand):
    """A command that knows what other toolkits call its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            unknown = getattr(error, "option_name", None)  # of click, or of Typer's copy of it
            if type(error).__name__ == "NoSuchOption" and unknown:
                self._answer(unknown, given)
            raise

    def _answer(self, unknown: str, given: Sequence[str]) -> None:
        """Raise ValueError if other_names or the settings know what was meant."""
        from ..config import Config
        from ..validation_errors import find_settings, list_settings

        typed = (word.split("=")[0] for word in given if word.startswith(unknown))
        options = {option for each in self.params for option in each.opts}
        for name in (*typed, unknown):
            own = find_settings(name, list_settings(Config))[:1]
            found = Ours((*own,), "") if own else find_name(name) or Ours((), "")
            if meant := list(self._list_options(found.names, options)):
                raise ValueError(f"there is no {name}; {suggest_names(meant, found.note)}")

    def _list_options(self, ours: Sequence[str], options: set[str]) -> Iterator[str]:
        """Yield those of `ours` that this verb takes, as they are typed."""
        taken = SETTABLE.get(self.name or "") if "--set" in options else None
        for name in ours:
            option = name if name.startswith("--") else "--" + name.split(".")[-1].replace("_", "-")
            if option in options:
                yield option
            elif taken is not None and name != option and name.startswith(taken):
                yield f"--set {name}=VALUE"
