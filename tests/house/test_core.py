"""The core is small, its folder is short, and it works where nothing is built on it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .sources import FILES, PACKAGE

ROOT = PACKAGE.parents[1]
EXTENSIONS = "extensions"
LINES = 36_500  # of the core, in Python
NAMES = 18  # that `ls src/glassformer` shows
# Tests of the core that are quick and need none of what is built on it.
CHOSEN = (
    "paper",
    "unit/decode/test_beam.py",
    "unit/model/test_masks.py",
    "unit/text/test_clauses.py",
    "unit/train/test_schedule.py",
)


def test_the_core_can_be_held_in_mind() -> None:
    core = [path for path in FILES if path.relative_to(PACKAGE).parts[0] != EXTENSIONS]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in core) <= LINES


def test_the_folder_of_the_package_is_short() -> None:
    names = {path.name for path in PACKAGE.iterdir()} - {"__pycache__", ".DS_Store"}
    assert len(names) <= NAMES, sorted(names)


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the sources without the extensions, and with the chosen tests."""
    home = tmp_path_factory.mktemp("core")
    leave_out = shutil.ignore_patterns("__pycache__", EXTENSIONS)
    shutil.copytree(PACKAGE, home / "src" / "glassformer", ignore=leave_out)
    for name in ("conftest.py", *CHOSEN):
        path = ROOT / "tests" / name
        place = home / "tests" / name
        if path.is_dir():
            shutil.copytree(path, place, ignore=leave_out)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)
            if (path.parent / "conftest.py").is_file():
                shutil.copy2(path.parent / "conftest.py", place.parent / "conftest.py")
    shutil.copy2(ROOT / "pyproject.toml", home)
    (home / "a.en").write_text("The cat is on the mat.\n", encoding="utf-8")
    (home / "terms.tsv").write_text("cat\tminet\n", encoding="utf-8")
    (home / "a.fr").write_text("Le chat est sur le tapis.\n", encoding="utf-8")
    return home


def run(core: Path, *arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run Python with the core alone, and return what it wrote."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=core,
        env={**os.environ, "PYTHONPATH": str(core / "src")},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def glassformer(core: Path, *arguments: str | Path, code: int = 0) -> str:
    done = run(core, "-m", "glassformer", *arguments, code=code)
    return done.stderr if code else done.stdout


def test_the_copy_is_what_runs(core: Path) -> None:
    shown = run(core, "-c", "import glassformer; print(glassformer.__file__)").stdout
    assert Path(shown.strip()).is_relative_to(core)


@pytest.mark.thorough
def test_the_chosen_tests_pass(core: Path) -> None:
    shown = run(core, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests").stdout
    assert " passed" in shown


def test_help_shows_the_verbs_of_the_core(core: Path) -> None:
    shown = glassformer(core, "--help")
    assert " translate " in shown and " train " in shown
    assert " serve " not in shown and " export " not in shown


def test_the_core_translates_and_looks_inside(core: Path) -> None:
    assert glassformer(core, "translate", "demo", "a.en") == "Le chat est sur le tapis.\n"
    assert "BLEU" in glassformer(core, "evaluate", "demo", "a.en", "a.fr")
    seen = json.loads(glassformer(core, "see", "demo", "The cat is small.", "--json"))
    assert seen["translation"].startswith("Le chat")


def test_the_core_trains(core: Path) -> None:
    settings = ("train.steps=2", "train.validate_every=2", "text.vocabulary=300")
    sets = [word for each in settings for word in ("--set", each)]
    lines = [f"The cat {number} is here.\tLe chat {number} est ici." for number in range(60)]
    (core / "pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    glassformer(core, "train", "tiny", "--data", "pairs.tsv", "--out", "mine", *sets)
    assert glassformer(core, "translate", "mine", "a.en")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "purpose"),
    [
        (("see", "demo", "A cat.", "--picture", "V49", "-o", "a.svg"), "a picture"),
        (("translate", "demo", "--file", "a.html", "-o", "b.html"), "a document"),
        (("translate", "demo", "a.en", "--glossary", "terms.tsv"), "a glossary"),
        (("translate", "demo-rnn", "a.en"), "model.network=rnn"),
        (
            ("train", "a.en", "a.fr", "--out", "taught", "--teacher", "demo"),
            "a training with teachers",
        ),
    ],
)
def test_what_is_not_there_says_so(core: Path, arguments: tuple[str, ...], purpose: str) -> None:
    shown = glassformer(core, *arguments, code=2)
    assert f"{purpose} needs an extension" in shown


@pytest.mark.thorough
def test_an_extension_without_another_says_so(core: Path) -> None:
    for name in ("night", "check_data", "ideas", "short_list", "publish", "averaging"):
        shutil.copytree(
            PACKAGE / EXTENSIONS / name, core / "src" / "glassformer" / EXTENSIONS / name
        )
    try:
        shown = glassformer(core, "night", "a.en", "a.fr", "-o", "b", "--minutes", "1", code=2)
    finally:
        shutil.rmtree(core / "src" / "glassformer" / EXTENSIONS)
    assert shown == (
        "glassformer: this needs the extension honest of glassformer, which was removed\n"
    )
