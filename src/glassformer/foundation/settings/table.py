"""The base class of tables of settings: frozen objects with checked values, made without pydantic.

Importing pydantic takes as long as all else that happens until a small model has translated its
first sentence. So a value that has just the type of its field and keeps its limits is taken here:
every file that `Config.to_toml` wrote has no others. All else is left to pydantic, with the same
fields (`schema.py`): it converts a value where it can, or explains what is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType, NoneType, UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

EXACT = 1 << 53  # whole numbers up to here are floats too
SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which pydantic refuses


class UnfitError(Exception):
    """A value that pydantic has to convert, or to explain."""


class SettingField:
    """A field of a table: its type, default, help and limits, as pydantic's `Field` has them."""

    annotation: Any = None  # of a module that postpones annotations: set when first asked for

    def __init__(
        self,
        default: Any,
        description: str = "",
        check: Callable[[Any], Any] | None = None,
        needs: str = "",
        **limits: Any,
    ):
        self.default, self.description = default, description
        self.check, self.needs, self.limits = check, needs, limits

    def take(self, value: Any) -> Any:
        """Return the value of a setting. Raise `UnfitError` if it is not just as it should be."""
        result = fit(self.annotation, value)
        if result is None:
            return None
        for name, limit in self.limits.items():
            if not KEPT[name](result, limit):
                raise UnfitError
        return self.check(result) if self.check else result

    def is_idle(self, table: Settings) -> bool:
        """Return whether the setting has no effect, because of the value of another one."""
        name, equals, requested = self.needs.partition("=")
        result = getattr(table, name.rstrip("!")) if name else True
        if not equals:
            return not result
        return (result in requested.split("|")) == name.endswith("!")


KEPT: dict[str, Callable[[Any, Any], bool]] = {
    "ge": lambda value, limit: value >= limit,
    "gt": lambda value, limit: value > limit,
    "le": lambda value, limit: value <= limit,
    "lt": lambda value, limit: value < limit,
    "min_length": lambda value, limit: len(value) >= limit,
    "max_length": lambda value, limit: len(value) <= limit,
}


def setting(default: Any, description: str, **limits: Any) -> Any:
    """Return a field of a table of settings.

    The description is its help on the command line and its line in docs/settings.md; it ends with
    the section of the paper, if that speaks of it. `...` as the default: it has to be given. Among
    the limits, `check` is called with a value: it returns what is kept, or raises ValueError.
    `needs` is the setting of the same table without which this one has no effect, and may not be
    changed: "lora_rank" (which must be set), "layout=sine|learned" or "schedule!=inverse_sqrt".
    """
    return SettingField(default, description, **limits)


