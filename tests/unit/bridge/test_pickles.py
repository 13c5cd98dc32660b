"""A pickle that is more than weights is refused in one sentence, which advises nothing unsafe."""

from __future__ import annotations

import os
import pickle
import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is absent")

import numpy as np
import torch

from glassformer.extensions.bridge.pickles import read_pickle


class Command:
    """Runs a command when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.file}",)


def check_refused(path: Path) -> str:
    with warnings.catch_warnings(record=True) as told, pytest.raises(ValueError) as caught:
        warnings.simplefilter("always")
        read_pickle(path)
    said = str(caught.value)
    assert not told and "\n" not in said
    assert said.startswith(f"{path}: ") and not said.endswith(": ")
    assert "weights_only" not in said and "safe_globals" not in said and "Re-running" not in said
    return said


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("is_zip", [True, False])
def test_what_would_run_is_refused(tmp_path: Path, protocol: int, is_zip: bool) -> None:
    path, ran = tmp_path / "x.pt", tmp_path / "ran"
    torch.save(
        {"a": Command(ran)}, path, pickle_protocol=protocol, _use_new_zipfile_serialization=is_zip
    )
    check_refused(path)
    assert not ran.exists()


@pytest.mark.parametrize("protocol", range(2, 6))
def test_plain_pickles_are_refused(tmp_path: Path, protocol: int) -> None:
    for content in ({"a": Command(tmp_path / "ran")}, {"a": bytearray(b"x")}, [frozenset("ab")]):
        (tmp_path / "x.pt").write_bytes(pickle.dumps(content, protocol))
        check_refused(tmp_path / "x.pt")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\x80\x04\x95", b"text", bytes(100)])
def test_what_is_no_pickle_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.pt").write_bytes(data)
    check_refused(tmp_path / "x.pt")


def test_weights_and_settings_are_read(tmp_path: Path) -> None:
    content = {"model": {"w": torch.ones(2)}, "args": Namespace(beam=4), "step": np.float64(2)}
    torch.save(content, tmp_path / "x.pt")
    found = read_pickle(tmp_path / "x.pt")
    assert found["args"].beam == 4 and found["step"] == 2 and found["model"]["w"].tolist() == [1, 1]
