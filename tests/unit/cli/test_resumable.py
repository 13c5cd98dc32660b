"""A translation that was stopped goes on where it was, and comes out byte for byte the same."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.cli.resumable import EVERY, describe_job, open_resumable
from glassformer.model.files.directory import (
    ALIGNMENT,
    CHARACTERS,
    DOUBT,
    GOLDEN,
    SHIPPED,
    SHORTLIST,
)
from glassformer.model.files.known_words import WORDS

JOB = {"beam": 4, "contents": ["a"]}
LINES = ["The cat is on the mat.", "I love AI.", "", "The dog bites the cat. Thanks!"]


def _begin(path: Path, text: str, keep: int, job: dict[str, object] | None = None) -> None:
    """Write text, of which `keep` lines are noted, and stop like Ctrl-C."""
    with (
        pytest.raises(KeyboardInterrupt),
        open_resumable(path, job or JOB, False) as out,
    ):
        for number, line in enumerate(text.splitlines(keepends=True), out.lines + 1):
            out.file.write(line)
            if number == keep:
                out.keep(number, now=True)
        raise KeyboardInterrupt


def test_it_goes_on_after_what_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out"
    _begin(path, "a\nb\nc\nhal", 2)
    assert "2 lines done by then: the same command goes on from there" in capsys.readouterr().err
    with (tmp_path / "out.partial").open("a", encoding="utf-8") as file:
        file.write("f a line that a kill left")
    with open_resumable(path, JOB, False) as out:
        assert out.lines == 2
        out.file.write("c\n")
    assert path.read_text(encoding="utf-8") == "a\nb\nc\n"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({**JOB, "beam": 5}, "begun with another beam: give --overwrite"),
        ({**JOB, "contents": ["b"]}, "begun with another contents"),
        (None, "nothing tells how to go on"),
    ],
)
def test_another_job_asks(tmp_path: Path, job: dict[str, object] | None, said: str) -> None:
    path = tmp_path / "out"
    _begin(path, "a\nb\n", 1)
    before = (tmp_path / "out.partial").read_bytes()
    with pytest.raises(ValueError, match=said), open_resumable(path, job, False):
        pass
    assert (tmp_path / "out.partial").read_bytes() == before, "nothing is lost"
    with open_resumable(path, job, True) as out:
        assert out.lines == 0
        out.file.write("new\n")
    assert path.read_text(encoding="utf-8") == "new\n"


@pytest.mark.parametrize("state", ["", "{", '{"job": 1}', '{"lines": 9, "bytes": 10000}'])
def test_a_damaged_note_is_not_believed(tmp_path: Path, state: str) -> None:
    (tmp_path / "out.partial").write_text("a\nb\n", encoding="utf-8")
    (tmp_path / "out.partial.json").write_text(state, encoding="utf-8")
    with (
        pytest.raises(ValueError, match="give --overwrite"),
        open_resumable(tmp_path / "out", JOB, False),
    ):
        pass


def test_a_job_is_its_options_and_contents(tmp_path: Path) -> None:
    file, model = tmp_path / "text", Path("demo")
    file.write_text("a\n", encoding="utf-8")
    given = {"file": file, "model": model, "threads": 1, "output": Path("x"), "seed": None}
    job = describe_job(given)
    assert job == describe_job({**given, "threads": 2, "output": Path("y")})
    assert job != describe_job({**given, "seed": 1})
    file.write_text("b\n", encoding="utf-8")
    assert job != describe_job(given)
    assert describe_job({**given, "file": Path("-")}) is None


@pytest.mark.parametrize("name", [SHORTLIST, ALIGNMENT, DOUBT, GOLDEN, CHARACTERS, WORDS])
def test_a_job_depends_on_each_file_beside_the_weights(tmp_path: Path, name: str) -> None:
    file, model = tmp_path / "text", shutil.copytree(SHIPPED / "demo", tmp_path / "m")
    file.write_text("a\n", encoding="utf-8")
    job = describe_job({"file": file, "model": model})
    (model / name).write_text("other", encoding="utf-8")
    assert describe_job({"file": file, "model": model}) != job


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.thorough
def test_killed_again_and_again(tmp_path: Path) -> None:
    """In real processes: all lines are there once, and none is translated without need."""
    text, whole, out = (tmp_path / name for name in ("text", "whole", "out"))
    numbered = [f"{line} I have {n} cats." for n, line in enumerate(LINES * 150)]
    text.write_text("".join(f"{line}\n" for line in numbered), encoding="utf-8")
    options = ["--chunk", "10", "--n-best", "2", "--precision", "fp32"]
    assert main(["translate", "demo", str(text), "-o", str(whole), *options]) == 0
    command = [sys.executable, "-m", "glassformer", "translate", "demo", str(text)]
    noted = set()
    for _ in range(30):
        running = subprocess.Popen([*command, "-o", str(out), *options], stderr=subprocess.DEVNULL)
        state, before = tmp_path / "out.partial.json", noted.copy()
        while running.poll() is None and noted == before:
            time.sleep(EVERY / 20)
            with suppress(FileNotFoundError):
                noted.add(state.read_text("utf-8"))
        if running.poll() is not None:
            break
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert main(["translate", "demo", str(text), "-o", str(out), *options]) == 0
    assert len(noted) > 1 and out.read_bytes() == whole.read_bytes()
    assert {each.name for each in tmp_path.iterdir()} == {"text", "whole", "out"}
