"""The names that `import glassformer` promises."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import glassformer


def test_every_public_name_is_the_thing_itself() -> None:
    for module, names in glassformer._HOMES.items():
        for name in names:
            assert getattr(glassformer, name) is getattr(
                import_module(f"glassformer.{module}"), name
            )


def test_the_list_of_names_is_whole() -> None:
    homes = [name for names in glassformer._HOMES.values() for name in names]
    assert sorted(homes) == sorted(glassformer.__all__)
    assert set(glassformer.__all__) <= set(dir(glassformer))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Transltor"):
        _ = glassformer.Transltor


def test_importing_costs_nothing() -> None:
    """Neither torch nor pydantic, until a name is asked for."""
    code = "import sys, glassformer; print({'torch', 'pydantic'} & sys.modules.keys())"
    env = {**os.environ, "PYTHONPATH": str(Path(glassformer.__file__).parents[1])}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, check=True, env=env, encoding="utf-8")
    assert result.stdout == "set()\n"


def test_the_version_is_that_of_the_installed_package() -> None:
    try:
        installed = version("glassformer")
    except PackageNotFoundError:
        pytest.skip("glassformer is not installed: it runs from its source folder")
    assert glassformer.__version__ == installed