class Settings:
    """The base class of each table of the file: frozen, and unknown keys are refused.

    It has the methods of a pydantic model that are used here, by the same names. A class may add
    rules: `fill_in` changes what is given before it is checked; `check` raises ValueError for
    values that are impossible together.
    """

    __slots__ = ("__dict__", "model_fields_set")
    model_fields: ClassVar[Mapping[str, SettingField]] = MappingProxyType({})
    model_fields_set: frozenset[str]  # the names of the settings that were given

    def __init_subclass__(cls) -> None:
        fields = dict(cls.model_fields)
        for name, kind in cls.__annotations__.items():
            default: Any = getattr(cls, name, ...)
            fields[name] = default if isinstance(default, SettingField) else SettingField(default)
            fields[name].annotation = None if isinstance(kind, str) else kind
        cls.model_fields = MappingProxyType(fields)

    def __init__(self, **fields: Any):
        result = type(self).model_validate(fields)
        self.__setstate__((vars(result), result.model_fields_set))

    @classmethod
    def fill_in(cls, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is given with what follows from it."""
        return raw

    def check(self) -> None:
        """Raise ValueError if the values are impossible together."""

    @classmethod
    def model_validate(cls, raw: Any) -> Self:
        """Return the table of a mapping. Raise pydantic's ValidationError."""
        try:
            return cls.take(raw)
        except UnfitError:
            from .schema import validate_table

            return validate_table(cls, raw)

    @classmethod
    def take(cls, raw: Any) -> Self:
        """Return the table of a mapping. Raise `UnfitError` if pydantic has to see it."""
        if isinstance(raw, cls):
            return raw
        if type(raw) is not dict:
            raise UnfitError
        values, fields = cls.fill_in(raw), cls.list_fields()
        if not values.keys() <= fields.keys():
            raise UnfitError
        try:
            return cls.make({name: fields[name].take(value) for name, value in values.items()})
        except (ValueError, KeyError):
            raise UnfitError from None

    @classmethod
    def make(cls, fields: Mapping[str, Any]) -> Self:
        """Return the table with these values, which fit, and the defaults of the others.

        KeyError: one that has no default is missing. ValueError: `check` refuses them.
        """
        values = {name: field.default for name, field in cls.model_fields.items()}
        values.update(fields)
        if missing := [name for name, value in values.items() if value is ...]:
            raise KeyError(missing[0])
        result = cls.__new__(cls)
        result.__setstate__((values, frozenset(fields)))
        result._check_needs()
        result.check()
        return result

    def _check_needs(self) -> None:
        """Raise ValueError for a setting that was changed and has no effect."""
        for name in self.list_idle():
            if changed := self.list_changed([name]):
                other, equals, _ = type(self).model_fields[name].needs.partition("=")
                other = other.rstrip("!")
                why = f"with {other}={getattr(self, other)}" if equals else f"without {other}"
                raise ValueError(f"{changed[0]} has no effect {why}")

    def list_idle(self) -> list[str]:
        """Return the names of the settings that have no effect, by what each `needs`."""
        fields = type(self).model_fields.items()
        return [name for name, field in fields if field.needs and field.is_idle(self)]

    def list_changed(self, names: Iterable[str], **defaults: Any) -> list[str]:
        """Return those of these settings that have not their default, as `name=value`.

        `defaults` are further settings, by name, with what counts as their default here. A table
        among the settings stands for its own, as `table.name=value`.
        """
        usual = {name: type(self).model_fields[name].default for name in names} | defaults
        results: list[str] = []
        for name, default in usual.items():
            value = getattr(self, name)
            if isinstance(value, Settings):
                results += (f"{name}.{each}" for each in value.list_changed((), **vars(default)))
            elif value != default:
                results.append(f"{name}={value}")
        return results

    def list_unknown(
        self, known: Mapping[str, Collection[Any] | None], prefix: str = ""
    ) -> list[str]:
        """Return those settings, as `name=value`, that have another value than those known by name.

        None: any value is known. A setting that is not named there has to have its default.
        """
        results: list[str] = []
        for name, field in type(self).model_fields.items():
            value, values = getattr(self, name), known.get(f"{prefix}{name}", (field.default,))
            if isinstance(value, Settings):
                results += value.list_unknown(known, f"{prefix}{name}.")
            elif values is not None and value not in values:
                results.append(f"{prefix}{name}={value}")
        return results

    @classmethod
    def list_fields(cls) -> Mapping[str, SettingField]:
        """Return the fields by name, each with its type."""
        if any(field.annotation is None for field in cls.model_fields.values()):
            for name, kind in get_type_hints(cls).items():
                if name in cls.model_fields:
                    cls.model_fields[name].annotation = kind
        return cls.model_fields

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from .schema import make_schema

        return make_schema(cls, handler)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Any:
        from .schema import make_twin

        return handler(make_twin(cls).__pydantic_core_schema__)

    def model_dump(
        self,
        *,
        mode: str = "python",
        exclude: Collection[str] = (),
        exclude_none: bool = False,
        exclude_unset: bool = False,
    ) -> dict[str, Any]:
        """Return the values as a dictionary, nested tables too; mode="json": without tuples."""
        options = {"mode": mode, "exclude_none": exclude_none, "exclude_unset": exclude_unset}
        return {
            name: _dump(value, options)
            for name, value in vars(self).items()
            if name not in exclude
            and not (exclude_none and value is None)
            and (not exclude_unset or name in self.model_fields_set)
        }

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """Return a copy with some values changed, which are not checked."""
        changed = dict(update or {})
        result = type(self).__new__(type(self))
        result.__setstate__((vars(self) | changed, self.model_fields_set | changed.keys()))
        return result

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name}: settings are frozen; model_copy returns changed ones")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name}: settings are frozen")

    def __getstate__(self) -> tuple[dict[str, Any], frozenset[str]]:
        return vars(self), self.model_fields_set

    def __setstate__(self, state: tuple[dict[str, Any], frozenset[str]]) -> None:
        vars(self).update(state[0])
        object.__setattr__(self, "model_fields_set", state[1])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({values})"


def fit(kind: Any, value: Any) -> Any:
    """Return a value that has just this type; lists become tuples, whole numbers floats.

    Raise `UnfitError` for any other.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if value is None and NoneType in inner else fit(inner[0], value)
    if origin is tuple and type(value) in (list, tuple):
        kinds = inner[:1] * len(value) if inner[1:] == (...,) else inner
        if len(kinds) == len(value):
            return tuple(map(fit, kinds, value))
    if origin is dict and type(value) is dict:
        return {fit(inner[0], key): fit(inner[1], each) for key, each in value.items()}
    if isinstance(kind, type) and issubclass(kind, Settings):
        return kind.take(value)
    if kind is float and type(value) is int and abs(value) <= EXACT:
        return float(value)
    if not _is_plain(kind, value):
        raise UnfitError
    return value


def _is_plain(kind: Any, value: Any) -> bool:
    """Return whether a value without parts is of a type."""
    if kind is Any:
        return True
    if get_origin(kind) is Literal:
        return type(value) is str and value in get_args(kind)
    if type(value) is float and not math.isfinite(value):
        return False
    if type(value) is str and SURROGATE.search(value):
        return False
    return kind in (int, bool, float, str) and type(value) is kind


def _dump(value: Any, options: Mapping[str, Any]) -> Any:
    if isinstance(value, Settings):
        return value.model_dump(**options)
    if isinstance(value, tuple):
        results = (_dump(each, options) for each in value)
        return [*results] if options["mode"] == "json" else (*results,)
    return value
