"""Several models: loaded when asked for, the least recently used put back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.directory import GOLDEN, SHIPPED, WEIGHTS
from glassformer.serve.languages import Languages
from glassformer.serve.recordings import Recording, Recordings
from glassformer.serve.refusal import Refusal
from glassformer.serve.shelf import Shelf


def test_loads_late_and_keeps_few() -> None:
    shelf = Shelf(["demo", "demo-fr-en", "demo-en-zh"], device="cpu", loaded=2)
    one, two, three = shelf.models.values()
    assert not any(map(shelf.is_loaded, (one, two, three)))
    first = shelf.load(one)
    shelf.load(two)
    assert shelf.load(one) is first
    shelf.load(three)
    assert [shelf.is_loaded(model) for model in (one, two, three)] == [True, False, True]


def test_a_model_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    """Deleted or half there, what is in memory goes on."""
    folder = shutil.copytree(SHIPPED / "demo", tmp_path / "m")
    shelf = Shelf([folder], device="cpu")
    model = shelf.default
    first = shelf.load(model)
    text, weights = ["The cat is on the mat."], (folder / WEIGHTS).read_bytes()
    said = first.translate(text)
    (folder / WEIGHTS).rename(tmp_path / "away")
    assert shelf.take(model) is first and first.translate(text) == said
    (folder / WEIGHTS).write_bytes(weights[:1000])
    assert shelf.take(model) is None
    assert shelf.load(model) is first and shelf.take(model) is first
    (tmp_path / "away").replace(folder / WEIGHTS)
    second = shelf.load(model)
    assert second is not first and shelf.take(model) is second
    assert second.translate(text) == said


def test_a_model_of_other_languages_does_not_take_its_place(tmp_path: Path) -> None:
    folder = shutil.copytree(SHIPPED / "demo", tmp_path / "m")
    shelf = Shelf([folder], device="cpu")
    first = shelf.load(shelf.default)
    shutil.copytree(SHIPPED / "demo-fr-en", folder, dirs_exist_ok=True)
    assert shelf.load(shelf.default) is first
    other = Shelf([folder], device="cpu")
    shutil.copytree(SHIPPED / "demo", folder, dirs_exist_ok=True)
    with pytest.raises(Refusal, match="of other languages"):
        other.load(other.default)


def test_all_that_come_with_the_package() -> None:
    assert {"demo", "demo-fr-en", "demo-en-zh"} <= set(Shelf().models)


def test_names_may_hold_anything(tmp_path: Path) -> None:
    folders = [tmp_path / "<b>&amp" / "m o", tmp_path / "x" / "m o"]
    for folder in folders:
        shutil.copytree(SHIPPED / "demo", folder)
    shelf = Shelf(folders)
    assert [*shelf.models] == ["m-o", "m-o-2"]
    assert [model.name for model in shelf.models.values()] == ["m o", "m o"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_golden_lines_that_never_end(tmp_path: Path) -> None:
    folder = shutil.copytree(SHIPPED / "demo", tmp_path / "m")
    (model,) = Shelf([folder]).models.values()
    assert model.read_golden()
    (folder / GOLDEN).unlink()
    os.mkfifo(folder / GOLDEN)
    assert model.read_golden() == []


def test_no_model() -> None:
    with pytest.raises(ValueError, match="is no model directory"):
        Shelf(["nowhere"])
    with pytest.raises(Refusal, match="did you mean demo"):
        Shelf(["demo"]).find("dem")


def test_routes() -> None:
    languages = Languages(Shelf(["demo", "demo-fr-en", "demo-en-zh"]))
    ids = {
        pair: [model.id for model in languages.find_route(*pair) or ()]
        for pair in (("en", "fr"), ("fr", "zh"), ("en", "en"))
    }
    assert ids == {
        ("en", "fr"): ["demo"],
        ("fr", "zh"): ["demo-fr-en", "demo-en-zh"],
        ("en", "en"): [],
    }
    assert languages.find_route("zh", "en") is None
    assert languages.find("zh-Hans") == "zh" and languages.find("EN_us") == "en"


def test_recordings_leave_when_there_is_no_room() -> None:
    class Fake:
        size = 40

    kept = Recordings(100)
    first, second, third = (Recording(Fake()) for _ in range(3))  # type: ignore[arg-type]
    kept.add(first)
    kept.add(second)
    kept.find(first.id)
    kept.add(third)
    assert {each.id for each in kept.list()} == {first.id, third.id}
    with pytest.raises(Refusal, match="record it again"):
        kept.find(second.id)
