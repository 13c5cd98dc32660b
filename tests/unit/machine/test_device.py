"""Which numbers a processor computes with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from glassformer.foundation.machine.device import DEVICE, choose_device, has_bf16, name_device

SOURCE = str(Path(__file__).parents[3] / "src")


def test_a_processor_that_is_held_to_avx2_trains_in_fp32() -> None:
    if not has_bf16(torch.device("cpu")):
        pytest.skip("this processor multiplies in fp32 in any case")
    code = (
        "import torch; from glassformer.foundation.machine.device import choose_precision; "
        "print(choose_precision('auto', torch.device('cpu')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": SOURCE, "ONEDNN_MAX_CPU_ISA": "AVX2"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == "fp32\n"


def test_a_variable_says_what_auto_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for wanted in ("cpu", "cuda", "cuda:0"):
        monkeypatch.setenv(DEVICE, wanted)
        assert str(choose_device()) == name_device() == wanted
    assert name_device("cpu") == "cpu"
    monkeypatch.setenv(DEVICE, "abacus")
    with pytest.raises(ValueError, match="device=abacus is not on this machine"):
        name_device()
    monkeypatch.setenv(DEVICE, "")
    assert str(choose_device()) == "cuda"
