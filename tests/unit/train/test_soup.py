"""The mean of the weights of several models that started from one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from glassformer.cli import main
from glassformer.extensions.averaging import soup
from glassformer.extensions.averaging.soup import make_soup
from glassformer.extensions.publish.publishing import publish_model
from glassformer.model.files.tensors import load_tensors
from glassformer.train import train
from glassformer.train.publish.card import read_facts
from glassformer.train.publish.health import examine_model
from glassformer.translator import Translator

from .conftest import LINES, Settings, write_pairs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> Path:
    """Return a folder with two models from one parent, and one from nothing."""
    folder = tmp_path_factory.mktemp("soup")
    corpus = write_pairs(folder, "a", [f"{line} {number}" for line in LINES for number in range(9)])
    valid = write_pairs(folder, "b", LINES)  # held out by the seed, the tokens would differ
    train(settings(seed=1), corpus, folder / "parent", valid=valid, quiet=True)
    for seed in (2, 3):
        config, out = settings(seed=seed, steps=40), folder / f"child-{seed}"
        train(config, corpus, out, parent=folder / "parent", valid=valid, quiet=True)
    train(settings(seed=4), corpus, folder / "stranger", valid=valid, quiet=True)
    return folder


def test_a_soup_has_the_mean_of_the_weights(folder: Path, tmp_path: Path) -> None:
    children = [folder / "child-2", folder / "child-3"]
    make_soup(children, tmp_path / "soup")
    one, two, mean = (
        load_tensors(each / "model.safetensors") for each in (*children, tmp_path / "soup")
    )
    assert one.keys() == mean.keys()
    assert any(not torch.equal(one[name], two[name]) for name in one)
    for name, tensor in mean.items():
        expected = (one[name].double() + two[name].double()) / 2
        torch.testing.assert_close(tensor.double(), expected, rtol=1e-6, atol=1e-7)
    assert not [each for each in examine_model(tmp_path / "soup") if each.is_wrong]
    facts = read_facts(tmp_path / "soup")
    assert [each["name"] for each in facts["soup"]] == ["child-2", "child-3"]
    assert facts["parent"]["name"] == "parent" and len(facts["data"]) == 2
    assert "- child-2: sha256" in (tmp_path / "soup" / "card.md").read_text(encoding="utf-8")


def test_a_soup_is_published_and_trained_from(
    folder: Path, tmp_path: Path, settings: Settings
) -> None:
    make_soup([folder / "child-2", folder / "child-3"], tmp_path / "soup")
    publish_model(tmp_path / "soup", tmp_path / "published", int8=True)
    assert not [each for each in examine_model(tmp_path / "published") if each.is_wrong]
    Translator.load(tmp_path / "published").translate("one")
    readme = (tmp_path / "published" / "README.md").read_text(encoding="utf-8")
    assert "the mean of 2 models' (a model soup)" in readme
    corpus = [folder / "a.en", folder / "a.xx"]
    train(settings(), corpus, tmp_path / "next", parent=tmp_path / "soup", quiet=True)
    assert read_facts(tmp_path / "next")["parent"]["parent"]["name"] == "parent"


def test_models_of_other_starts_or_tokens_are_refused(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "soup"
    for models, message in (
        ([folder / "child-2"], "two models or more"),
        ([folder / "child-2", folder / "stranger"], "did not start from one model"),
        (["demo", folder / "child-2"], "has other tokens than"),
    ):
        with pytest.raises(ValueError, match=message):
            make_soup(models, out)
        assert not out.exists()
    with pytest.raises(ValueError, match="is there already"):
        make_soup([folder / "child-2", folder / "child-3"], folder)


def test_nothing_is_left_of_an_interrupted_soup(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(soup, "_write_card", stop)
    with pytest.raises(KeyboardInterrupt):
        make_soup([folder / "child-2", folder / "child-3"], tmp_path / "soup")
    assert [*tmp_path.iterdir()] == []


def test_a_model_without_words_or_card_is_averaged(folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(folder / "child-2", bare, ignore=shutil.ignore_patterns("run"))
    for name in ("card.md", "golden.json", "words.txt"):
        (bare / name).unlink(missing_ok=True)
    make_soup([bare, folder / "child-3"], tmp_path / "soup")
    assert Translator.load(tmp_path / "soup").translate(["one", ""])[1] == ""


def test_the_command_takes_models_or_a_run(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = [str(folder / "child-2"), str(folder / "child-3")]
    assert main(["average", *models, "--out", str(tmp_path / "soup")]) == 0
    assert "the mean of the weights of 2 models" in capsys.readouterr().out
    assert main(["average", *models, "--last", "2", "--out", str(tmp_path / "other")]) == 2
    assert "of one training" in capsys.readouterr().err
