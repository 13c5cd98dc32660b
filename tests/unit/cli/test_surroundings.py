"""Closed streams, full disks, two at one output: one sentence, and no file that is half written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.cli.terminal import open_output
from glassformer.foundation.disk import open_alone, read_text

POSIX = pytest.mark.skipif(os.name != "posix", reason="descriptors are closed the POSIX way")


def run(shell: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -m glassformer"
    return subprocess.run(
        ["sh", "-c", shell.replace("glassformer", program)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )


@POSIX
@pytest.mark.parametrize(
    ("shell", "said"),
    [
        (
            "glassformer translate demo --precision fp32 <&-",
            "the standard input is closed: name a file to read",
        ),
        (
            "echo the cat | glassformer translate demo --precision fp32 >&-",
            "the standard output is closed",
        ),
    ],
)
def test_a_closed_stream_that_is_needed_is_named(shell: str, said: str) -> None:
    ended = run(shell)
    assert ended.returncode == 2 and said in ended.stderr.splitlines()[-1]


@POSIX
@pytest.mark.parametrize(
    "shell",
    ["glassformer translate demo $NAME", "glassformer doctor $NAME", "glassformer info $NAME"],
)
def test_a_name_that_is_not_utf8_is_told(shell: str) -> None:
    ended = run(f"NAME=$(printf 'caf\\351'); {shell}")
    assert ended.returncode == 2 and ended.stderr.count("\n") == 1, ended.stderr
    assert ended.stderr.startswith("glassformer: caf\\udce9: ")


@POSIX
def test_zero_bytes_are_left_out_and_a_full_output_is_told() -> None:
    command = r"printf 'the \0cat\0\n' | glassformer translate demo --precision fp32"
    ended, plain = run(command), run(command.replace(r"\0", ""))
    assert (ended.returncode, ended.stdout) == (0, plain.stdout)
    assert "glassformer: 2 zero bytes in the input left out: is it UTF-16?\n" in ended.stderr
    if Path("/dev/full").exists():
        ended = run(f"{command} > /dev/full")
        assert ended.returncode == 2 and "glassformer: No space left on device\n" in ended.stderr


@POSIX
def test_a_closed_stream_that_is_not_needed_is_none() -> None:
    ended = run("glassformer --version <&- 2>&-")
    assert ended.returncode == 0 and ended.stdout.startswith("glassformer ")


def test_an_output_is_written_by_one_alone(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with open_output(path) as file:
        file.write("ours\n")
        if os.name == "posix":
            with (
                pytest.raises(ValueError, match=r"out\.partial is being written by another"),
                open_output(path) as _,
            ):
                pass
        assert not path.exists()
    assert path.read_text(encoding="utf-8") == "ours\n"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_what_a_stopped_one_has_left_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "out.partial").write_text("a kill left this\n", encoding="utf-8")
    with open_output(tmp_path / "out") as file:
        file.write("new\n")
    assert (tmp_path / "out").read_text(encoding="utf-8") == "new\n"


def test_who_comes_too_late_does_not_empty_what_was_finished(tmp_path: Path) -> None:
    """Opened under its first name, locked after it got its last."""
    partial, path = tmp_path / "out.partial", tmp_path / "out"
    with open_alone(partial) as file:
        file.write("whole\n")
        file.flush()
        if os.name == "posix":
            os.replace(partial, path)
    with open_alone(partial):
        pass
    if os.name == "posix":
        assert path.read_text(encoding="utf-8") == "whole\n"


def test_a_full_disk_names_the_output() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no device here that is always full")
    with (
        pytest.raises(OSError, match="No space left") as error,
        open_output(Path("/dev/full")) as out,
    ):
        out.write("x\n")
        out.flush()
    assert error.value.filename == "/dev/full"


@POSIX
def test_a_pipe_or_a_device_is_no_file_of_a_model(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tokenizer.json")
    (tmp_path / "golden.json").symlink_to("/dev/zero")
    for name in ("tokenizer.json", "golden.json"):
        with pytest.raises(ValueError, match=f"{name} is no file"):
            read_text(tmp_path / name)
