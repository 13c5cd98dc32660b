"""When int8 is taken: if it loses next to nothing on the golden translations, measured once."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from glassformer.engine import precision, weights
from glassformer.engine.precision import is_close, measure_excess
from glassformer.foundation.shared_library import load_library
from glassformer.model.files.directory import GOLDEN, WEIGHTS, locate
from glassformer.model.files.weights_file import WeightsFile
from glassformer.translator import Translator

EXACT = np.linspace(-3, -1, 40)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLASSFORMER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("shift", "sway", "wanted"),
    [
        (0.019, 0.0, True),
        (0.021, 0.0, False),
        (-0.021, 0.0, False),
        (0.0, 0.14, True),
        (0.0, 0.16, False),
    ],
)
def test_how_much_may_be_lost(shift: float, sway: float, wanted: bool) -> None:
    """In nats a token: 0.02 of the loss, 0.15 of a token's log-probability; see docs/benchmarks."""
    coarse = EXACT + shift + sway * np.tile([1.0, -1.0], 20)
    found = {"fp32": EXACT, "int8": coarse}
    assert is_close(found.__getitem__, "e") == wanted


def test_what_is_no_number_is_not_close() -> None:
    assert measure_excess(np.full(1, np.nan), EXACT) > 1
    assert measure_excess(np.where(EXACT < -2, -np.inf, EXACT), EXACT) > 1


def test_a_loss_is_measured_once() -> None:
    assert is_close(lambda precision: EXACT, "c")
    assert is_close(lambda precision: pytest.fail("measured again"), "c")


@pytest.mark.skipif(load_library("engine") is None, reason="no library here")
def test_auto_asks_the_golden_translations_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Translator.load("demo").precision == "int8"
    monkeypatch.setattr(weights, "read_examples", lambda *given: [])
    assert Translator.load("demo").precision == "int8"
    (cache / precision.FILE).unlink()
    assert Translator.load("demo").precision == "fp32"


@pytest.mark.skipif(load_library("engine") is None, reason="no library here")
@pytest.mark.parametrize("model", ["demo", "everyday-en-fr"])
def test_without_golden_translations_the_file_decides(tmp_path: Path, model: str) -> None:
    """A model of a browser is int8 already, and has no golden translations."""
    folder = tmp_path / "model"
    shutil.copytree(locate(model), folder)
    is_int8 = WeightsFile(folder / WEIGHTS).is_int8
    assert is_int8 == (model == "everyday-en-fr")
    (folder / GOLDEN).unlink()
    assert Translator.load(folder).precision == ("int8" if is_int8 else "fp32")


@pytest.mark.skipif(load_library("engine") is None, reason="no library here")
def test_what_loses_too_much_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.engine.precision.TOKEN", 1e-9)
    translator = Translator.load("demo")
    assert translator.describe()["precision"] == "auto"
    assert translator.precision == translator.describe()["precision"] == "fp32"


@pytest.mark.parametrize("content", ["", "[]", "{", '{"k": 3}', '{"k": {"fp32": "x"}}'])
def test_a_damaged_memory_is_none(cache: Path, content: str) -> None:
    cache.mkdir()
    (cache / precision.FILE).write_text(content, encoding="utf-8")
    assert not precision.recall("k")
    precision.remember("k", {"fp32": 1.5})
    assert precision.recall("k") == {"fp32": 1.5}


def test_a_folder_that_cannot_be_written_does_no_harm(cache: Path) -> None:
    cache.write_text("a file, not a folder", encoding="utf-8")
    precision.remember("k", {"fp32": 1.0})
    assert precision.recall("k") is None


def test_an_unknown_home_folder_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(precision, "find_cache", find_no_home)
    precision.remember("k", {"fp32": 1.0})
    assert precision.recall("k") is None
