"""Processes take turns, and one that cannot go on says why."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
import torch

from benchmarks import processes
from benchmarks.processes import Process, Side, hold
from benchmarks.turns import take_turns


def test_a_process_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"(?s)the other ended before its time:.*nowhere\.json"):
        Process(Side("the other", "json.tool", ("nowhere.json",)), tmp_path, {})


def has_avx2() -> bool:
    return torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")


def test_turns_are_taken_round_by_round_and_the_first_is_not_kept() -> None:
    turn = count(1)
    works = {"one": lambda: next(turn), "two": lambda: next(turn)}
    assert take_turns(works, 2) == {"one": [3, 5], "two": [4, 6]}
    assert take_turns(works, 1, warm_up=0) == {"one": [7], "two": [8]}


@pytest.mark.skipif(not has_avx2(), reason="this processor has no AVX2")
def test_avx2_takes_effect(tmp_path: Path) -> None:
    """Torch in a process that is held says so itself."""
    code = (
        "import torch\nfrom benchmarks.engines.turns import Turns\n"
        "for _ in Turns().asked(wide=torch.backends.cpu.get_cpu_capability(), "
        "threads=torch.get_num_threads()): pass\n"
    )
    (tmp_path / "held.py").write_text(code, encoding="utf-8")
    process = Process(Side("held", "held"), tmp_path, hold(1, avx2=True))
    try:
        assert process.facts == {"wide": "AVX2", "threads": 1}
    finally:
        process.end()


def test_an_engine_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hangs.py").write_text("import time; time.sleep(600)")
    monkeypatch.setattr(processes, "PATIENCE", 2.0)
    with pytest.raises(ValueError, match="hangs gave no answer in 2 seconds"):
        Process(Side("hangs", "hangs"), tmp_path, {})
