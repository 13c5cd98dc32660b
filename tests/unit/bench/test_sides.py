"""Processes take turns, and one that cannot go on says why."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from glassformer.bench.holding import hold
from glassformer.bench.sides import Process, Side, take_turns


def test_a_process_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"(?s)the other ended before its time:.*nowhere\.json"):
        Process(Side("the other", "json.tool", ("nowhere.json",)), tmp_path, {})


def has_avx2() -> bool:
    return torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")


class Counter:
    """A process that says which of all requests it got."""

    asked = 0

    def __init__(self, name: str):
        self.side = Side(name, "none")

    def ask(self, **request: object) -> dict[str, object]:
        Counter.asked += 1
        return {"turn": Counter.asked, **request}


def test_turns_are_taken_round_by_round_and_the_first_is_not_kept() -> None:
    sides: list[object] = [Counter("one"), Counter("two")]
    found = take_turns(sides, 2, {"seconds": 1})  # type: ignore[arg-type]
    assert found == {
        "one": [{"turn": 3, "seconds": 1}, {"turn": 5, "seconds": 1}],
        "two": [{"turn": 4, "seconds": 1}, {"turn": 6, "seconds": 1}],
    }


@pytest.mark.skipif(not has_avx2(), reason="this processor has no AVX2")
def test_avx2_takes_effect(tmp_path: Path) -> None:
    """Torch in a process that is held says so itself."""
    code = (
        "import torch\nfrom glassformer.bench.peers.turns import Turns\n"
        "for _ in Turns().asked(wide=torch.backends.cpu.get_cpu_capability(), "
        "threads=torch.get_num_threads()): pass\n"
    )
    (tmp_path / "held.py").write_text(code, encoding="utf-8")
    process = Process(Side("held", "held"), tmp_path, hold(1, avx2=True))
    try:
        assert process.facts == {"wide": "AVX2", "threads": 1}
    finally:
        process.end()
