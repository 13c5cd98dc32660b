"""The levels of a recording: how much it keeps. Each level includes the one before."""

from __future__ import annotations

from .document import LEVELS, Level

WINDOWS: dict[Level, set[str]] = {
    "attention": {"weights", "mask"},
    "states": {
        "query",
        "key",
        "value",
        "context",
        "sum",
        "normed",
        "memory",
        "last",
        "cell",
        "cell.hidden",  # of a recurrent network
        "final",
    },
}


def find_level(name: str) -> Level:
    """Return the first level that keeps a tensor of this name."""
    parts = name.split(".")
    windows = {parts[-1], ".".join(parts[-2:])}
    return next((level for level in WINDOWS if windows & WINDOWS[level]), "everything")


def belongs(name: str, level: Level) -> bool:
    return LEVELS.index(find_level(name)) <= LEVELS.index(level)
