"""What doctor finds: planted damage and machines that lack something."""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from glassformer.foundation.machine.device import count_cores
from glassformer.foundation.machine.properties import Machine, list_versions, look_at_machine
from glassformer.model.files.tensors import load_tensors, save_tensors
from glassformer.train.publish.card import read_facts, write_card
from glassformer.train.publish.health import HealthFinding, examine_machine, examine_model
from glassformer.train.run.checkpoint import MOMENTS, examine_checkpoints

GOOD = Machine("a processor", 4, 4, "AVX512", True, True, "cpu", (), 16.0, 100.0, False)
VERSIONS = {"torch": "2.13", "tensorboard": "2.2", "sacremoses": "0.1", "ctranslate2": "4.8"}


@pytest.fixture
def model(tmp_path: Path, parent: Path) -> Path:
    return Path(shutil.copytree(parent, tmp_path / "m"))


def find(findings: list[HealthFinding], about: str) -> HealthFinding:
    return next(each for each in findings if each.about == about)


def test_a_good_machine_needs_no_advice() -> None:
    assert not [each for each in examine_machine(GOOD, VERSIONS) if each.advice or each.is_wrong]


@pytest.mark.parametrize(
    ("machine", "about", "said"),
    [
        (replace(GOOD, threads=1), "threads", "unset OMP_NUM_THREADS to use all 4 cores"),
        (replace(GOOD, threads=64), "threads", "set OMP_NUM_THREADS=4"),
        (replace(GOOD, has_bf16=False), "precision", "training takes fp32"),
        (replace(GOOD, has_nvidia_driver=True), "GPU", "install torch for CUDA"),
        (replace(GOOD, memory=1.0), "memory", "lower train.batch_tokens"),
        (replace(GOOD, memory=None), "memory", "does not tell"),
        (replace(GOOD, disk=0.5), "free disk", "make room"),
    ],
)
def test_what_a_machine_lacks_is_said(machine: Machine, about: str, said: str) -> None:
    finding = find(examine_machine(machine, VERSIONS), about)
    assert said in f"{finding.said} {finding.advice}"


def test_what_is_not_installed_is_said_with_its_extra() -> None:
    finding = find(examine_machine(GOOD, {**VERSIONS, "sacremoses": None}), "sacremoses")
    assert finding.advice.endswith('pip install "glassformer[moses]"')


def test_this_machine_can_be_looked_at(tmp_path: Path) -> None:
    machine, versions = look_at_machine(tmp_path), list_versions()
    assert machine.cores == count_cores() >= 1 and machine.disk > 0 and machine.processor
    assert json.loads(json.dumps(machine.to_json()))["threads"] == machine.threads
    assert versions["torch"] and versions["glassformer"]


def test_a_whole_model_is_well(model: Path) -> None:
    findings = examine_model(model)
    assert not [each for each in findings if each.is_wrong]
    for name in ("model.safetensors", "config.toml", "tokenizer.json"):
        assert find(findings, name).said.endswith("as card.md says")
    assert "as it did" in find(findings, "golden").said
    assert " parameters, " in find(findings, "loading").said


def test_weights_that_are_no_numbers_are_found(model: Path) -> None:
    tensors = load_tensors(model / "model.safetensors")
    name = sorted(tensors)[1]
    tensors[name].view(-1)[3] = math.nan
    save_tensors(model / "model.safetensors", tensors)
    finding = find(examine_model(model), "loading")
    assert finding.is_wrong and name in finding.said


def test_a_file_of_a_terabyte_is_not_read(model: Path) -> None:
    """A sparse file takes no room on the disk, and hours to read."""
    (checkpoint,) = (model / "run/checkpoints").iterdir()
    files = [model / "model.safetensors", model / "golden.json", checkpoint / MOMENTS]
    for path in files:
        os.truncate(path, 1 << 40)
    begun = time.monotonic()
    findings = examine_model(model)
    assert time.monotonic() - begun < 60
    assert all(find(findings, path.name).is_wrong for path in files[:2])
    for path in files[:2]:
        path.unlink()
    shutil.copy(checkpoint / "weights.safetensors", model / "model.safetensors")
    finding = find([*examine_checkpoints(model)], f"checkpoint {int(checkpoint.name):,}")
    assert finding.is_wrong and f"{MOMENTS} is not as it was written" in finding.said


