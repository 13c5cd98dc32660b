"""A verb of the command line: its options, also those of the settings, and what it refuses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer
from typer.core import TyperCommand
from typer.main import get_command

from ..foundation.compatibility.other_names import Ours, find_name, suggest_names
from .effects import refuse_by_others
from .options import PLUGIN
from .terminal import VERSION

if TYPE_CHECKING:
    from .settings import Setting

# The verbs that train or load a model; each takes a plugin.
WITH_PLUGIN = {
    "train",
    "average",
    "translate",
    "evaluate",
    "score",
    "align",
    "see",
    "heads",
    "info",
}
WITH_PLUGIN |= {"complete", "fill", "classify", "augment", "probe", "serve", "page", "site"}
WITH_PLUGIN |= {"doctor", "export", "publish"}

SEVERAL = {"--freeze"}  # options that take several values, one after the other
NEAR = 0.7  # of difflib's ratio: what is less like an option is no misspelling of it

Function = TypeVar("Function", bound=Callable[..., None])


def takes(*settings: str | Setting) -> Callable[[Function], Function]:
    """Give a verb the options of settings, by the names of their tables or by their keys.

    It finds them in the parameters of its context. They are made when the verb is used: to list the
    verbs takes no settings, and so no pydantic.
    """

    def mark(function: Function) -> Function:
        function.takes = settings  # type: ignore[attr-defined]
        return function

    return mark


def find_typed(context: Any) -> dict[str, Any]:
    """Return the parameters that the user gave, by name, with their values."""
    return {name: value for name, value in context.params.items() if is_typed(context, name)}


def is_typed(context: Any, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def spell_typed(context: Any) -> set[str]:
    """Return the options that the user gave, as they are typed."""
    params = context.command.get_params(context)
    return {
        option for each in params if is_typed(context, each.name) for option in list_spellings(each)
    }


def list_spellings(parameter: Any) -> list[str]:
    return [*parameter.opts, *parameter.secondary_opts]


def make_plugin_option() -> Any:
    """Return the option for code of the user's own, which is run before the verb."""

    def holder(plugin: Path | None = PLUGIN) -> None:
        """Hold the option: it is never called."""

    return _make_options_of(holder)[0]


def join_lines(text: str) -> str:
    """Return a text in which only paragraphs begin lines, but for those marked with "\\b"."""
    parts = text.split("\n\n")
    return "\n\n".join(each if "\b" in each else " ".join(each.split("\n")) for each in parts)


class Verb(TyperCommand):
    """A command with more options, that refuses those without an effect.

    It knows what other toolkits call its options.
    """

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.help = join_lines(self.help or "")
        self.own = {each.name for each in self.params}
        self.is_complete = False

    def get_params(self, ctx: Any) -> list[Any]:
        if not self.is_complete:
            self.is_complete = True
            self.params += make_params(getattr(self.callback, "takes", ()))
            self.params += [make_plugin_option()] if self.name in WITH_PLUGIN else []
        return super().get_params(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = [*repeat_options(args, SEVERAL)] if self.name == "train" else args
        arguments = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            unknown = getattr(error, "option_name", None)  # of click, or of Typer's copy of it
            if type(error).__name__ == "NoSuchOption" and unknown:
                self._answer(unknown, arguments)
                options = [option for each in self.params for option in list_spellings(each)]
                refuse_option(unknown, arguments, options, f"{self.name}")
            raise_as_sentence(error, f"glassformer {self.name}")
            raise

    def invoke(self, ctx: Any) -> Any:
        refuse_by_others(self.name or "", spell_typed(ctx))
        if ctx.params.get("plugin"):
            from ..train import load_plugin

            ctx.obj = load_plugin(ctx.params["plugin"])
        own = {name: value for name, value in ctx.params.items() if name in self.own}
        return ctx.invoke(self.callback, **own)

    def _answer(self, unknown: str, inputs: Sequence[str]) -> None:
        """Raise ValueError if other_names or the settings know what was meant."""
        from ..config import Config
        from ..foundation.validation_errors import find_settings, list_settings

        typed = (word.split("=")[0] for word in inputs if word.startswith(unknown))
        options = {option for each in self.params for option in each.opts}
        for name in (*typed, unknown):
            own = find_settings(name, list_settings(Config))[:1]
            result = Ours((*own,), "") if own else find_name(name) or Ours((), "")
            if meant := list(self._list_options(result.names, options)):
                raise ValueError(f"there is no {name}; {suggest_names(meant, result.note)}")
            if result.note and not result.names:
                raise ValueError(f"there is no {name}. {result.note}")

    def _list_options(self, ours: Sequence[str], options: set[str]) -> Iterator[str]:
        """Yield those of `ours` that this verb takes, as they are typed."""
        from .settings import read_settings

        for name in ours:
            setting = read_settings().get(name)
            option = setting.option if setting else name if name[0] == "-" else f"--{name}"
            if option in options:
                yield option
            elif setting and self.name == "train":  # its --set takes all settings
                yield f"--set {name}=VALUE"


def repeat_options(args: Sequence[str], options: Collection[str]) -> Iterator[str]:
    """Yield the arguments, with an option again before each further value: --freeze A B.

    What is a file, a folder, or the beginning of such a name is none of its values.
    """
    latest = ""  # the option whose values these may be
    for before, arg in zip(["", *args], args, strict=False):
        is_value = before in options
        if latest and not is_value and not arg.startswith("-") and not is_data(arg):
            yield latest
        elif not is_value:
            latest = arg if arg in options else ""
        yield arg


def is_data(name: str) -> bool:
    """Return whether a name is that of a file or folder, or a prefix of one."""
    from glob import escape

    path = Path(name)
    return path.exists() or any(path.parent.glob(f"{escape(path.name)}.*"))


def refuse_option(
    unknown: str, inputs: Sequence[str], options: Sequence[str], verb: str = ""
) -> NoReturn:
    """Raise ValueError with the one option that is spelt nearly as `unknown`, if there is one."""
    typed = next((word.split("=")[0] for word in inputs if word.startswith(unknown)), unknown)
    program = f"glassformer {VERSION}"
    names = {option.lstrip("-"): option for option in (*options, VERSION)}
    near = [names[each] for each in get_close_matches(typed.lstrip("-"), names, 1, NEAR)]
    meant = program if verb and near == [VERSION] else "".join(near)
    if meant:
        raise ValueError(f"there is no {typed}; {suggest_names([meant])}")
    command = " ".join(["glassformer", *([verb] if verb else ()), "--help"])
    raise ValueError(f"there is no {typed}: {command} lists the options")


def raise_as_sentence(error: Exception, command: str) -> None:
    """Raise ValueError with what Typer would say of a usage error in a box of several lines.

    Other exceptions are left to it, as is the help for a command line without arguments.
    """
    tell = getattr(error, "format_message", None)
    if tell and type(error).__name__ != "NoArgsIsHelpError":
        message = tell().rstrip(".")
        message = message[:1].lower() + message[1:]
        raise ValueError(f"{message}; see {command} --help") from None


def make_params(settings: Sequence[str | Setting]) -> list[Any]:
    """Return the options of settings as Typer makes them for the parameters of a function."""
    if not settings:
        return []
    from .settings import make_options

    def holder(**fields: object) -> None:
        """Hold the options: it is never called."""

    parameters = list(make_options(settings))
    holder.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    holder.__annotations__ = {each.name: each.annotation for each in parameters}
    return _make_options_of(holder)


def _make_options_of(holder: Callable[..., None]) -> list[Any]:
    app = typer.Typer(add_completion=False)
    app.command()(holder)
    return get_command(app).params
