"""Every file of a model of another toolkit, damaged: it is refused in one sentence, or imported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glassformer.cli import main

FOREIGN = Path(__file__).parents[1] / "equal" / "foreign"
WRONG: list[Any] = [None, "x", [], -3, 3.5, {}]
FEW = 4  # entries of a table that are damaged


def damage(path: Path) -> Iterator[tuple[str, bytes | None]]:
    """Yield what is done to a file, and what it then holds; None: it is gone."""
    whole = path.read_bytes()
    yield "gone", None
    yield "empty", b""
    yield "cut", whole[: len(whole) // 2]
    yield "noise", bytes(range(256)) * 4
    yield "not UTF-8", b"\xff\xfe" + whole
    changed = bytearray(whole)
    changed[len(changed) // 3] ^= 0xFF
    yield "one byte", bytes(changed)
    if path.suffix == ".json":
        for name, raw in change_values(json.loads(whole)):
            yield name, json.dumps(raw).encode()


def change_values(raw: Any) -> Iterator[tuple[str, Any]]:
    """Yield a JSON object with one value of another kind, or without it."""
    yield "another kind", [raw]
    for key in list(raw)[:FEW]:
        yield f"without {key}", {name: raw[name] for name in raw if name != key}
        for wrong in WRONG:
            yield f"{key}={wrong!r}", {**raw, key: wrong}
        if isinstance(raw[key], dict) and raw[key]:
            for name, inner in change_values(raw[key]):
                yield f"{key}.{name}", {**raw, key: inner}


@pytest.fixture(params=[*sorted(each.name for each in FOREIGN.iterdir() if each.is_dir()), "mbart"])
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[str]]:
    """A model of another toolkit, and the options with which it is imported."""
    if request.param != "mbart":
        return FOREIGN / request.param, []
    for name in ("sentencepiece", "transformers"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    from tests.equal.test_m2m import make

    make(tmp_path / "whole", "mbart")
    return tmp_path / "whole", ["--languages", "en-de"]


@pytest.mark.thorough
def test_a_damaged_model_is_refused_in_one_sentence(
    whole: tuple[Path, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs, out, wrong = tmp_path / "theirs", tmp_path / "m", []
    folder, options = whole
    for file in sorted(folder.iterdir()):
        for what, content in damage(file):
            shutil.rmtree(theirs, ignore_errors=True)
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(folder, theirs)
            (theirs / file.name).unlink()
            if content is not None:
                (theirs / file.name).write_bytes(content)
            code = main(["import", str(theirs), "--out", str(out), *options])
            said = capsys.readouterr().err.strip()
            if code not in (0, 2) or (code == 2 and ("\n" in said or "defect" in said)):
                wrong.append(f"{file.name}, {what}: {code} {said[-300:]}")
            if code == 2 and out.exists():
                wrong.append(f"{file.name}, {what}: a folder is left")
    assert not wrong, "\n".join(wrong)
