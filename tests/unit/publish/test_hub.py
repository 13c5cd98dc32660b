"""Models on the hub: fetched once, pushed whole, and what the hub refuses in one sentence."""

from __future__ import annotations

import inspect
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from glassformer import Translator
from glassformer.cli import main
from glassformer.foundation.hub import fetch_model, name_model
from glassformer.model.files.directory import SHIPPED, open_model


class FakeHub(ModuleType):
    """The functions of huggingface_hub that are called, on a folder in the place of the hub."""

    def __init__(self, folder: Path) -> None:
        super().__init__("huggingface_hub")
        self.folder, self.fetched = folder, list[str]()

    def snapshot_download(self, repo_id: str, *, allow_patterns: list[str]) -> str:
        self.fetched.append(repo_id)
        if repo_id != "me/demo":
            raise RuntimeError(f"404 Client Error.\n\nRepository Not Found: {repo_id}")
        assert {"*.safetensors", "*.toml", "*.json"} <= {*allow_patterns}
        home = self.folder / "models--me--demo" / "snapshots" / "0f1e2d"  # as in its cache
        shutil.copytree(SHIPPED / "demo", home, dirs_exist_ok=True)
        return str(home)

    def create_repo(self, repo_id: str, *, exist_ok: bool) -> str:
        assert exist_ok
        (self.folder / repo_id).mkdir(parents=True)
        return f"https://hub.example/{repo_id}"

    def upload_folder(self, *, repo_id: str, folder_path: str) -> None:
        for path in Path(folder_path).iterdir():
            (self.folder / repo_id / path.name).write_bytes(path.read_bytes())


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    made = FakeHub(tmp_path / "hub")
    monkeypatch.setitem(sys.modules, "huggingface_hub", made)
    fetch_model.cache_clear()
    return made


def test_the_functions_are_those_of_the_library() -> None:
    theirs: Any = pytest.importorskip("huggingface_hub")
    for name in ("snapshot_download", "create_repo", "upload_folder"):
        taken = [*inspect.signature(getattr(FakeHub, name)).parameters][1:]
        assert {*taken} <= {*inspect.signature(getattr(theirs, name)).parameters}, name


def test_a_model_is_fetched_once(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    translator = Translator.load("hub:me/demo", device="cpu")
    assert translator.translate("I am a student.") == "Je suis \u00e9tudiant."
    assert main(["info", "hub:me/demo"]) == 0
    assert hub.fetched == ["me/demo"]


def test_a_fetched_model_is_shown_by_its_name(hub: FakeHub, tmp_path: Path) -> None:
    """Not by the commit after which the cache names its folder."""
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    from glassformer.extensions.serve.service.model_pool import ModelPool

    assert [each.name for each in ModelPool(["hub:me/demo"]).models.values()] == ["demo"]
    assert name_model(tmp_path / "models--me--a--b" / "snapshots" / "1") == "a--b"
    assert name_model(tmp_path / "models--a" / "snapshots" / "1") == "a"
    assert name_model(tmp_path / "snapshots" / "one") == "one"


def test_what_the_hub_refuses_is_one_sentence(hub: FakeHub) -> None:
    said = r"^hub:me/none: 404 Client Error\. Repository Not Found: me/none$"
    with pytest.raises(ValueError, match=said):
        open_model("hub:me/none")


def test_a_published_folder_is_pushed(
    hub: FakeHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["publish", "demo", "--out", str(tmp_path / "copy"), "--push", "me/copy"]
    assert main(words) == 0
    assert "https://hub.example/me/copy" in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "copy").iterdir()}
    assert names == {path.name for path in (hub.folder / "me/copy").iterdir()}
    assert Translator.load(hub.folder / "me/copy").translate("I am a student.")
    words[3:] = [str(tmp_path / "again"), "--push", "me/again", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["address"].endswith("me/again")


def test_without_the_library_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    fetch_model.cache_clear()
    out = tmp_path / "copy"
    assert main(["publish", "demo", "--out", str(out), "--push", "me/copy"]) == 2
    assert "pip install 'glassformer[hub]'" in capsys.readouterr().err and not out.exists()
    assert main(["info", "hub:me/demo"]) == 2
    assert "pip install 'glassformer[hub]'" in capsys.readouterr().err
