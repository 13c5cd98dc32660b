"""A comparison of options: what is trained, how it goes on, and what is printed."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from benchmarks import with_options as benchmark

TEACH = "--teacher demo"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the commands that are run from now on, which do nothing."""
    found: list[list[str]] = []

    def run(command: list[str], check: bool) -> None:
        found.append(command[command.index("glassformer") + 1 :])

    monkeypatch.setattr("benchmarks.with_options.subprocess.run", run)
    return found


def parse(folder: Path, *more: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    benchmark.add_options(parser)
    given = ["corpus", "en", "fr", "--steps", "9", "--out", str(folder / "runs")]
    return parser.parse_args([*given, *(more or ("--try=--a 1",)), "--settings", "--size tiny"])


def test_each_training_has_its_options(commands: list[list[str]], tmp_path: Path) -> None:
    options = parse(tmp_path, "--try=--augment-stop 0.1", "--try=--data other --keep-best 4")
    for more in ("", *options.tried):
        benchmark.train(options, more, 2, tmp_path / "model")
    assert [words[:2] for words in commands] == [
        ["train", "corpus"],
        ["train", "corpus"],
        ["train", "--source-lang"],
    ]
    assert [words[words.index("--size") :] for words in commands] == [
        ["--size", "tiny"],
        ["--size", "tiny", "--augment-stop", "0.1"],
        ["--size", "tiny", "--data", "other", "--keep-best", "4"],
    ]
    (tmp_path / "model" / "run").mkdir(parents=True)
    (tmp_path / "model" / "run" / "run.json").touch()
    (tmp_path / "model" / "card.md").touch()  # one that was stopped has it, too
    benchmark.train(options, "", 2, tmp_path / "model")
    assert commands[3:] == [["train", "--resume", str(tmp_path / "model")]]


def test_a_filter_runs_once_before_the_trainings(tmp_path: Path, commands: list[list[str]]) -> None:
    options = parse(tmp_path)
    filtering = "--keep-best 90% --by-model fr-en"
    words, keep_best, by_model = benchmark.split_filter(f"--size tiny {filtering}")
    assert (words, keep_best, by_model) == (["--size", "tiny"], "90%", "fr-en")
    kept = tmp_path / "runs" / "filtered"
    kept.mkdir(parents=True)
    for lang in ("en", "fr"):
        (kept / f"90-fr-en-partial.{lang}").touch()  # as check-data would write them
    for seed in (1, 2):
        benchmark.train(options, filtering, seed, tmp_path / "model")
    assert [words[0] for words in commands] == ["check-data", "train", "train"]
    assert commands[0][-4:] == ["--keep-best", "90%", "--by-model", "fr-en"]
    for words in commands[1:]:
        assert words[1:3] == [str(kept / "90-fr-en.en"), str(kept / "90-fr-en.fr")]
        assert "90%" not in words
    for wrong in ("--by-model a", "--keep-best 9% --data b"):
        with pytest.raises(ValueError, match="--keep-best"):
            benchmark.split_filter(wrong)


def test_teachers_translate_once_for_all_seeds(tmp_path: Path, commands: list[list[str]]) -> None:
    options = parse(tmp_path)
    made = tmp_path / "one" / "run" / "distilled"
    made.mkdir(parents=True)
    for name in ("0.tsv", "0.txt", "0-mixed.tsv"):
        (made / name).write_text(name, encoding="utf-8")
    benchmark.train(options, f"{TEACH} --teacher-share 0.5", 1, tmp_path / "one")
    benchmark.train(options, TEACH, 2, tmp_path / "two")
    found = sorted((tmp_path / "two" / "run" / "distilled").iterdir())
    assert [path.name for path in found] == ["0.tsv", "0.txt"], "the mixture depends on the seed"
    assert found[0].read_text(encoding="utf-8") == "0.tsv"
    for more in ("--teacher everyday-en-fr", f"{TEACH} --keep-best 9%", f"{TEACH} --data b"):
        assert not benchmark.find_shared(options, more).exists(), "another teacher, or another text"


def test_scores_are_kept_and_those_of_others_refused(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def score(folder: Path, pairs: Any, lang: str, precision: str) -> list[float]:
        asked.append((folder.name, precision))
        return [1.0, 2.0] if precision == "fp32" else [3.0, 4.0]

    monkeypatch.setattr(benchmark, "score", score)
    options = parse(tmp_path, "--try=--a 1", "--precision", "fp32", "int8")
    assert benchmark.examine(options, "--a 1", 5, []) == [1.0, 2.0, 3.0, 4.0]
    assert asked == [("a-1-5", "fp32"), ("a-1-5", "int8")]
    before = len(commands)
    assert benchmark.examine(options, "--a 1", 5, []) == [1.0, 2.0, 3.0, 4.0]
    assert (len(asked), len(commands)) == (2, before), "neither trained nor translated again"
    options.steps = 10
    with pytest.raises(ValueError, match="of other options"):
        benchmark.examine(options, "--a 1", 5, [])
    (tmp_path / "runs" / "plain-1").mkdir()
    with pytest.raises(ValueError, match="not how it was made"):
        benchmark.examine(options, "", 1, [])
    kept = json.loads((tmp_path / "runs" / "a-1-5.json").read_text(encoding="utf-8"))
    assert kept["training"]["options"] == shlex.split("--size tiny --a 1")


def test_names_of_long_options_differ() -> None:
    one, other = (benchmark.name_training(f"{'--a 1 ' * 90}{end}") for end in "xy")
    assert one != other and max(len(one), len(other)) < 120
    assert benchmark.name_training("") == "plain"


def test_differences_are_those_of_the_means() -> None:
    scores: dict[str, Any] = {"": [[10.0, 30.0], [12.0, 32.0]], "--a": [[13.0, 30.5], [14.0, 30.5]]}
    lines = benchmark.tell_scores(scores).splitlines()
    assert "11.0 ±" in lines[-2] and "31.0 ±" in lines[-2]
    assert "+2.50" in lines[-1] and "-0.50" in lines[-1] and "13.5 ±" in lines[-1]
