"""Habits of heads: what was measured names them, wherever a head is shown."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from glassformer.extensions.circuits.report import spell_node
from glassformer.model.files.directory import HEADS, locate
from glassformer.see import Trace
from glassformer.see.habits import CROSS, OWN, list_habits, tell_habit
from glassformer.see.summary import summarise
from glassformer.translator import Translator

TEXT = "My sister is a doctor, and she works in the city."


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Translator.load("everyday-en-fr", device="cpu", precision="fp32").see(TEXT)


@pytest.mark.parametrize("model", ["demo", "everyday-en-fr", "everyday-fr-en"])
def test_a_habit_is_much_and_far_above_an_even_share(model: str) -> None:
    folder = locate(model)
    measured = json.loads((folder / HEADS).read_text(encoding="utf-8"))["blocks"]
    found = list_habits(folder)
    assert found.keys() == measured.keys()
    for name, block in measured.items():
        kinds = CROSS if "cross" in name else OWN
        for head, habit in zip(block["heads"], found[name], strict=True):
            shares = dict(zip(kinds[:-1], head["reads"], strict=False))
            even = dict(zip(kinds, block["even"], strict=True))
            most = max(shares, key=shares.__getitem__)
            is_marked = shares[most] >= 0.3 and shares[most] >= 2 * even[most]
            assert habit == (most if is_marked else None)
    assert any(map(any, found.values()))


def test_a_recording_carries_the_habits_of_its_model(trace: Trace, tmp_path: Path) -> None:
    habits = list_habits(locate("everyday-en-fr"))
    assert trace.document.habits == habits
    trace.save(tmp_path / "trace")
    assert Trace.load(tmp_path / "trace").document.habits == habits


def test_a_model_that_nobody_measured_has_none(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(locate("everyday-en-fr"), folder)
    (folder / HEADS).unlink()
    trace = Translator.load(folder, device="cpu", precision="fp32").see("A dog.", level="attention")
    assert trace.document.habits == {}
    assert "layer 2, head 1: what each token reads" in summarise(trace, layer=2, head=1)


def test_each_kind_has_a_name_in_both_languages() -> None:
    for block, kinds in (("encoder.0.self_attention", OWN), ("decoder.0.cross_attention", CROSS)):
        for kind in kinds:
            english, chinese = (
                tell_habit({block: [None, kind]}, block, 1, at) for at in ("en", "zh")
            )
            assert re.fullmatch("[a-z ]+", english) and re.fullmatch("[\u4e00-\u9fff]+", chinese)
        assert tell_habit({block: [None, "mark"]}, block, 0) == ""
        assert tell_habit({block: [None, "mark"]}, block, 2) == ""


def test_see_and_why_name_a_head_by_its_habit(trace: Trace) -> None:
    assert ", layer 2, head 1: token being translated: what" in summarise(trace, layer=2, head=1)
    why = type("Answer", (), {"trace": trace})
    name = "encoder.2.self_attention.3.key"
    assert spell_node(why, name) == "encoder 2 self-attention, head 3 (previous token), key"
    assert spell_node(why, "encoder.2.self_attention.1") == "encoder 2 self-attention, head 1"


@pytest.mark.parametrize("id", ["V42", "V49", "V50", "V51"])
def test_pictures_name_a_head_by_its_habit(trace: Trace, id: str) -> None:
    chosen = {"V49": {"head": 3}}.get(id, {})
    chosen |= {"V42": {"heads": [0, 3]}, "V50": {"heads": [0, 3]}}.get(id, {})
    for lang, habit in (("en", "ead 3: previous token"), ("zh", "头 3：前一个词元")):
        scene = trace.picture(id, layer=2, lang=lang, **chosen).scene
        assert habit in " ".join(
            [scene.description, *(getattr(m, "text", "") for m in scene.marks)]
        )
