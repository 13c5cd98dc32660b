"""The command `glassformer course`: write the Transformer yourself, step by step."""

from pathlib import Path

from typer import Exit

from glassformer.cli.options import arg, opt


def course(
    action: str = arg("ACTION", "start, check, hint, solution or status.", default=...),
    which: str | None = arg(
        "[FOLDER|N|all]",
        "start: the folder to write, glassformer-course if not given. Others: the number of a "
        "step; if not given, the first that is not right; check all: every step.",
    ),
    folder: Path | None = opt("FOLDER", "Where the course is, if not here.", "--folder"),
    lang: str | None = opt("CODE", "start: the language of the texts, en or zh; en if not given."),
    time_limit: float | None = opt(
        "SECONDS", "check: how long a step may run before it is stopped; 20 if not given."
    ),
) -> None:
    """Write a Transformer in 20 steps, each checked against a real translation.

    Work in the folder that start writes. The checker runs your Python files, and names a mistake
    that it knows; each step has two hints and a solution. In the last one your code translates.

    \b
    glassformer course start
    glassformer course check 1
    glassformer course hint 1
    glassformer course start my-course --lang zh
    """
    from ..actions import ACTIONS, check, start

    if action not in (actions := ("start", "check", *ACTIONS)):
        raise ValueError(f"action={action}: one of {', '.join(actions)}")
    if lang is not None and action != "start":
        raise ValueError("--lang belongs to start: the folder keeps the language")
    if time_limit is not None and action != "check":
        raise ValueError("--time-limit belongs to check: nothing else runs your code")
    if action == "start":
        lines, is_right = start(Path(which) if which else folder, lang or "en"), True
    elif action == "check":
        lines, is_right = check(folder, which, time_limit)
    else:
        lines, is_right = ACTIONS[action](folder, which)
    print("\n".join(lines))
    if not is_right:
        raise Exit(1)
