"""Put the built app into wheel and sdist, so that whoever installs them needs no Node."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WITHOUT = "GLASSFORMER_WITHOUT_APP"  # set: packages are built without the app


class AppHook(BuildHookInterface[Any]):
    """An editable install leaves the app to `make web`; an sdist brings it along."""

    def dependencies(self) -> list[str]:
        web = _load(self.root)
        needed = web and not os.environ.get(WITHOUT) and not web.is_built()
        return [web.FROM_PYPI] if web and needed and web.find_node() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        web = _load(self.root)
        if version == "editable" or os.environ.get(WITHOUT) or web is None or web.is_built():
            return
        node = web.find_node()
        if node is None:
            raise RuntimeError(f"the app needs Node to be built, or set {WITHOUT}=1")
        web.build(node)


def _load(root: str) -> ModuleType | None:
    """`web/build.py`; None in an sdist, where the app is built and its times say nothing."""
    place = Path(root) / "web" / "build.py"
    if not place.is_file() or (Path(root) / "PKG-INFO").is_file():
        return None
    spec = importlib.util.spec_from_file_location("web_build", place)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
