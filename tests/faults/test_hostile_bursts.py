"""How long `/health` waits while hostile pages and files come, 60 at a time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from damage.ledger import Ledger

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

SCRIPT = Path(__file__).parents[1] / "load" / "hostile.py"
SAID = re.compile(r"(\d+) requests, (\d+) bursts, .* ([\d.]+) s \(median\), ([\d.]+) s \(at most")
MOST = 0.2  # seconds


@pytest.mark.slow
def test_health_is_answered_at_once(ledger: Ledger) -> None:
    command = [sys.executable, str(SCRIPT), "--bursts", "12"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = SAID.match(said)
    assert found, said
    requests, bursts, middle, most = found.groups()
    assert float(middle) <= MOST, said
    fault = f"{requests} hostile pages and files, 60 at a time (`python tests/load/hostile.py`)"
    happened = f"the slowest answer of /health took {middle} s (median of bursts), {most} s at most"
    ledger.note("Serving", fault, happened, times=int(bursts))
