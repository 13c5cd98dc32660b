"""The commands of docs/pronoun.md that ask about one sentence, and what they print."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from typing import NamedTuple

from glassformer.cli import main

WIDE = "The animal didn't cross the street because it was too wide."
TIRED = WIDE.replace("wide", "tired")
LEAD, OTHER = r"\S+ leads .*", r"The counterpart, .*"
CIRCUIT = (r"Circuit: .*? of the lead", r"  where: .*")


class PageCommand(NamedTuple):
    """A command: what is asked, with which options, and which of its lines the page shows."""

    text: str
    options: tuple[str, ...]
    shown: tuple[str, ...]  # patterns; of each, the first line that begins so

    def spell(self, model: str) -> str:
        """Return the command as one types it."""
        pairs = zip(self.options[::2], self.options[1::2], strict=True)
        words = (
            f'{name} "{value}"' if " " in value else f"{name} {value}" for name, value in pairs
        )
        asked = f'glassformer why {model} "{self.text}"'
        if self.shown == METHODS:
            return f"{asked} \\\n  {' '.join(words)} --methods"
        *first, last = words
        return f"{asked} \\\n  {' '.join(first)} \\\n  {last}"

    def run(self, model: str) -> list[str]:
        """Return the lines that the page shows. Raises ValueError if one is not printed."""
        extra = ["--methods"] if self.shown == METHODS else []
        with redirect_stdout(io.StringIO()) as printed:
            if main(["why", model, self.text, *self.options, *extra]):
                raise ValueError(f"the command failed: {self.spell(model)}")
        lines = []
        for pattern in self.shown:
            line = re.search(f"^{pattern}", printed.getvalue(), re.MULTILINE)
            if line is None:
                raise ValueError(f"{self.spell(model)} prints no line like {pattern}")
            lines.append(line[0])
        return lines


def ask_with(counterpart: str, *shown: str) -> PageCommand:
    """Return the question why elle stands there, and not il as in a counterpart."""
    options = ("--word", "elle", "--rival", "il", "--counterpart", counterpart)
    return PageCommand(WIDE, options, shown)


METHODS = (r"  value zeroing .*", r"Cut from the decoder.*", r"Cut everywhere.*")
COMMANDS = {
    "adjective": ask_with(TIRED, LEAD, OTHER, *CIRCUIT),
    "noun": ask_with(WIDE.replace("street", "bridge"), OTHER, *CIRCUIT),
    "same_gender": ask_with(WIDE.replace("street", "river"), OTHER),
    "other_noun": ask_with(WIDE.replace("animal", "banana"), OTHER),
    "it": PageCommand(WIDE, ("--word", "elle", "--rival", "il"), METHODS),
}


def run_commands(model: str) -> dict[str, list[str]]:
    """Return what each command prints of what the page shows."""
    return {name: command.run(model) for name, command in COMMANDS.items()}


def tell_command(name: str, model: str, lines: list[str]) -> str:
    """Return a command and what it prints, as blocks of a page."""
    shown = "\n".join(lines)
    return f"```\n{COMMANDS[name].spell(model)}\n```\n\n```text\n{shown}\n```"
