"""Which validation is the best, and how long a training goes on without a better one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glassformer.train import train
from glassformer.train.run import selection, validation
from glassformer.train.run.validation import Validation

from .conftest import Settings


def run(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, corpus: list[Path], out: Path, **how: Any
) -> dict[str, Any]:
    """Train, with validations that say these scores one after the other; the last progress."""
    scores = iter(how.pop("scores"))

    def validate(*given: Any, **named: Any) -> Validation:
        bleu = next(scores)
        return Validation({"BLEU": bleu, "chrF2": 2 * bleu}, 9 - bleu, {"a": "b"}, "signature", 4)

    monkeypatch.setattr(validation, "validate", validate)
    monkeypatch.setattr(selection, "ENOUGH_TO_CHOOSE", 1)
    config = settings(steps=8, validate_every=1, **how)
    train(config, corpus, out, quiet=True)
    last = max((out / "run/checkpoints").iterdir())
    found: dict[str, Any] = json.loads((last / "progress.json").read_text(encoding="utf-8"))
    return found


SCORES = [5.0, 6.0, 6.0, 5.0, 7.0, 6.0, 6.0, 8.0]


@pytest.mark.parametrize(
    ("patience", "best_by", "steps", "best_step"),
    [(1, "bleu", 3, 2), (2, "chrf", 4, 2), (3, "loss", 8, 8), (None, "bleu", 8, 8)],
)
def test_a_training_ends_after_so_many_validations_without_a_better_one(
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    corpus: list[Path],
    tmp_path: Path,
    patience: int | None,
    best_by: str,
    steps: int,
    best_step: int,
) -> None:
    """One that is as good as the best is none: the earlier model stays."""
    how: dict[str, Any] = {"scores": SCORES, "patience": patience, "best_by": best_by}
    found = run(monkeypatch, settings, corpus, tmp_path / "out", **how)
    assert (found["step"], found["best_step"]) == (steps, best_step)
    assert found["scores"]["BLEU"] == SCORES[best_step - 1]
