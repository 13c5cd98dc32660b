"""Intervals and scores of sentences, against sacreBLEU's own program on the same files."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.evaluate.quality import read_references, score_quality
from glassformer.evaluate.sentences import (
    BY_SENTENCE,
    SentenceResult,
    SystemSentence,
    find_worst,
    score_each,
)

WORDS = ["a", "cat", "the", "dog", "is", "on", "mat", "red", "blue", "old", "house", "tree."]
METRICS = ["-m", "bleu", "chrf", "ter"]


def ask_sacrebleu(*options: str) -> str:
    """Return what sacreBLEU's command prints for some options."""
    command = [sys.executable, "-m", "sacrebleu", *options]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A hypothesis and two references, with empty lines, spaces and other scripts."""
    rng = random.Random(3)

    def write(name: str, spoil: float) -> Path:
        rng.seed(5)
        lines = [rng.choices(WORDS, k=rng.randint(0, 12)) for _ in range(40)]
        rng.seed(name)
        said = [" ".join(w for w in words if rng.random() > spoil) for words in lines]
        said[3], said[4], said[5] = "", "  Größe – naïve,  “quoted” ", "猫 is 1,234.5 %"
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in said), encoding="utf-8")
        return path

    return [write("ours", 0.3), write("one", 0.0), write("two", 0.2)]


def _read(files: list[Path]) -> tuple[list[str], list[list[str | None]]]:
    ours, *references = (read_references(path)[0] for path in files)
    return [str(line) for line in ours], references


@pytest.mark.parametrize("sets", [1, 2])
def test_intervals_and_signatures_are_those_of_sacrebleu(files: list[Path], sets: int) -> None:
    ours, references = _read(files[: 1 + sets])
    names = [str(path) for path in files[1 : 1 + sets]]
    for samples, more in ((0, []), (300, ["--confidence", "--confidence-n", "300"])):
        told = ask_sacrebleu(*names, "-i", str(files[0]), *METRICS, "-w", "4", *more)
        found = score_quality(ours, references, samples=samples)
        for entry in json.loads(told):
            mine = found[entry["name"]]
            assert mine.signature == entry["signature"]
            assert round(mine.value, 4) == entry["score"]
            assert bool(mine.interval) == bool(samples)
            if mine.interval:
                mean, half_width = entry["confidence_mean"], entry["confidence_var"]
                assert mine.interval.mean == pytest.approx(mean, abs=2e-4)  # it sums in fp32
                assert mine.interval.half_width == pytest.approx(half_width, abs=2e-4)
                assert str(mine.interval) in str(found)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_a_bom_change_no_score(files: list[Path], ending: str, mark: bytes) -> None:
    plain = score_quality(*_read(files))
    for path in files:
        text = path.read_bytes().replace(b"\n", ending.encode())
        path.write_bytes(mark + text)
    assert score_quality(*_read(files)) == plain


def test_scores_of_sentences_are_those_of_sacrebleu(files: list[Path]) -> None:
    ours, references = _read(files)
    found = score_each(ours, references)
    names = [str(path) for path in files[1:]]
    told = {}
    for name, metric in (("chrF2", "chrf"), ("BLEU", "bleu"), ("TER", "ter")):
        options = ["-i", str(files[0]), "-m", metric, "--sentence-level", "-w", "4", "-b"]
        told[name] = list(map(float, ask_sacrebleu(*names, *options).split()))
    for number, scores in enumerate(found):
        assert list(scores) == list(BY_SENTENCE)
        for name, value in scores.items():
            assert round(value, 4) == told[name][number], (name, number)


def test_the_worst_come_first() -> None:
    def make(line: int, chrf: float, confidence: float | None) -> SentenceResult:
        own = SystemSentence("m", "", {"chrF2": chrf}, confidence)
        return SentenceResult(line, None, (), (own,))

    results = [make(1, 50, 0.9), make(2, 10, 0.5), make(3, 10, 0.4), make(4, 0, None)]
    assert [each.line for each in find_worst(results)] == [4, 3, 2, 1]
    assert [each.line for each in find_worst(results, 2)] == [4, 3]


def test_a_sentence_may_lack_a_reference() -> None:
    """A second set without it changes nothing there; the first set may lack it just as well."""
    one = score_each(["a cat", "dogs"], [["a cat", None], [None, "the dogs"]])
    assert one == score_each(["a cat", "dogs"], [["a cat", "the dogs"]])
    assert one[0]["chrF2"] == pytest.approx(100)
