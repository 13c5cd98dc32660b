"""Section 5.4: label smoothing, as a distribution over the vocabulary, in loops."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from glassformer.engine.kernels.cross_entropy import smoothed_cross_entropy
from glassformer.train.run.loss import label_smoothing

N, D, V = 5, 4, 7


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
def test_cross_entropy_with_the_smoothed_target(smoothing: float, draw: Any) -> None:
    """-Σ_n Σ_v q(v) ln p(v): q is 1 - ε on the right token, and ε / V on every token, the right
    one included (Szegedy et al. 2015, equation 11)."""
    y_ND, table_VD = draw((N, D)), draw((V, D))
    right_N = [0, 6, 3, 3, 5]
    expected = 0.0
    for y, right in zip(y_ND, right_N, strict=True):
        logits = [sum(a * b for a, b in zip(y, row, strict=True)) for row in table_VD]
        total = sum(math.exp(logit) for logit in logits)
        for token, logit in enumerate(logits):
            wanted = smoothing / V + (1 - smoothing if token == right else 0.0)
            expected -= wanted * math.log(math.exp(logit) / total)
    y_ND, table_VD = torch.tensor(y_ND).float(), torch.tensor(table_VD).float()
    plain = label_smoothing(y_ND @ table_VD.T, torch.tensor(right_N), smoothing)
    fused = smoothed_cross_entropy(y_ND, table_VD, torch.tensor(right_N), smoothing)
    assert plain.item() == pytest.approx(expected, rel=1e-6)
    assert fused.item() == pytest.approx(expected, rel=1e-6)
