"""Gradients of ln p: against differences, and against what they must sum to."""

from __future__ import annotations

import pytest
import torch

from glassformer.extensions.lab.contributions import attribute_gradients, score_copies
from glassformer.see import record
from glassformer.translator import Translator

TEXT = "the cat is on a tree"
ROWS = [1, 2]


@pytest.mark.parametrize("edits", [[], [{"do": "cut", "word": "on"}]])
def test_integrated_gradients_are_complete(translator: Translator, edits: list[dict]) -> None:  # type: ignore[type-arg]
    trace = record(translator, TEXT, edits=edits)
    found = attribute_gradients(translator, trace, ROWS)
    assert found.log_prob == pytest.approx(
        sum(trace.predictions[row].log_prob for row in ROWS), abs=1e-4
    )
    gain = found.log_prob - found.baseline
    assert abs(gain) > 0.01
    assert abs(found.gap) < 0.02 * abs(gain) + 1e-3
    assert found.to_json()["gap"] == found.gap
    for side, tokens in (("source", trace.source), ("target", trace.target)):
        assert len(found.gradient[side]) == len(found.integrated[side]) == len(tokens)
    later = found.integrated["target"][max(ROWS) + 1 :]
    assert later and all(value == 0 for value in later), "nobody reads the future"


def test_gradient_is_that_of_a_small_change(translator: Translator) -> None:
    trace = record(translator, TEXT)
    found = attribute_gradients(translator, trace, ROWS, points=2)
    ids = [trace.predicted[row].id for row in ROWS]
    step = 1e-2
    for place in (0, 2):

        def change(sign: int, place: int = place) -> float:
            def edit(words_BLD: torch.Tensor) -> torch.Tensor:
                words_BLD = words_BLD.clone()
                words_BLD[:, place] *= 1 + sign * step
                return words_BLD

            scored = score_copies(translator, trace, {"source_embedding.embedded": edit}, 1)
            return float(scored[0, ROWS, ids].sum())

        expected = (change(1) - change(-1)) / (2 * step)
        assert found.gradient["source"][place] == pytest.approx(expected, rel=0.02, abs=2e-3)


def test_rows_that_are_not_there(translator: Translator) -> None:
    trace = record(translator, TEXT)
    for rows in ([], [99]):
        with pytest.raises(ValueError, match="name rows from 0"):
            attribute_gradients(translator, trace, rows)


def test_the_way_can_begin_at_other_tokens(translator: Translator) -> None:
    trace = record(translator, TEXT)
    sides = {"source": trace.source, "target": trace.target}
    own = {side: [token.id for token in tokens] for side, tokens in sides.items()}
    still = attribute_gradients(translator, trace, ROWS, 2, own)
    assert not any(still.integrated["source"] + still.integrated["target"])
    zeros = attribute_gradients(translator, trace, ROWS, 2)
    assert still.gradient["source"] == pytest.approx(zeros.gradient["source"], abs=1e-5)
    other = own["source"][::-1]
    moved = attribute_gradients(translator, trace, ROWS, baseline={**own, "source": other})
    with torch.inference_mode():
        logits = translator.model(torch.tensor([other]), torch.tensor([own["target"]]))
    begin = logits[0, ROWS].log_softmax(-1)[range(2), [trace.predicted[row].id for row in ROWS]]
    assert moved.baseline == pytest.approx(float(begin.sum()), abs=1e-4)
    assert abs(moved.gap) < 0.02 * abs(moved.log_prob - moved.baseline) + 1e-3
    assert not any(moved.integrated["target"])
    with pytest.raises(ValueError, match="ids for"):
        attribute_gradients(translator, trace, ROWS, baseline={**own, "source": [1]})
