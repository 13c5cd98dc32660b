"""An import says whether a sentence is translated, or read as noise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.equal.test_exports import make

from glassformer.cli import main
from glassformer.extensions.bridge.importing import import_model
from glassformer.extensions.bridge.transformers import export_transformers

SENTENCE = "The cat is on the mat."


def test_a_model_that_translates(tmp_path: Path) -> None:
    export_transformers("demo", tmp_path / "hf", texts=[SENTENCE])
    found = import_model(tmp_path / "hf", tmp_path / "m", texts=[SENTENCE]).plausibility
    assert found is not None and not found.is_noise
    assert found.sentence == SENTENCE and found.translation.startswith("Le chat")


@pytest.mark.parametrize("shift", [1, 5])
def test_a_model_whose_tokens_have_other_ids(shift: int, tmp_path: Path) -> None:
    export_transformers("demo", tmp_path / "hf", texts=[SENTENCE])
    path = tmp_path / "hf" / "tokenizer.json"
    found = json.loads(path.read_text("utf-8"))
    ids = found["model"]["vocab"]
    names = sorted(ids, key=ids.get)
    turned = names[:259] + names[259 + shift :] + names[259 : 259 + shift]
    found["model"]["vocab"] = {name: id for id, name in enumerate(turned)}
    path.write_text(json.dumps(found), "utf-8")
    imported = import_model(tmp_path / "hf", tmp_path / "m", texts=[SENTENCE])
    assert imported.plausibility is not None and imported.plausibility.is_noise
    assert "this looks like noise" in str(imported)


def test_random_weights_are_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export_transformers(make(tmp_path, "pre"), tmp_path / "hf")
    (tmp_path / "text").write_text("a mat\n", "utf-8")
    command = ["import", str(tmp_path / "hf"), "--out", str(tmp_path / "m"), "--json"]
    assert main([*command, "--source", str(tmp_path / "text")]) == 0
    (found,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert found["plausibility"]["is_noise"] is True
    assert found["plausibility"]["sentence"] == "a mat"
