"""Whatever the learner's code does, a check ends, and says in a sentence what it was."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from glassformer.cli import main
from glassformer.extensions.course.apart import MEMORY, run_steps
from glassformer.extensions.course.changes import ArgumentChange
from glassformer.extensions.course.checking import check_step
from glassformer.extensions.course.exercises import read_exercises
from glassformer.extensions.course.results import (
    ChangedResult,
    OtherResult,
    decode_result,
    encode_result,
    is_same,
)

HEAD = "import numpy as np\n\ndef embed(token_ids, table):\n"
RIGHT = "    return table[token_ids] * np.sqrt(table.shape[1])\n"
LIMIT = 1.5  # seconds
# The code, a part of what is said, and the line of the file that is named.
BREAKING = {
    "a loop": (HEAD + "    while True:\n        n = 1\n", "still ran after 1.5 seconds", "line "),
    "a loop that prints": (
        HEAD + "    while True:\n        print(1)\n",
        "still ran after 1.5 seconds",
        "line 5",
    ),
    "a loop in C": (HEAD + "    return sum(iter(int, 1))\n", "still ran after", "line 4"),
    "a loop without a function": ("for _ in iter(int, 1):\n    pass\n", "still ran", "line "),
    "exit": (HEAD + "    exit()\n", "calls exit()", "line 4"),
    "exit at once": ("import sys\nsys.exit('done')\n", "calls exit()", "line 2"),
    "an end of Python": (HEAD + "    import os\n    os._exit(0)\n", "Python ended", "(code 0)"),
    "a crash": (
        HEAD + "    import ctypes\n    return ctypes.string_at(0)\n",
        "Python ended",
        "line 5",
    ),
    "input": (HEAD + "    return input('number: ')\n", "nobody types", "line 4"),
    "recursion": (HEAD + "    return embed(token_ids, table)\n", "calls itself", "line 4"),
    "memory": (HEAD + "    return np.ones(10**11 // 8)\n", "more memory", "line 4"),
    "a module": ("import no_such_module\n" + HEAD + RIGHT, "'no_such_module'", "line 1"),
    "syntax": (HEAD + "    return (table[\n", "Python cannot read line 4", "step_01_embedding.py"),
    "no numbers": (HEAD + "    yield table[token_ids]\n", "generator", "13 x 64"),
    "too many numbers": (HEAD + "    return np.zeros(20_000_000)\n", "<20000000>", "13 x 64"),
    "an object that raises": (
        "class Vector:\n    def __array__(self, *_, **__):\n        1 / 0\n" + HEAD + "    "
        "return Vector()\n",
        "Vector",
        "13 x 64",
    ),
}


def write_embedding(folder: Path, text: str) -> None:
    (folder / "step_01_embedding.py").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("text", "said", "line"), BREAKING.values(), ids=BREAKING)
def test_what_breaks_a_check_is_said(text: str, said: str, line: str, tmp_path: Path) -> None:
    folder = tmp_path / "文件夹 of mine"
    folder.mkdir()
    write_embedding(folder, text)
    started = time.monotonic()
    verdict = check_step(folder, 1, seconds=LIMIT)
    sentences = "\n".join(verdict.lines)
    assert not verdict.is_right and said in sentences and line in sentences
    assert time.monotonic() - started < 60


def test_a_loop_whose_stack_changes_all_the_time_is_named(tmp_path: Path) -> None:
    write_embedding(tmp_path, BREAKING["a loop that prints"][0])
    for _ in range(6):  # the watchdog of C alone names no line in one of eight
        [(_, run)] = run_steps(tmp_path, [1], LIMIT)
        assert (run.results[0].cause, run.results[0].line) == ("slow", 5)


def test_a_list_that_grows_without_end_stops(tmp_path: Path) -> None:
    write_embedding(tmp_path, HEAD + "    a = []\n    while True:\n        a += [0] * 10**8\n")
    sentences = "\n".join(check_step(tmp_path, 1, seconds=60).lines)
    assert "more memory than there is" in sentences and "line 6" in sentences
    assert MEMORY <= 2**32


def test_an_earlier_step_that_does_not_end_is_named(tmp_path: Path) -> None:
    for each in read_exercises():
        (tmp_path / f"{each.module}.py").write_text(each.solution, encoding="utf-8")
    loop = "def softmax(scores):\n    while True:\n        pass\n"
    (tmp_path / "step_05_softmax.py").write_text(loop, encoding="utf-8")
    assert "check 5" in check_step(tmp_path, 6, seconds=LIMIT).lines[1]
    wrong = "def softmax(scores):\n    return scores\n"
    (tmp_path / "step_05_softmax.py").write_text(wrong, encoding="utf-8")
    loop = "def decode(*_):\n    while True:\n        pass\n"
    (tmp_path / "step_14_decoder.py").write_text(loop, encoding="utf-8")
    assert "check 5" in check_step(tmp_path, 20, seconds=600).lines[1]  # without waiting for 14


def test_it_is_said_in_chinese(tmp_path: Path) -> None:
    write_embedding(tmp_path, HEAD + "    while True:\n        n = 1\n")
    assert "运行了 1.5 秒还没有结束" in "\n".join(check_step(tmp_path, 1, "zh", LIMIT).lines)


def test_what_is_printed_is_shown_and_a_flood_is_cut(tmp_path: Path) -> None:
    write_embedding(tmp_path, HEAD + "    print('rows', len(token_ids))\n" + RIGHT)
    verdict = check_step(tmp_path, 1)
    assert verdict.is_right and verdict.lines[1].startswith("rows 13\n")
    flood = "    for n in range(10**5):\n        print('number', n)\n"
    write_embedding(tmp_path, HEAD + flood + RIGHT)
    verdict = check_step(tmp_path, 1, seconds=60)
    assert verdict.is_right and sum(map(len, verdict.lines)) < 3000
    assert "characters more" in verdict.lines[2]


def test_other_files_and_threads_of_a_learner_do_no_harm(tmp_path: Path) -> None:
    for name in ("numpy", "random", "json", "token"):
        (tmp_path / f"{name}.py").write_text("raise ValueError\n", encoding="utf-8")
    thread = (
        "    import threading, time\n    threading.Thread(target=time.sleep, args=[99]).start()\n"
    )
    write_embedding(tmp_path, HEAD + thread + RIGHT)
    assert check_step(tmp_path, 1).is_right


def test_the_limit_can_be_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["course", "start", "."]) == 0
    write_embedding(tmp_path, HEAD + "    import time\n    time.sleep(1)\n" + RIGHT)
    assert main(["course", "check", "1", "--time-limit", "1.5"]) == 1
    said = capfd.readouterr().out
    assert "after 1.5 seconds" in said and "line 5 of step_01_embedding.py:  time.sleep(1)" in said
    assert main(["course", "check", "1"]) == 0
    for words in (["check", "1", "--time-limit", "0"], ["status", "--time-limit", "9"]):
        assert main(["course", *words]) == 2
        assert "time-limit" in capfd.readouterr().err


@pytest.mark.parametrize(
    "value",
    [
        None,
        1.5,
        7,
        True,
        "text",
        [3, 1],
        (2.5, 1.0),
        [],
        [[True, False], [False, True]],
        np.float32(2),
        np.array([[1.0, np.nan], [np.inf, -0.0]]),
        np.zeros((2, 0)),
        np.array([True, False]),
    ],
    ids=repr,
)
def test_results_come_back_as_they_were(value: object) -> None:
    found = decode_result(encode_result(value))
    assert is_same(found, value)


def test_a_change_of_an_argument_comes_back_with_the_result() -> None:
    value = ChangedResult(np.arange(3.0), ArgumentChange("weights['bias']", "array"))
    found = decode_result(encode_result(value))
    assert found.change == value.change and is_same(found.result, value.result)
    assert not is_same(found, value.result)


@pytest.mark.parametrize("value", [{}, object(), [[1], [2, 3]], 1j, 10**400, np.array([None])])
def test_what_is_no_number_comes_back_as_its_class(value: object) -> None:
    found = decode_result(encode_result(value))
    assert isinstance(found, OtherResult) and found.kind == type(value).__name__
