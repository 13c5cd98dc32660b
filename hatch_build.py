"""Put the built app and the compiled C code into wheels, so that their users need no tools.

A wheel is for one kind of machine if GLASSFORMER_TARGET names one of those in
`src/glassformer/extensions/wheels/targets.py`; Zig's C compiler from PyPI builds for all of
them. Without it a wheel has no compiled code, and builds it at its first use with the machine's
compiler.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WITHOUT = "GLASSFORMER_WITHOUT_APP"  # set: packages are built without the app
TARGET = "GLASSFORMER_TARGET"  # the tag of the machines that a wheel is for
ZIG = "ziglang>=0.13"
BUILT = "glassformer/foundation/shared_library/built"  # in a wheel
WASM = "glassformer/extensions/serve/static/engine.wasm"  # in a wheel, and in a checkout under src/


class Hook(BuildHookInterface[Any]):
    """An editable install leaves the app to `make web`; an sdist brings it along."""

    def dependencies(self) -> list[str]:
        return [*self._need_node(), *([ZIG] if os.environ.get(TARGET) else [])]

    def _need_node(self) -> list[str]:
        web = _load_web(self.root)
        needed = web and not os.environ.get(WITHOUT) and not web.is_built()
        return [web.FROM_PYPI] if web and needed and web.find_node() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self._build_app()
        if self.target_name == "wheel" and (tag := os.environ.get(TARGET)):
            self._compile(tag, build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if compiled := build_data.get("compiled"):
            compiled.cleanup()

    def _build_app(self) -> None:
        web = _load_web(self.root)
        if os.environ.get(WITHOUT) or web is None or web.is_built():
            return
        node = web.find_node()
        if node is None:
            raise RuntimeError(f"the app needs Node to be built, or set {WITHOUT}=1")
        web.build(node)

    def _compile(self, tag: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, str(Path(self.root) / "src"))
        from glassformer.extensions.wheels.targets import (
            build_libraries,
            build_wasm,
            find_target,
        )

        target, compiled = find_target(tag), TemporaryDirectory()
        folder = Path(compiled.name)
        for path in build_libraries(target, folder):
            build_data["force_include"][str(path)] = f"{BUILT}/{path.relative_to(folder)}"
        if not (Path(self.root) / "src" / WASM).is_file():
            build_data["force_include"][str(build_wasm(folder / "engine.wasm"))] = WASM
        build_data |= {"compiled": compiled, "tag": f"py3-none-{tag}", "pure_python": False}


def _load_web(root: str) -> ModuleType | None:
    """`web/build.py`; None in an sdist, where the app is built and its times say nothing."""
    place = Path(root) / "web" / "build.py"
    if not place.is_file() or (Path(root) / "PKG-INFO").is_file():
        return None
    spec = importlib.util.spec_from_file_location("web_build", place)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
