"""No pickle is read or written: a file of somebody else's never runs code here."""

from __future__ import annotations

import ast
import pickletools
from pathlib import Path
from zipfile import is_zipfile

import pytest
from damage.ledger import Ledger
from damage.trainings import Trainings

SOURCE = Path(__file__).parents[2] / "src"
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
# Checkpoints of others may be pickles: torch reads tensors of them, and runs nothing.
TENSORS_ALONE = "extensions/bridge/pickles.py"


def list_pickles(tree: ast.AST) -> list[str]:
    """Each import of a pickling module, and each call that may pickle or unpickle."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            found += [f"{node.module}.{each.name}" for each in node.names]
        elif isinstance(node, ast.Call):
            name, words = ast.unparse(node.func), {each.arg for each in node.keywords}
            if name in ("torch.load", "torch.save") or "allow_pickle" in words:
                found.append(ast.unparse(node))
    return found


@pytest.mark.thorough
def test_the_source_names_none() -> None:
    found = {
        path.relative_to(SOURCE / "glassformer").as_posix(): pickles
        for path in SOURCE.rglob("*.py")
        if (pickles := list_pickles(ast.parse(path.read_text(encoding="utf-8"))))
    }
    foreign = found.pop(TENSORS_ALONE, [])
    assert not found
    assert all(
        each == "pickle.UnpicklingError" or "weights_only=True" in each for each in foreign
    ), foreign


def is_pickle(data: bytes) -> bool:
    try:
        return data[:1] == b"\x80" and any(True for _ in pickletools.genops(data))
    except ValueError:
        return False


def test_no_run_reads_or_writes_one(trainings: Trainings, tmp_path: Path, ledger: Ledger) -> None:
    """Python says so whenever a pickle is read; what was written is looked at."""
    out, quiet = tmp_path / "out", {"refuse_pickle": True}
    recipe = trainings.recipe()
    assert trainings.begin(out, recipe, kill_in="save", nth=2, kill_after=0.0, **quiet).code
    for argv in (
        ["train", "--resume", out],
        ["translate", out, trainings.data[0], "-o", tmp_path / "out.txt"],
        ["see", out, "the cat", "--save", tmp_path / "trace", "--parameters"],
        ["see", tmp_path / "trace"],
        ["doctor", out],
    ):
        ended = trainings.zygote.run(*argv, **quiet)
        assert ended.code == 0, ended.said
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 20
    wrong = [path for path in files if is_zipfile(path) or is_pickle(path.read_bytes())]
    assert not wrong
    happened = "none is read, none is written; nor does the source name one"
    ledger.note("Damaged files", "pickles in train, resume, translate, see, doctor", happened)
