"""Importing steps of the course from their sources, the learner's or the solutions."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from .exercises import Exercise, read_exercises

PREFIX = "step_"


class StepSource(NamedTuple):
    """The text of a module, and the path that its errors name."""

    text: str
    path: str


class StepFinder(MetaPathFinder, Loader):
    """Finds the modules of the steps in the sources that it was given."""

    def __init__(self, sources: Mapping[str, StepSource]) -> None:
        self.sources = sources

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return how to import a step; None for what is no step."""
        if fullname not in self.sources:
            return None
        return spec_from_loader(fullname, self, origin=self.sources[fullname].path)

    def exec_module(self, module: ModuleType) -> None:
        """Run the source of a step."""
        text, path = self.sources[module.__name__]
        module.__file__ = path
        exec(compile(text, path, "exec"), module.__dict__)


@contextmanager
def importing(sources: Mapping[str, StepSource], folder: Path | None = None) -> Iterator[None]:
    """Let imports find these steps, and other modules in a folder of the learner's."""
    before, path = dict(sys.modules), list(sys.path)
    finder = StepFinder(sources)
    forget_steps()
    sys.meta_path.insert(0, finder)
    if folder is not None:
        sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        sys.path[:] = path
        forget_steps(folder)
        sys.modules.update({name: each for name, each in before.items() if name[:5] == PREFIX})


def load_step(name: str) -> ModuleType:
    """Return the module of a step, within `importing`. ModuleNotFoundError if there is none."""
    if name in sys.modules:
        return sys.modules[name]
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    sys.modules[name] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def forget_steps(folder: Path | None = None) -> None:
    """Let the steps, and what was imported from a folder, be imported anew."""
    for name, module in list(sys.modules.items()):
        place = getattr(module, "__file__", None)
        is_theirs = folder is not None and place and Path(place).parent == folder
        if name.startswith(PREFIX) or is_theirs:
            del sys.modules[name]


def list_solutions(changed: Exercise | None = None, text: str = "") -> dict[str, StepSource]:
    """Return the sources of all solutions; that of one exercise may be another text."""
    sources = {each.module: StepSource(each.solution, "<solution>") for each in read_exercises()}
    if changed is not None:
        sources[changed.module] = StepSource(text, "<mistake>")
    return sources


def list_own(folder: Path) -> dict[str, StepSource]:
    """Return the sources of the learner's steps that are there.

    ValueError if one is not text in UTF-8.
    """
    sources = {}
    for each in read_exercises():
        path = folder / f"{each.module}.py"
        if path.is_file():
            try:
                text = path.read_text(encoding="utf-8-sig")
            except UnicodeDecodeError as error:
                raise ValueError(f"{path}: it is not text in UTF-8 ({error.reason})") from None
            sources[each.module] = StepSource(text, str(path))
    return sources
