"""docs/pronoun.md: what it shows is what its commands print, and what was measured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pronoun import cut
from benchmarks.pronoun_commands import COMMANDS
from benchmarks.pronoun_page import draw_looks, draw_silence, draw_swaps, tell
from benchmarks.pronoun_riddles import Reader, collect
from glassformer.extensions.lab.probing import Probe
from glassformer.translator import Translator

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?"


@pytest.fixture
def measured() -> dict[str, Any]:
    return json.loads((DOCS / "pronoun.json").read_text(encoding="utf-8"))


def read_numbers(line: str) -> list[float]:
    return [float(each.replace(",", "")) for each in re.findall(NUMBER, line)]


def list_places(line: str) -> set[str]:
    """Return the places at which more than two edges are."""
    return {
        place
        for count, place in re.findall(r"(\d+) ((?:at|after) \S+?)(?=,|$)", line)
        if int(count) > 2
    }


def test_the_page_has_what_was_measured(measured: dict[str, Any]) -> None:
    assert tell(measured, "demo") == (DOCS / "pronoun.md").read_text(encoding="utf-8")
    assert {*measured["said"]} == {*COMMANDS}


QUICK = ("noun", "it")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.thorough) for n in COMMANDS]
)
def test_a_command_prints_what_the_page_shows(name: str, measured: dict[str, Any]) -> None:
    """Another processor may find a circuit like it: as large, at the same places."""
    stored, printed = measured["said"][name], COMMANDS[name].run("demo")
    assert len(stored) == len(printed)
    for old, new in zip(stored, printed, strict=True):
        if "where:" in old:
            assert list_places(old) == list_places(new) and "at it" not in new
            continue
        assert re.sub(NUMBER, "#", old) == re.sub(NUMBER, "#", new)
        is_size = old.startswith("Circuit")
        wanted = pytest.approx(read_numbers(old), rel=0.2 if is_size else 0, abs=0.02)
        assert read_numbers(new) == wanted


@pytest.mark.parametrize("draw", [draw_looks, draw_silence, draw_swaps])
def test_its_pictures_are_drawn(draw: Any, measured: dict[str, Any]) -> None:
    scene = draw(measured, "demo")
    assert scene.title in (DOCS / f"pronoun-{draw.__name__[5:]}.svg").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_what_is_masked_costs_what_the_page_says(measured: dict[str, Any]) -> None:
    translator = Translator.load("demo", device="cpu")
    riddles = collect(Reader(translator), measured["riddles"])
    found = cut(Probe(translator, [each.pair for each in riddles]))
    for old, new in zip(measured["cut"], found, strict=True):
        assert old["cut"] == new["cut"]
        assert new["right"] == pytest.approx(old["right"], abs=0.005)
        assert new["odds"] == pytest.approx(old["odds"], abs=0.05)
