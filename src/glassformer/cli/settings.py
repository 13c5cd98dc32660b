"""Options made from the settings of config.py: their names, types and help."""

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from ..config import SEARCH_OF, Config
from ..foundation.settings.table import SettingField, Settings
from ..foundation.validation_errors import list_settings
from .options import SAMPLING, SEARCH, opt

# Those that most trainings set; the others stand below them in the help.
COMMON = {"source_lang", "target_lang", "minutes", "epochs", "steps", "batch_tokens"}
COMMON |= {"learning_rate", "vocabulary", "dropout", "seed", "patience", "freeze"}
# Settings without options: a list of tables, and the names of a plugin, whose file is an option.
WITHOUT_OPTIONS = {"data.corpus", "data.stage", "model.plugin", "train.plugin"}
METAVARS = {"tag": "TAG", "source_lang": "CODE", "target_lang": "CODE", "freeze": "PART"}
METAVARS |= {"ablate": "PART"}


class Setting(NamedTuple):
    """A setting and the option that sets it."""

    key: str  # as in the file: train.steps
    name: str  # of the parameter: the option is --NAME with "-" for "_"
    field: SettingField
    panel: str | None = None  # of the help; None: by its table

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def kind(self) -> Any:
        """Return the type of its values, without None."""
        kinds = [self.field.annotation]
        if get_origin(kinds[0]) in (Union, UnionType):
            kinds = [each for each in get_args(kinds[0]) if each is not type(None)]
        return kinds[0]

    @property
    def values(self) -> tuple[str, ...]:
        """Return the words that it can be; none if it is a number or free text."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()


@functools.cache
def read_settings() -> Mapping[str, Setting]:
    """Return all settings of a model, its training and its search, by key.

    The option is called as the setting, or TABLE-NAME if an earlier table has that name too.
    """
    settings: dict[str, Setting] = {}
    taken: set[str] = set()
    for key in list_settings(Config):
        table, _, rest = key.partition(".")
        if rest and key not in WITHOUT_OPTIONS:
            short = rest.replace(".", "_")
            name = short if short not in taken else f"{table}_{short}"
            taken.add(name)
            settings[key] = Setting(key, name, find_field(key))
    return settings


def find_field(key: str) -> SettingField:
    """Return the field of a setting, or of a table of settings, by its dotted name."""
    *tables, last = key.split(".")
    kind: Any = Config
    for name in tables:
        kind = kind.list_fields()[name].annotation
    return kind.list_fields()[last]


def list_limits(
    table: type[Settings], panel: str, *names: str, prefix: str = ""
) -> Iterator[Setting]:
    """Yield limits of a server, whose options have their defaults, and stand in this panel."""
    for name in names:
        yield Setting(name, prefix + name, table.list_fields()[name], panel)


def make_options(settings: Sequence[str | Setting]) -> Iterator[Parameter]:
    """Yield a parameter for each setting of these tables, or with one of these keys."""
    yield from (_make_option(each) for each in settings if isinstance(each, Setting))
    for setting in read_settings().values():
        if setting.key in settings or setting.key.partition(".")[0] in settings:
            yield _make_option(setting)


def _make_option(setting: Setting) -> Parameter:
    kind, metavar = setting.kind, METAVARS.get(setting.name)
    if setting.values:
        kind, metavar = str, "|".join(setting.values)
    elif get_origin(kind) is tuple and ... in get_args(kind):
        kind = list[get_args(kind)[0]]  # type: ignore[misc]
    elif kind in (int, float):
        metavar = {int: "N", float: "X"}[kind]
    # A switch that is off by itself can only be turned on; Typer gives any other both names.
    names = (setting.option,) if setting.field.default is False else ()
    option = opt(
        metavar,
        setting.field.description,
        *names,
        default=setting.field.default if setting.panel else None,
        min=setting.field.limits.get("ge") if setting.panel else None,
        panel=setting.panel or _name_panel(setting),
        autocompletion=_complete(setting.values) if setting.values else None,
    )
    return Parameter(setting.name, Parameter.KEYWORD_ONLY, default=option, annotation=kind | None)


def _name_panel(setting: Setting) -> str:
    if setting.key.startswith("decode."):
        return SAMPLING if SEARCH_OF.get(setting.name) == "sample" else SEARCH
    if setting.name in COMMON:
        return "Settings"
    return f"More settings: {setting.key.partition('.')[0]}"


def _complete(values: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [each for each in values if each.startswith(incomplete)]

    return complete


def write_changes(typed: Mapping[str, Any], but: Sequence[str] = ()) -> list[str]:
    """Return the settings among the typed options as --set takes them: `train.steps=500`."""
    return [
        f"{setting.key}={json.dumps(typed[setting.name])}"
        for setting in read_settings().values()
        if setting.name in typed and setting.name not in but
    ]
