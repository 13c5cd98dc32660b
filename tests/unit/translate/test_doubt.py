"""The limit below which a translation is doubted is chosen by held-out text."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.checked import translate_checked

from glassformer.cli import main
from glassformer.evaluate.sentences import score_each
from glassformer.extensions.lab.doubt import DOUBTED, GOOD, calibrate_doubt
from glassformer.model.files.directory import DOUBT, SHIPPED, write_text
from glassformer.translate.familiarity import measure_confidence
from glassformer.translator import Translator
from tools.demo_corpus import pairs

LINES = 240


def load(folder: Path | str) -> Translator:
    return Translator.load(folder, device="cpu", precision="fp32")


@pytest.fixture(scope="module")
def held_out() -> tuple[list[str], list[str]]:
    sources, targets = zip(*pairs("en", "fr", LINES, 7, "test"), strict=True)
    return [*sources], [*targets]


def test_the_limit_leaves_a_share_of_the_good_ones_below(
    held_out: tuple[list[str], list[str]],
) -> None:
    sources, targets = held_out
    translator = load("demo")
    found = calibrate_doubt(translator, sources, [targets])
    judged = [each.best[0] for each in translate_checked(translator, sources)]
    scores = score_each([each.text for each in judged], [targets], metrics=("chrF2",))
    sure = [
        measure_confidence(each)
        for each, score in zip(judged, scores, strict=True)
        if score["chrF2"] >= GOOD
    ]
    below = sum(each < found.confidence for each in sure)
    assert found.good == len(sure) and found.lines == LINES
    assert abs(below - DOUBTED * len(sure)) <= 1


def test_too_little_is_no_calibration(held_out: tuple[list[str], list[str]]) -> None:
    sources, targets = held_out
    with pytest.raises(ValueError, match="are needed: give more text"):
        calibrate_doubt(load("demo"), sources[:20], [targets[:20]])


@pytest.mark.parametrize(("limit", "is_unsure"), [(1.0, True), (0.0, False)])
def test_the_limit_of_the_directory_counts(limit: float, is_unsure: bool, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(SHIPPED / "demo", folder)
    write_text(folder / DOUBT, json.dumps({"confidence": limit}))
    (judged,) = translate_checked(load(folder), ["The cat is on the mat."])
    assert ("unsure" in {each.kind for each in judged.problems}) == is_unsure
    trace = load(folder).see("The cat is on the mat.", level="attention")
    assert ("unsure" in {each["kind"] for each in trace.to_json()["problems"]}) == is_unsure


@pytest.mark.parametrize("damaged", ["", "{}", "[]", '{"confidence": "high"}', "nothing"])
def test_a_damaged_file_is_no_limit(damaged: str, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(SHIPPED / "demo", folder)
    usual = load(folder).checker.familiarity.limit
    write_text(folder / DOUBT, damaged)
    assert load(folder).checker.familiarity.limit == usual


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("My brother zorbles the guitar.", "zorbles"),
        ("My brother zorbles his ZORBLE.", "zorbles"),  # capitals may be an acronym
        ("Zorbling is fun.", ""),  # it may be a name, so it is copied
        ("My name is Zoltán, and 19 cats are at https://zorble.example/q.", ""),
        ("My sister\u2019s friend\u2019s neighbor\u2019s cat is here.", ""),
        ("", ""),
    ],
)
def test_words_that_were_never_met_are_named(text: str, words: str) -> None:
    (judged,) = translate_checked(load("everyday-en-fr"), [text])
    said = [each.said for each in judged.problems if each.kind == "words"]
    assert bool(said) == bool(words) and all(each.endswith(f": {words}") for each in said)


def test_the_command_keeps_it_where_it_is_told(
    held_out: tuple[list[str], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, lines in zip(("a.en", "a.fr"), held_out, strict=True):
        write_text(tmp_path / name, "".join(f"{line}\n" for line in lines))
    shutil.copytree(SHIPPED / "demo", tmp_path / "mine")
    before = sorted(path.name for path in (SHIPPED / "demo").iterdir())
    for model in ("demo", "mine"):
        assert main(["calibrate", model, "a.en", "a.fr"]) == 0
    assert "bad translations are flagged" in capsys.readouterr().out
    assert json.loads((tmp_path / "mine" / DOUBT).read_text("utf-8"))["lines"] == LINES
    assert sorted(path.name for path in (SHIPPED / "demo").iterdir()) == before