def test_the_checkpoints_of_a_training_are_looked_at(model: Path) -> None:
    """Damaged ones are told from whole ones, the only one from one with another before it."""
    (last,) = (model / "run/checkpoints").iterdir()
    about = f"checkpoint {int(last.name):,}"
    assert "as it was written" in find([*examine_checkpoints(model)], about).said
    former = last.with_name("00000001")
    shutil.copytree(last, former)
    turn_a_bit(last / "weights.safetensors")
    found = find([*examine_checkpoints(model)], about)
    assert found.is_wrong and "weights.safetensors is not as it was written" in found.said
    assert "takes the one before" in found.advice
    assert not find([*examine_checkpoints(model)], "checkpoint 1").is_wrong
    shutil.rmtree(former)
    assert "begin anew" in find([*examine_checkpoints(model)], about).advice
    last.rename(last.with_name(f"{last.name}.damaged"))
    assert find([*examine_checkpoints(model)], f"{last.name}.damaged").advice


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def cut_in_a_fact(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.read_bytes().index(b"{") + 9])


def turn_a_bit(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[-2] ^= 0x40
    path.write_bytes(raw)


def expect_other(path: Path) -> None:
    golden = json.loads(path.read_text(encoding="utf-8"))
    golden["lines"][0]["log_prob"] -= 0.5
    path.write_text(json.dumps(golden), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "damage", "about", "said"),
    [
        ("model.safetensors", cut, "loading", "damaged"),
        ("model.safetensors", turn_a_bit, "model.safetensors", "has changed since it was made"),
        ("model.safetensors", Path.unlink, "model.safetensors", "missing get it anew"),
        ("config.toml", cut, "config.toml", "has changed"),
        ("tokenizer.json", Path.unlink, "loading", "tokenizer.json"),
        ("golden.json", expect_other, "golden", "line 1 has log-probability"),
        ("golden.json", cut, "golden", "damaged"),
        ("card.md", cut_in_a_fact, "facts", "not a fact of the form name: JSON get it anew"),
    ],
)
def test_damage_is_found(
    model: Path, name: str, damage: Callable[[Path], None], about: str, said: str
) -> None:
    damage(model / name)
    finding = find(examine_model(model), about)
    assert finding.is_wrong and said in f"{finding.said} {finding.advice}"


@pytest.mark.parametrize("is_other", [False, True])
def test_what_was_set_aside_may_stand_elsewhere(model: Path, is_other: bool) -> None:
    """The head that places it may be chosen on the golden lines, once they are written."""
    path = model / "golden.json"
    golden = json.loads(path.read_text(encoding="utf-8"))
    words = golden["lines"][0]["translation"].split()
    assert len(words) > 1
    golden["lines"][0]["translation"] = " ".join(words[1:] + (["x"] if is_other else words[:1]))
    path.write_text(json.dumps(golden), encoding="utf-8")
    assert find(examine_model(model), "golden").is_wrong == is_other


def test_other_weights_translate_otherwise(model: Path) -> None:
    """Whole files, but not those that the golden translations are from."""
    from safetensors.torch import load_file

    from glassformer.model.files.tensors import load_tensors, save_tensors

    path = model / "model.safetensors"
    weights = load_tensors(path)
    assert load_file(path).keys() <= weights.keys()
    for name in ("decoder.0.feed_forward.outer.weight", "decoder.0.feed_forward.inner.weight"):
        weights[name] = weights[name].flip(0)
    save_tensors(path, weights)
    assert find(examine_model(model), "golden").is_wrong


@pytest.mark.parametrize("name", ["alignment.json", "heads.json", "evaluation.json"])
def test_damaged_measurements_are_found(model: Path, name: str) -> None:
    (model / name).write_text('{"layer": ', "utf-8")
    finding = find(examine_model(model), name)
    assert finding.is_wrong and "damaged" in finding.said


def test_without_card_and_golden_it_is_no_defect(model: Path) -> None:
    (model / "card.md").unlink()
    (model / "golden.json").unlink()
    assert not [each for each in examine_model(model) if each.is_wrong]


def test_no_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nosuch: no such folder"):
        examine_model(tmp_path / "nosuch")


def test_the_facts_of_a_card_come_back(model: Path, tmp_path: Path) -> None:
    facts = read_facts(model)
    assert facts["scores"].keys() == {"BLEU", "chrF2", "loss"}
    write_card(tmp_path, facts)
    assert (tmp_path / "card.md").read_bytes() == (model / "card.md").read_bytes()
    assert read_facts(tmp_path / "nowhere") == {}
    (tmp_path / "card.md").write_text("# A card of another kind\n", encoding="utf-8")
    assert read_facts(tmp_path) == {}
    (tmp_path / "card.md").write_text("---\nname: no JSON\n---\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"card\.md, line 2"):
        read_facts(tmp_path)
