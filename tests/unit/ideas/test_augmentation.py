"""Pairs made by a model: which are kept, and a run that was stopped goes on."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glassformer.cli import main
from glassformer.config import Decode
from glassformer.data.corpus import find_data
from glassformer.extensions.ideas import augmentation
from glassformer.extensions.ideas.augmentation import Augmentation, Maker, make_pairs
from glassformer.extensions.ideas.shards import Shard

LINES = ["The cat is on the mat.", "", "A dog sleeps.", "The old cat sees the\tdog.", "🙂"] * 4


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "mono.en"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def describe(text: Path, **changes: Any) -> Augmentation:
    settings: dict[str, Any] = {
        "models": ["demo"],
        "source": str(text),
        "kind": "back",
        "decode": Decode(beam=2).model_dump(),
        "copies": 1,
        "min_confidence": 0.0,
        "keep_doubtful": False,
        "seed": 0,
        "precision": "fp32",
        "device": "cpu",
        "shard_lines": 4,
    }
    return Augmentation(**{**settings, **changes})


def test_no_target_is_what_could_not_be_translated(text: Path, tmp_path: Path) -> None:
    text.write_text("Hi.\n" + "the old cat sees the dog and " * 3 + "sleeps.\n", encoding="utf-8")
    decode = Decode(beam=2, min_length=58, max_ratio=1).model_dump()
    out = tmp_path / "on.tsv"
    make_pairs(describe(text, kind="forward", decode=decode), out)
    assert "Hi.\tHi." not in out.read_text(encoding="utf-8")


def test_pairs_are_read_in_the_right_direction(text: Path, tmp_path: Path) -> None:
    made = make_pairs(describe(text), tmp_path / "back.tsv")
    pairs = list(find_data(tmp_path / "back.tsv", "fr", "en").train)
    assert made.lines == len(LINES) and made.pairs == len(pairs) > 0
    assert pairs[0] == ("Le chat est sur le tapis.", "The cat is on the mat.")
    make_pairs(describe(text, kind="forward"), tmp_path / "on.tsv")
    assert list(find_data(tmp_path / "on.tsv", "fr", "en").train) == pairs
    assert not any(not side.strip() for pair in pairs for side in pair)
    assert all("\t" not in side for pair in pairs for side in pair)


def test_copies_are_different_and_unsure_ones_are_left_out(text: Path, tmp_path: Path) -> None:
    drawn = Decode(search="sample", temperature=1.5).model_dump()
    for name, decode in (("n", Decode(beam=3).model_dump()), ("s", drawn)):
        make_pairs(describe(text, copies=3, decode=decode), tmp_path / f"{name}.tsv")
        with (tmp_path / f"{name}.tsv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        first = [row["fr"] for row in rows if row["en"] == LINES[0]][:3]
        assert len({*first}) == len(first)
        assert sum(row["en"] == LINES[0] for row in rows) > 4
    high = make_pairs(describe(text, min_confidence=0.999), tmp_path / "high.tsv")
    assert high.pairs < make_pairs(describe(text), tmp_path / "all.tsv").pairs


def test_what_was_stopped_goes_on(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pairs(describe(text), tmp_path / "whole.tsv")
    plain, out = Maker.translate, tmp_path / "cut.tsv"

    def stop(self: Maker, shard: Shard) -> Iterator[str]:
        if shard.number == 2:
            raise KeyboardInterrupt
        return plain(self, shard)

    monkeypatch.setattr(Maker, "translate", stop)
    with pytest.raises(KeyboardInterrupt):
        make_pairs(describe(text), out)
    assert not out.exists()
    monkeypatch.setattr(Maker, "translate", plain)
    with pytest.raises(ValueError, match="begun with another seed"):
        make_pairs(describe(text, seed=1), out)
    with monkeypatch.context() as patch, pytest.raises(ValueError, match="another model files"):
        patch.setattr(augmentation, "hash_files", lambda *_: {})
        make_pairs(describe(text), out)
    assert make_pairs(describe(text), out).found == 2
    assert out.read_bytes() == (tmp_path / "whole.tsv").read_bytes()
    assert not out.with_name("cut.tsv.parts").exists()


@pytest.mark.skipif(os.name != "posix", reason="no kill -9")
def test_a_killed_process_leaves_no_lock(text: Path, tmp_path: Path) -> None:
    make_pairs(describe(text), tmp_path / "whole.tsv")
    out = tmp_path / "made.tsv"
    words = ["augment", "demo", str(text), "--out", str(out), "--beam", "2"]
    words += ["--shard-lines", "4", "--precision", "fp32", "--device", "cpu"]
    slow = (
        "import sys, time\nfrom glassformer.extensions.ideas.augmentation import Maker\n"
        "plain = Maker.translate\n"
        "def wait(self, shard):\n    time.sleep(30 * (shard.number == 1))\n"
        "    return plain(self, shard)\n"
        "Maker.translate = wait\nfrom glassformer.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    process = subprocess.Popen([sys.executable, "-c", slow, *words])
    first = out.with_name("made.tsv.parts") / "00000000"
    end = time.monotonic() + 120
    while not (first.is_file() and first.with_name("00000001.lock").is_file()):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert main(words) == 0
    assert out.read_bytes() == (tmp_path / "whole.tsv").read_bytes()


def test_two_at_once_make_the_same(text: Path, tmp_path: Path) -> None:
    make_pairs(describe(text), tmp_path / "whole.tsv")
    out = tmp_path / "made.tsv"
    words = [sys.executable, "-m", "glassformer", "augment", "demo", str(text), "--out", str(out)]
    words += ["--beam", "2", "--shard-lines", "4", "--precision", "fp32", "--device", "cpu"]
    both = [subprocess.Popen(words) for _ in range(2)]
    assert 0 in [process.wait(180) for process in both]
    assert out.read_bytes() == (tmp_path / "whole.tsv").read_bytes()


@pytest.mark.parametrize(
    ("changes", "name", "said"),
    [
        ({"kind": "up"}, "a.tsv", "--kind up: one of back, forward"),
        ({}, "a.txt", "written as .tsv"),
        ({"copies": 2, "decode": Decode(search="greedy").model_dump()}, "a.tsv", "greedy has one"),
        ({"models": ["nowhere"]}, "a.tsv", "nowhere"),
    ],
)
def test_mistakes_are_told(
    text: Path, tmp_path: Path, changes: dict[str, Any], name: str, said: str
) -> None:
    with pytest.raises((ValueError, OSError), match=said):
        make_pairs(describe(text, **changes), tmp_path / name)


def test_no_text_and_an_output_that_is_there(text: Path, tmp_path: Path) -> None:
    (tmp_path / "there.tsv").write_text("kept", encoding="utf-8")
    with pytest.raises(ValueError, match="is there already"):
        make_pairs(describe(text), tmp_path / "there.tsv")
    empty = tmp_path / "empty.en"
    empty.touch()
    with pytest.raises(ValueError, match="the file is empty"):
        make_pairs(describe(empty), tmp_path / "x.tsv")
    assert augmentation.KINDS == ("back", "forward")
