"""Distillation: the targets are the teachers' translations, and the validation text is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
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


def teach(out: Path, data: list[Path], **settings: Any) -> list[tuple[str, str]]:
    """Train with a teacher and these settings, and return the pairs that were learned."""
    raw = {**SETTINGS, "data": {"source_lang": "en", "target_lang": "fr"}}
    raw["train"] = {**SETTINGS["train"], **settings}
    train(Config.read(raw), data, out, quiet=True, device="cpu", valid=data, teachers=["demo"])
    store, sides = Store.open(out / "run" / "store"), Tokenizers.load(out)
    return [
        (
            sides.source.decode(store.source(pair, 0).tolist()),
            sides.target.decode(store.target(pair, 0).tolist()),
        )
        for pair in range(len(store))
    ]


def test_a_share_of_the_pairs_keeps_its_targets(tmp_path: Path, data: list[Path]) -> None:
    made = dict(zip(SOURCES, Translator.load("demo").translate(SOURCES, decode=BEAM), strict=True))
    own = dict(zip(SOURCES, TARGETS, strict=True))
    pairs = teach(tmp_path / "a", data, teacher_share=0.5)
    assert [source for source, _ in pairs] == SOURCES
    taught = [target == made[source] for source, target in pairs]
    assert 3 < sum(taught) < len(SOURCES) - 3
    assert all(target in (made[source], own[source]) for source, target in pairs)
    assert pairs == teach(tmp_path / "b", data, teacher_share=0.5)
    assert pairs != teach(tmp_path / "c", data, teacher_share=0.5, seed=2)
    both = teach(tmp_path / "d", data, teacher_both=True)
    wanted = [(source, by[source]) for source in SOURCES for by in (made, own)]
    assert both == wanted


def test_the_k_best_and_the_choice_by_minimum_bayes_risk(tmp_path: Path, data: list[Path]) -> None:
    teacher = Translator.load("demo")
    best = teacher.search(SOURCES, decode=BEAM, n_best=3)
    wanted = [
        (source, each.text) for source, found in zip(SOURCES, best, strict=True) for each in found
    ]
    pairs = teach(tmp_path / "a", data, teacher_best=3)
    assert set(pairs) <= set(wanted)  # without those that look wrong, and each once
    assert len(pairs) == len(set(pairs)) > 2 * len(SOURCES)
    chosen = teacher.translate(SOURCES, decode={"search": "beam", "beam": 6, "mbr": 6})
    assert [target for _, target in teach(tmp_path / "b", data, teacher_mbr=6)] == chosen


def test_held_out_pairs_are_not_learned_in_any_way(tmp_path: Path, data: list[Path]) -> None:
    """Each line has several pairs then: the mask of what is held out has to follow."""
    raw = {**SETTINGS, "data": {"source_lang": "en", "target_lang": "fr"}}
    raw["train"] = {**SETTINGS["train"], "teacher_best": 2, "teacher_both": True}
    out = tmp_path / "m"
    train(Config.read(raw), data, out, quiet=True, device="cpu", teachers=["demo"])
    held = (out / "run" / "valid.source").read_text(encoding="utf-8").splitlines()
    store, source = Store.open(out / "run" / "store"), Tokenizers.load(out).source
    learned = {source.decode(store.source(pair, 0).tolist()) for pair in range(len(store))}
    assert held and learned == {*SOURCES} - {*held}


def test_the_teacher_aligns_what_is_learned(tmp_path: Path, data: list[Path]) -> None:
    """Each link is one that `align` prints for the same pair."""
    from glassformer.extensions.alignment.aligner import Aligner
    from glassformer.extensions.ideas.guided_alignment import ALIGNMENTS, WordLinks

    out = tmp_path / "m"
    pairs = teach(out, data, teacher_both=True, alignment_weight=0.1)
    aligner = Aligner.load("demo", pairs).choose(pairs)
    wanted = [sorted(each.links) for each in aligner.align(pairs)]
    links = WordLinks.load(out / "run" / ALIGNMENTS)
    found = [
        sorted((int(a), int(b)) for _, a, b in links.of(np.array([row])))
        for row in range(len(pairs))
    ]
    assert found == wanted and sum(map(len, found)) > len(pairs)


def test_settings_of_a_teacher_that_is_not_there(tmp_path: Path, data: list[Path]) -> None:
    raw = {**SETTINGS, "train": {**SETTINGS["train"], "teacher_share": 0.5}}
    with pytest.raises(ValueError, match="need --teacher MODEL"):
        train(Config.read(raw), data, tmp_path / "m", quiet=True)
    with pytest.raises(ValueError, match="without teacher_best"):
        teach(tmp_path / "m", data, teacher_best=2, teacher_mbr=4)
