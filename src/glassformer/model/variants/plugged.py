"""The networks of plugins, which `train/plan/hooks.py` loads, by the names of the plugins."""

from collections.abc import Callable
from typing import Any

PLUGGED: dict[str, Callable[..., Any]] = {}


def register_network(plugin: str, make: Callable[..., Any]) -> None:
    """Let `build_network` make the network of a plugin."""
    PLUGGED[plugin] = make


def find_maker(plugin: str) -> Callable[..., Any]:
    """Return what makes the network of a plugin. ValueError if it was not loaded."""
    if plugin not in PLUGGED:
        raise ValueError(
            f"the plugin {plugin} makes this network: add --plugin {plugin}.py, or from Python "
            "call glassformer.train.load_plugin first"
        )
    return PLUGGED[plugin]
