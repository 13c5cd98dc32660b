"""The import of a package's names at their first use, so that a small part of it starts fast."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def import_lazily(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `homes` are the names by the module that has them."""

    def find(name: str) -> Any:
        for module, names in homes.items():
            if name in names:
                try:
                    return getattr(import_module(f".{module}", package), name)
                except ModuleNotFoundError as error:
                    raise explain_in_full(error) from None
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find


def explain_in_full(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error that says what to install, if an extra brings what is missing."""
    from .machine.extras import explain_missing

    return ModuleNotFoundError(explain_missing(error) or str(error), name=error.name)
