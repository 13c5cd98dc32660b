"""Several models: loaded when asked for, the least recently used put back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from glassformer.extensions.serve.api_error import ApiError
from glassformer.extensions.serve.service import model_pool as module
from glassformer.extensions.serve.service.languages import Languages
from glassformer.extensions.serve.service.model_pool import ModelPool, PooledModel
from glassformer.extensions.serve.service.recordings import Recording, Recordings
from glassformer.model.files.directory import (
    CHARACTERS,
    DOUBT,
    GOLDEN,
    SHIPPED,
    SHORTLIST,
    WEIGHTS,
)
from glassformer.translate.align.alignments import read_golden
from glassformer.translator import Translator


def test_loads_late_and_keeps_few() -> None:
    model_pool = ModelPool(["demo", "demo-fr-en", "demo-en-zh"], device="cpu", loaded=2)
    one, two, three = model_pool.models.values()
    assert not any(map(model_pool.is_loaded, (one, two, three)))
    first = model_pool.load(one)
    model_pool.load(two)
    assert model_pool.load(one) is first
    model_pool.load(three)
    assert [model_pool.is_loaded(model) for model in (one, two, three)] == [True, False, True]


def test_a_model_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    """Deleted or half there, what is in memory goes on."""
    folder = shutil.copytree(SHIPPED / "demo", tmp_path / "m")
    model_pool = ModelPool([folder], device="cpu")
    model = model_pool.default
    first = model_pool.load(model)
    text, weights = ["The cat is on the mat."], (folder / WEIGHTS).read_bytes()
    said = first.translate(text)
    (folder / WEIGHTS).rename(tmp_path / "away")
    assert model_pool.take(model) is first and first.translate(text) == said
    (folder / WEIGHTS).write_bytes(weights[:1000])
    assert model_pool.take(model) is None
    assert model_pool.load(model) is first and model_pool.take(model) is first
    (tmp_path / "away").replace(folder / WEIGHTS)
    second = model_pool.load(model)
    assert second is not first and model_pool.take(model) is second
    assert second.translate(text) == said


def test_a_file_that_is_written_over_is_not_felt(tmp_path: Path) -> None:
    """`cp` keeps the file and changes its bytes: what is mapped would follow."""
    folder = shutil.copytree(SHIPPED / "demo", tmp_path / "m")
    model_pool = ModelPool([folder], device="cpu")
    first, size = model_pool.load(model_pool.default), (folder / WEIGHTS).stat().st_size
    with (folder / WEIGHTS).open("r+b") as file:
        file.write(bytes(size))
    assert model_pool.load(model_pool.default) is first
    assert all(bool(each.any()) for each in first.model.parameters()), "read after that"
    assert first.translate(["The cat is on the mat."]) == ["Le chat est sur le tapis."]


def test_a_model_of_other_languages_does_not_take_its_place(tmp_path: Path) -> None:
    folder = shutil.copytree(SHIPPED / "demo", tmp_path / "m")
    model_pool = ModelPool([folder], device="cpu")
    first = model_pool.load(model_pool.default)
    shutil.copytree(SHIPPED / "demo-fr-en", folder, dirs_exist_ok=True)
    assert model_pool.load(model_pool.default) is first
    other = ModelPool([folder], device="cpu")
    shutil.copytree(SHIPPED / "demo", folder, dirs_exist_ok=True)
    with pytest.raises(ApiError, match="of other languages"):
        other.load(other.default)


def do_first(act: Callable[[], object], work: Callable[..., Any]) -> Callable[..., Any]:
    """Return what does one thing before another."""
    return lambda *inputs, **named: (act(), work(*inputs, **named))[1]


def test_others_are_taken_while_a_model_is_opened_and_hashed(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, blocked = ModelPool(folders[:1], device="cpu"), list[bool]()
    first, second = pool.models.values()
    pool.load(first)

    def take() -> None:
        taking = Thread(target=pool.take, args=(first,))
        taking.start()
        taking.join(5)
        blocked.append(taking.is_alive())

    monkeypatch.setattr(PooledModel, "digest", do_first(take, PooledModel.digest))
    monkeypatch.setattr(module, "open_model", do_first(take, module.open_model))
    pool.load(second)
    assert blocked == [False, False]


def test_a_model_that_is_removed_while_it_is_loaded_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: list[Path]
) -> None:
    pool = ModelPool(folders[:1], device="cpu")
    pool.add(shutil.copytree(SHIPPED / "demo", tmp_path / "mine"), "mine")
    mine = pool.find("mine")
    with monkeypatch.context() as patch:
        patch.setattr(Translator, "load", do_first(lambda: pool.remove("mine"), Translator.load))
        pool.load(mine)
    assert all(map(pool.load, pool.models.values()))
    assert not pool.is_loaded(mine)


def test_a_model_whose_files_change_while_they_are_read_has_no_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(SHIPPED / "demo", tmp_path / "m")
    pool = ModelPool([folder], device="cpu")
    with monkeypatch.context() as patch:
        touch = (folder / WEIGHTS).touch
        patch.setattr(PooledModel, "digest", do_first(touch, PooledModel.digest))
        first = pool.load(pool.default)
    assert pool.identify(first) is None
    second = pool.load(pool.default)
    assert second is not first and pool.identify(second) == pool.default.digest()


@pytest.mark.parametrize("name", [SHORTLIST, DOUBT, CHARACTERS])
def test_a_file_beside_the_weights_makes_another_model(tmp_path: Path, name: str) -> None:
    model = ModelPool([shutil.copytree(SHIPPED / "demo", tmp_path / "m")], device="cpu").default
    digest, stamp = model.digest(), model.stamp()
    (model.folder / name).write_text("other", encoding="utf-8")
    assert model.digest() != digest and model.stamp() != stamp


def test_a_model_says_on_how_many_pairs_it_was_trained() -> None:
    model = ModelPool(["demo"]).default
    assert model.sentences and f"{model.sentences:,}" in model.card


def test_a_model_of_one_language_has_no_pair(tmp_path: Path) -> None:
    folder = tmp_path / "half"
    shutil.copytree(SHIPPED / "demo", folder)
    config = folder / "config.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('target_lang = "fr"', 'target_lang = ""'), encoding="utf-8")
    assert Languages(ModelPool(["demo-fr-en", folder])).codes == ["fr", "en"]


def test_all_that_come_with_the_package() -> None:
    assert {"demo", "demo-fr-en", "demo-en-zh"} <= set(ModelPool().models)


def test_names_may_hold_anything(tmp_path: Path) -> None:
    folders = [tmp_path / "<b>&amp" / "m o", tmp_path / "x" / "m o"]
    for folder in folders:
        shutil.copytree(SHIPPED / "demo", folder)
    model_pool = ModelPool(folders)
    assert [*model_pool.models] == ["m-o", "m-o-2"]
    assert [model.name for model in model_pool.models.values()] == ["m o", "m o"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_golden_lines_that_never_end(tmp_path: Path) -> None:
    folder = shutil.copytree(SHIPPED / "demo", tmp_path / "m")
    (model,) = ModelPool([folder]).models.values()
    assert read_golden(model.folder)
    (folder / GOLDEN).unlink()
    os.mkfifo(folder / GOLDEN)
    assert read_golden(model.folder) == []


def test_no_model() -> None:
    with pytest.raises(ValueError, match="no such folder"):
        ModelPool(["nowhere"])
    with pytest.raises(ApiError, match="did you mean demo"):
        ModelPool(["demo"]).find("dem")


def test_routes() -> None:
    languages = Languages(ModelPool(["demo", "demo-fr-en", "demo-en-zh"]))
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
        tensors = ()

    kept = Recordings(100)
    first, second, third = (Recording(Fake()) for _ in range(3))  # type: ignore[arg-type]
    kept.add(first)
    kept.add(second)
    kept.find(first.id)
    kept.add(third)
    assert {each.id for each in kept.list()} == {first.id, third.id}
    with pytest.raises(ApiError, match="record it again"):
        kept.find(second.id)
