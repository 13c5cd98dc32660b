"""A cache of measurements: a JSON file in the user's cache folder."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from ..disk import find_cache

FILE = "engine.json"


def recall(key: str) -> dict[str, float] | None:
    """Return the numbers stored under this key; None if there are none, or they are damaged."""
    values = _read().get(key)
    if not isinstance(values, dict):
        return None
    return {name: x for name, x in values.items() if isinstance(x, int | float)}


def remember(key: str, values: dict[str, float]) -> None:
    """Store numbers under a key; do nothing where the folder cannot be written."""
    with suppress(OSError):
        path = find_cache() / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{FILE}.{os.getpid()}.partial")
        partial.write_text(json.dumps(_read() | {key: values}, indent=1), encoding="utf-8")
        os.replace(partial, path)


def _read() -> dict[str, Any]:
    try:
        found = json.loads((find_cache() / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):  # RuntimeError: the home folder is unknown
        return {}
    return found if isinstance(found, dict) else {}
