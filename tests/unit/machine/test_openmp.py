"""How the threads of a product wait for each other."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from glassformer.foundation.machine.openmp import NAME, TIMES, undone, wait_briefly


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, TIMES),
        ({NAME: "7"}, "7"),
        ({"OMP_WAIT_POLICY": "active"}, None),
    ],
)
def test_set_unless_somebody_knows_better(monkeypatch, before, after) -> None:
    for name in (NAME, "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in before.items():
        monkeypatch.setenv(name, value)
    wait_briefly()
    assert os.environ.get(NAME) == after


def test_other_programs_do_not_inherit_it() -> None:
    assert undone({NAME: TIMES, "HOME": "/"}) == {"HOME": "/"}
    assert undone({NAME: "7"}) == {NAME: "7"}


def test_it_is_set_before_torch_is_imported() -> None:
    clean = {k: v for k, v in os.environ.items() if k not in (NAME, "OMP_WAIT_POLICY")}
    code = (
        "import os, sys, glassformer\n"
        f"assert 'torch' not in sys.modules and os.environ['{NAME}'] == '{TIMES}'"
    )
    subprocess.run([sys.executable, "-c", code], env=clean, check=True)
