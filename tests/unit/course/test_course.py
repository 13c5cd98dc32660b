"""The command `course`: a folder, its notebook, checks, hints and progress."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.extensions.course.exercises import read_exercises

EXERCISES = read_exercises()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["course", "start", "mine"]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine"


def solve(folder: Path, *numbers: int) -> None:
    for number in numbers:
        exercise = EXERCISES[number - 1]
        path = folder / f"{exercise.module}.py"
        task = path.read_text(encoding="utf-8").split('"""')[1]
        path.write_text(f'"""{task}"""\n{exercise.solution}', encoding="utf-8")


def read_progress(folder: Path) -> dict[str, object]:
    return dict(json.loads((folder / "course.json").read_text(encoding="utf-8")))


def test_each_blank_is_not_written_yet(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for exercise in EXERCISES:
        text = (folder / f"{exercise.module}.py").read_text(encoding="utf-8")
        compile(text, exercise.module, "exec")
        assert exercise.task["en"].strip() in text
    assert main(["course", "check"]) == 1
    assert "embed in step_01_embedding.py is not written yet" in capfd.readouterr().out


@pytest.mark.thorough
def test_from_blank_to_a_translation(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    solve(folder, *range(1, 21))
    assert main(["course", "check", "all"]) == 0
    said = capfd.readouterr().out
    assert "parce qu'elle était trop large." in said and "All 20 steps are right" in said
    assert read_progress(folder)["passed"] == [*range(1, 21)]
    (folder / "step_02_positions.py").write_text("", encoding="utf-8")
    assert main(["course", "check", "2"]) == 1
    assert main(["course", "status"]) == 0
    assert "19 of 20" in capfd.readouterr().out


def test_check_takes_the_first_that_is_not_right(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    solve(folder, 1, 2)
    assert main(["course", "check"]) == 0
    assert main(["course", "check"]) == 0
    assert "Next: step 3" in capfd.readouterr().out
    assert main(["course", "check"]) == 1
    assert main(["course", "check", "step_02_positions.py"]) == 0


def test_hints_come_one_after_the_other(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        assert main(["course", "hint", "4"]) == 0
    lines = capfd.readouterr().out.strip().splitlines()[-3:]
    assert lines[0] != lines[1] == lines[2] and "2 of 2" in lines[1]
    assert main(["course", "solution", "4"]) == 0
    assert EXERCISES[3].solution.strip() in capfd.readouterr().out


def test_starting_again_overwrites_nothing(folder: Path) -> None:
    (folder / "step_01_embedding.py").write_text("mine", encoding="utf-8")
    (folder / "step_02_positions.py").unlink()
    assert main(["course", "start", str(folder)]) == 0
    assert (folder / "step_01_embedding.py").read_text(encoding="utf-8") == "mine"
    assert (folder / "step_02_positions.py").is_file()


def test_it_speaks_chinese(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["course", "start", "--lang", "zh"]) == 0
    assert main(["course", "check"]) == 1  # finds glassformer-course in this folder
    assert "第 1 步" in capfd.readouterr().out
    folder = tmp_path / "glassformer-course"
    texts = {path: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert EXERCISES[4].task["zh"].strip() in texts[folder / "step_05_softmax.py"]
    for name in ("step_05_softmax.py", "course.ipynb"):
        (folder / name).unlink()
    assert main(["course", "start"]) == 0
    assert {path: path.read_text(encoding="utf-8") for path in folder.iterdir()} == texts


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["begin"], "action=begin"),
        (["check", "21"], "1 to 20"),
        (["check", "0"], "1 to 20"),
        (["check", "softmax"], "1 to 20"),
        (["check", "1", "--lang", "zh"], "--lang"),
        (["start", "--lang", "fr"], "lang=fr"),
        (["check", "1", "--folder", "elsewhere"], "course start"),
        (["start", "step_01_embedding.py"], "it is a file"),
    ],
)
def test_what_is_refused(
    words: list[str], said: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["course", *words]) == 2
    assert said in capfd.readouterr().err


@pytest.mark.parametrize("damage", ["[]", '{"lang": "en", "passed": 3, "hints": {}}', "{"])
def test_a_damaged_file_is_named(
    damage: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "course.json").write_text(damage, encoding="utf-8")
    assert main(["course", "check", "1"]) == 2
    assert "course.json" in capfd.readouterr().err


def test_a_file_that_is_no_text_is_named(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "step_01_embedding.py").write_bytes("def é".encode("latin-1"))
    assert main(["course", "check", "1"]) == 2
    assert "step_01_embedding.py" in capfd.readouterr().err
    solve_text = "\ufeff" + EXERCISES[0].solution  # as some editors save it
    (folder / "step_01_embedding.py").write_text(solve_text, encoding="utf-8")
    assert main(["course", "check", "1"]) == 0


def test_a_learner_may_have_other_modules(folder: Path) -> None:
    (folder / "mine.py").write_text("def take(t, i):\n    return t[i]\n", encoding="utf-8")
    text = "import mine\n\ndef embed(token_ids, table):\n"
    text += "    return mine.take(table, token_ids) * table.shape[1] ** 0.5\n"
    (folder / "step_01_embedding.py").write_text(text, encoding="utf-8")
    assert main(["course", "check", "1"]) == 0
    assert "mine" not in sys.modules and "step_01_embedding" not in sys.modules


def test_the_notebook_writes_the_files(folder: Path) -> None:
    notebook = json.loads((folder / "course.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len({*ids}) == len(ids) == 1 + 3 * 20
    for exercise in EXERCISES:
        first = f"%%writefile {exercise.module}.py\n"
        (cell,) = (each for each in notebook["cells"] if each["source"].startswith(first))
        code = cell["source"].removeprefix(first)
        compile(code, exercise.module, "exec")
        assert code in (folder / f"{exercise.module}.py").read_text(encoding="utf-8")


def test_no_pytorch_is_needed(folder: Path) -> None:
    solve(folder, *range(1, 21))
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from glassformer.cli import main; exit(main(['course', 'check', '20']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
