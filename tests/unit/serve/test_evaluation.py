"""/api/models/ID/evaluation: the worst sentences, as the command line keeps them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.extensions.publish.publishing import publish_model
from glassformer.extensions.serve.running import make_service
from glassformer.model.files.directory import SHIPPED

from .conftest import Client, start


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of a small model, with its worst sentences of three."""
    folder = tmp_path / "own"
    shutil.copytree(SHIPPED / "demo-rnn", folder)
    (tmp_path / "test.en").write_text("The cat is old.\nA dog.\nThe zebra.\n", encoding="utf-8")
    (tmp_path / "test.fr").write_text("Le chat est vieux.\nUn chien.\nX\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("test.en", "test.fr")]
    assert main(["evaluate", str(folder), *files, "--worst", "2", "--store", "--device=cpu"]) == 0
    return folder


@pytest.fixture
def own(model: Path) -> Iterator[Client]:
    yield from start(make_service([str(model)], device="cpu"))


def test_what_was_kept_is_served(own: Client, model: Path) -> None:
    found = own.ask("/api/models/own/evaluation").json["evaluation"]
    assert found == json.loads((model / "evaluation.json").read_text(encoding="utf-8"))
    assert found["sentences"] == 3 and found["worst"][0]["line"] == 3
    assert len(found["worst"]) == 2 and found["worst"][0]["source"] == "The zebra."


def test_of_a_model_that_nobody_evaluated_there_is_none(client: Client) -> None:
    assert client.ask("/api/models/demo/evaluation").json == {"evaluation": None}
    assert client.ask("/api/models/nosuch/evaluation").status == 404


def test_test_text_is_not_published(model: Path, tmp_path: Path) -> None:
    found = publish_model(model, tmp_path / "published")
    assert "model.safetensors" in found.files and "evaluation.json" not in found.files
