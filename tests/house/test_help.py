"""Every verb, argument and option of the command line says what it is for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer import Context
from typer.main import get_command

from glassformer.cli.verbs import app


def _list_commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for verb, below in getattr(command, "commands", {}).items():
        yield from _list_commands(below, f"{name} {verb}")


COMMANDS = dict(_list_commands(get_command(app), "glassformer"))


def test_there_are_verbs() -> None:
    assert {"glassformer train", "glassformer translate", "glassformer evaluate"} <= COMMANDS.keys()


def test_everything_has_help() -> None:
    silent = [name for name, command in COMMANDS.items() if not (command.help or "").strip()]
    for name, command in COMMANDS.items():
        for parameter in command.get_params(Context(command)):
            if not (getattr(parameter, "help", None) or "").strip():
                silent.append(f"{name} {parameter.opts[-1]}")
    assert not silent
