"""Distillation: the targets are the teachers' translations, and the validation text is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from glassformer import Config, Translator
from glassformer.cli import main
from glassformer.data.store import Store
from glassformer.model.files.directory import Tokenizers, load_model, save_model
from glassformer.train import resume, train
from glassformer.train.publish.card import read_facts
from glassformer.train.start import Summary

from .conftest import SETTINGS, Settings

NOUNS = ["cat", "dog", "man", "woman", "child", "bird", "horse", "king", "queen", "girl"]
SOURCES = [f"The {noun} is {word}." for noun in NOUNS for word in ("tired", "old")]
TARGETS = [f"{number}" for number in range(len(SOURCES))]  # nothing that a teacher would say
BEAM = {"search": "beam", "beam": 4}


@pytest.fixture
def data(tmp_path: Path) -> list[Path]:
    return write_data(tmp_path, SOURCES)


def write_data(folder: Path, sources: list[str]) -> list[Path]:
    paths = [folder / "a.en", folder / "a.fr"]
    for path, lines in zip(paths, (sources, TARGETS), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths


def run(out: Path, data: list[Path], **how: Any) -> Summary:
    raw = {**SETTINGS, "data": {"source_lang": "en", "target_lang": "fr"}}
    return train(Config.read(raw), data, out, quiet=True, device="cpu", **how)


def read_targets(out: Path) -> list[str]:
    store, target = Store.open(out / "run" / "store"), Tokenizers.load(out).target
    return [target.decode(store.target(pair, 0).tolist()) for pair in range(len(store))]


def test_the_targets_are_those_of_the_teacher(tmp_path: Path, data: list[Path]) -> None:
    """Held-out pairs keep the targets that people wrote; the card names the teacher."""
    out = tmp_path / "student"
    run(out, data, teachers=["demo"])
    held, wanted = (
        (out / "run" / f"valid.{side}").read_text(encoding="utf-8").splitlines()
        for side in ("source", "target")
    )
    assert held and wanted == [TARGETS[SOURCES.index(source)] for source in held]
    rest = [source for source in SOURCES if source not in held]
    assert read_targets(out) == Translator.load("demo").translate(rest, decode=BEAM)
    facts = read_facts(out)
    (teacher,) = facts["teachers"]
    assert teacher.keys() == {"name", "sha256"}  # not where it is on this machine
    assert teacher["name"] == "demo"
    assert facts["data"][1]["lines"] == len(TARGETS)
    assert "translations of demo (weights" in (out / "card.md").read_text(encoding="utf-8")


def test_two_teachers_are_an_ensemble(tmp_path: Path, data: list[Path]) -> None:
    config, tokenizers, network = load_model("demo")
    weights = {name: 0.9 * x for name, x in network.state_dict().items()}
    save_model(tmp_path / "other", config, tokenizers, weights)
    teachers = ["demo", str(tmp_path / "other")]
    out = tmp_path / "student"
    run(out, data, valid=data, teachers=teachers)
    assert read_targets(out) == Translator.load(teachers).translate(SOURCES, decode=BEAM)


def test_changed_data_are_translated_anew(tmp_path: Path, data: list[Path]) -> None:
    """A line without letters has no translation, and is left out."""
    out = tmp_path / "student"
    run(out, data, valid=data, teachers=["demo"])
    changed = [*SOURCES[:-2], "The cow sleeps.", ""]
    write_data(tmp_path, changed)
    with pytest.raises(ValueError, match="changed since this training began"):
        resume(out, quiet=True, changes=["train.steps=7"], accept_changed_settings=True)
    how: dict[str, Any] = {"accept_changed_settings": True, "accept_changed_data": True}
    assert resume(out, quiet=True, changes=["train.steps=7"], **how).progress.step == 7
    assert read_targets(out) == Translator.load("demo").translate(changed[:-1], decode=BEAM)


def test_what_cannot_teach(tmp_path: Path, data: list[Path], settings: Settings) -> None:
    links = tmp_path / "links"
    links.write_text("0-0\n" * len(SOURCES), encoding="utf-8")
    for teacher, said in (
        ("demo-fr-en", "demo-fr-en translates fr-en, but the data are en-fr"),
        ("demo-lm", "demo-lm is a language model, which does not translate"),
        ("nowhere", "nowhere: no such folder"),
    ):
        with pytest.raises(ValueError, match=said):
            run(tmp_path / "m", data, teachers=[teacher])
    assert not (tmp_path / "m").exists()
    given = ["train", *map(str, data), "--out", str(tmp_path / "m"), "--teacher", "demo"]
    assert main([*given, "--alignments", str(links), "--alignment-weight", "0.1"]) == 2
    assert main([*given, "--network", "decoder"]) == 2
