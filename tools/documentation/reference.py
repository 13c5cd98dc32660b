"""The pages on the command line and on Python, from the help and from the docstrings."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from typer import Context
from typer.main import get_command

from glassformer.cli.verbs import app, list_verbs

TITLES = {"en": ("The command line", "Python"), "zh": ("命令行", "Python 接口")}
NOTES = {
    "en": "What `glassformer VERB --help` says, for each verb.",
    "zh": "每个命令的 `glassformer 命令 --help` 所说的内容。",
}
HEADS = {"en": ("option", "what it does"), "zh": ("选项", "作用")}
# The parts of the package that users import, and what each is for.
MEMBERS = (
    "glassformer.translator.Translator",
    "glassformer.translate.sentence.Translation",
    "glassformer.translate.sentence.Scored",
    "glassformer.translate.language_model.LanguageModel",
    "glassformer.see.trace.Trace",
    "glassformer.see.edit.Edit",
    "glassformer.foundation.tap",
    "glassformer.train.train",
    "glassformer.config",
    "glassformer.model.attention",
    "glassformer.model.embedding",
    "glassformer.model.positions",
    "glassformer.model.feed_forward",
    "glassformer.model.residual",
    "glassformer.model.masks",
    "glassformer.model.layers",
    "glassformer.model.transformer",
    "glassformer.model.kv_cache",
)


def write_commands(lang: str) -> str:
    """Return the page on the command line: each verb, its help, and its options."""
    commands = get_command(app).commands  # type: ignore[attr-defined]
    parts = [f"# {TITLES[lang][0]}", NOTES[lang]]
    last = ""
    for verb, (panel, _) in list_verbs().items():
        if panel != last:
            parts.append(f"## {panel}")
            last = panel
        parts += describe_verb(verb, commands[verb], lang)
    return "\n\n".join(parts) + "\n"


def describe_verb(verb: str, command: Any, lang: str) -> Iterator[str]:
    """Yield the parts of the page on one verb."""
    yield f"### glassformer {verb}"
    told, *examples = (command.help or "").split("\b\n")
    yield escape(told.strip(), quote=False)
    for each in examples:
        lines = "\n".join(line.strip() for line in each.strip().splitlines())
        yield f"```\n{lines}\n```"
    rows = [show_parameter(each) for each in command.get_params(Context(command))]
    head = " | ".join(HEADS[lang])
    yield "\n".join([f"| {head} |", "|---|---|", *rows])


def show_parameter(parameter: Any) -> str:
    """Return the row of an argument or option."""
    is_option = str(parameter.opts[0]).startswith("-")
    names = ", ".join([*parameter.opts, *parameter.secondary_opts]) if is_option else ""
    metavar = "" if getattr(parameter, "is_flag", False) else parameter.metavar or ""
    name = escape(" ".join(filter(None, (names, metavar)))).replace("|", "&#124;")
    told = escape(" ".join((parameter.help or "").split()), quote=False).replace("|", "\\|")
    return f"| <code>{name}</code> | {told} |"


def write_python(lang: str) -> str:
    """Return the page on Python; the generator puts the docstrings where `:::` stands."""
    return "\n\n".join([f"# {TITLES[lang][1]}", *(f"::: {each}" for each in MEMBERS)]) + "\n"
