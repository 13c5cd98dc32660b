"""The command `score`: a line for each pair, also for one that is too long."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glassformer.cli import main, score


def test_a_pair_that_is_too_long_has_no_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(score, "CHUNK", 2)
    sources = ["The cat is old."] * 5
    sources[3] = "cat " * 5000
    Path("a.en").write_text("\n".join(sources) + "\n", encoding="utf-8")
    Path("a.fr").write_text("Le chat est vieux.\n" * 5, encoding="utf-8")
    assert main(["score", "demo", "a.en", "a.fr", "--device", "cpu"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[3] == "nan" and {*lines[:3], lines[4]} == {lines[0]} and float(lines[0]) < 0
    assert "line 4 has no score: the source is" in err
    assert main(["score", "demo", "a.en", "a.fr", "--device", "cpu", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["log_prob"] is None for row in rows] == [False, False, False, True, False]
