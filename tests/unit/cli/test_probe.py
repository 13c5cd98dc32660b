"""The command `probe`: its file of pairs, its table and its numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from glassformer.cli import main

COLUMNS = ["source", "right", "wrong", "source.it", "source.adjective", "target.noun"]
ROWS = [
    ("The fox didn't climb this mountain because it was too sleepy.", "il", "elle", "sleepy"),
    ("The fox didn't climb this mountain because it was too steep.", "elle", "il", "steep"),
]


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    begin = "Le renard n'a pas gravi cette montagne parce qu'"
    lines = ["\t".join(COLUMNS)]
    for source, right, wrong, adjective in ROWS:
        said = [f"{begin}{pronoun} était trop" for pronoun in (right, wrong)]
        lines.append("\t".join([source, *said, "it", adjective, "cette montagne"]))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.thorough
def test_cuts_are_measured_and_kept(pairs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["probe", "demo", str(pairs), "--device", "cpu", "--cut", "step -> adjective"]
    assert main([*command, "--output", "probe.json"]) == 0
    text = capfd.readouterr().out
    found = json.loads(Path("probe.json").read_text(encoding="utf-8"))
    (cut,) = found["cut"]
    assert found["model"] == "demo" and len(found["weights_sha256"]) == 64
    assert cut["right"] < found["right"] == 1 and cut["odds"] < found["odds"]
    row = rf"^step -> adjective +{100 * cut['right']:.1f} +\{cut['odds']:+.2f}"
    assert re.search(row, text, re.M)
    assert main([*command, "--json", "--most", "1"]) == 0
    assert json.loads(capfd.readouterr().out)["pairs"] == 1


def test_what_cannot_be_asked_is_said(pairs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "demo", str(pairs), "--cut", "it -> noun"]) == 2
    assert "'it -> noun' is no cut: write FROM -> TO" in capfd.readouterr().err
    Path("bad.tsv").write_text("a\n", encoding="utf-8")
    assert main(["probe", "demo", "bad.tsv"]) == 2
    assert "bad.tsv, line 1: " in capfd.readouterr().err
