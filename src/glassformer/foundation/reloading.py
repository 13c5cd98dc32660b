"""A translator that says what it is, and that a copy or another process loads again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

Loader = TypeVar("Loader", bound=Callable[..., Any])


class LoadedModel(NamedTuple):
    """The folder that a translator was loaded from, and the arguments."""

    kind: Any  # the class
    folder: Any  # or several, of an ensemble
    to: str | None
    keywords: dict[str, Any]


class Reloadable:
    """A translator of which a copy, or what is unpickled, is loaded again from its folder.

    Its weights are mapped from a file, and its engine is a program's own.
    """

    config: Any  # of the model
    weights: Any
    loaded: LoadedModel | None = None

    def __repr__(self) -> str:
        folder = self.weights.folder
        pairs = ", ".join(" to ".join(c or "?" for c in pair) for pair in self.config.data.pairs)
        size = f"{self.weights.parameters:,} parameters"
        where = f"{self.weights.known_precision} on {self.weights.device}"
        name = folder.name if folder else "in memory"
        return f"<{type(self).__name__} {name}: {pairs}, {size}, {where}>"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[LoadedModel]]:
        if self.loaded is None:
            raise TypeError(
                "this translator was not loaded from a folder, or was changed since: copy or "
                "pickle the one that Translator.load returns"
            )
        return load_again, (self.loaded,)

    def __copy__(self) -> Self:
        """Return a translator that shares everything with this one."""
        result = object.__new__(type(self))
        result.__dict__.update(self.__dict__)
        return result


def remember_source(load: Loader) -> Loader:
    """Return the class method `load` that notes in what it returns how it was called."""

    @wraps(load)
    def call(cls: type[Reloadable], folder: Any, to: str | None = None, **keywords: Any) -> Any:
        if not isinstance(folder, Path | str | Iterable):
            raise TypeError(f"a model is a folder or a name, and not {folder!r}")
        folder = folder if isinstance(folder, Path | str) else [*folder]
        result = load(cls, folder, to, **keywords)
        result.loaded = LoadedModel(cls, folder, to, keywords)
        return result

    return call  # type: ignore[return-value]


def load_again(loaded: LoadedModel) -> Any:
    """Return a translator like one that was loaded."""
    return loaded.kind.load(loaded.folder, loaded.to, **loaded.keywords)
