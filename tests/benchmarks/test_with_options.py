"""A comparison of options: what is trained, and the differences that are printed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from benchmarks import with_options as benchmark


def test_each_training_has_its_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(
        benchmark.subprocess, "run", lambda command, **how: commands.append(command)
    )
    parser = argparse.ArgumentParser()
    benchmark.add_options(parser)
    given = [
        "corpus",
        "en",
        "fr",
        "--steps",
        "9",
        "--out",
        str(tmp_path),
        "--settings",
        "--size tiny",
    ]
    options = parser.parse_args([*given, "--try=--augment-stop 0.1", "--try=--data other"])
    folders = [benchmark.train(options, more, 2) for more in ("", *options.tried)]
    assert [each.name for each in folders] == ["plain-2", "augment-stop-0.1-2", "data-other-2"]
    said = [command[command.index("train") + 1 :] for command in commands]
    assert [words[0] for words in said] == ["corpus", "corpus", "--source-lang"]
    assert [words[-2:] for words in said] == [
        ["--size", "tiny"],
        ["--augment-stop", "0.1"],
        ["--data", "other"],
    ]
    (folders[0]).mkdir()
    (folders[0] / "card.md").touch()
    benchmark.train(options, "", 2)
    assert len(commands) == 3  # what is there is not trained again


def test_differences_are_those_of_the_means() -> None:
    scores: dict[str, Any] = {"": [[10.0, 30.0], [12.0, 32.0]], "--a": [[13.0, 30.5], [14.0, 30.5]]}
    lines = benchmark.tell_scores(scores).splitlines()
    assert "11.0 ±" in lines[-2] and "31.0 ±" in lines[-2]
    assert "+2.50" in lines[-1] and "-0.50" in lines[-1] and "13.5 ±" in lines[-1]
