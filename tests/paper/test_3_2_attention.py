"""Section 3.2: scaled dot-product attention and its heads, in loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from glassformer.config import Model
from glassformer.engine.kernels.attend import attend
from glassformer.engine.kernels.dropout import Dropout, DropoutStream
from glassformer.model.attention import MultiHeadAttention

B, H, K, Q, M, D = 2, 3, 5, 4, 7, 6


def look(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: Any) -> np.ndarray:
    """Equation 1 for one head: softmax(Q Kᵀ / √d_k) V, key by key."""
    answers = np.zeros((len(queries), values.shape[1]))
    for q, query in enumerate(queries):
        allowed = [m for m in range(len(keys)) if mask[q, m]]
        scores = {m: query @ keys[m] / math.sqrt(len(query)) for m in allowed}
        total = sum(math.exp(scores[m]) for m in allowed)
        for m in allowed:
            answers[q] += math.exp(scores[m]) / total * values[m]
    return answers


@pytest.fixture
def mask() -> torch.Tensor:
    """Every query sees something, most not all; the first sees one key."""
    allowed = np.random.default_rng(3).random((B, 1, Q, M)) < 0.6
    allowed[:, :, :, 2] = True
    allowed[:, :, 0, :] = np.arange(M) == 2
    return torch.tensor(allowed)


def test_equation_1(draw: Any, array: Any, mask: torch.Tensor) -> None:
    """The explicit lines and the fast kernel alike; keys and values may differ in width."""
    q, k, v = draw((B, H, Q, K)), draw((B, H, M, K)), draw((B, H, M, K + 1))
    expected = [[look(q[b, h], k[b, h], v[b, h], mask[b, 0]) for h in range(H)] for b in range(B)]
    tensors = [torch.tensor(x).float() for x in (q, k, v)]
    explicit = MultiHeadAttention(Model(d_model=D, heads=H, head_width=K)).eval().attend
    fast = attend(*tensors, mask, Dropout(0.0, DropoutStream()))
    for actual in (explicit(*tensors, mask), fast):
        np.testing.assert_allclose(array(actual), expected, rtol=1e-5, atol=1e-5)


def test_multi_head(draw: Any, array: Any, scatter: Any, mask: torch.Tensor) -> None:
    """Concat(head_1 .. head_h) W_O, head_i = Attention(Q W_Q, K W_K, V W_V): each head its own
    columns of the paper's W, which are rows of a stored weight."""
    attention = scatter(MultiHeadAttention(Model(d_model=D, heads=H, head_width=K)))
    x, memory = draw((B, Q, D)), draw((B, M, D))

    def project(linear: nn.Linear, y: np.ndarray, head: int) -> np.ndarray:
        part = slice(head * K, (head + 1) * K)
        return y @ array(linear.weight).T[:, part] + array(linear.bias)[part]

    expected = []
    for b in range(B):
        heads = [
            look(
                project(attention.to_query, x[b], h),
                project(attention.to_key, memory[b], h),
                project(attention.to_value, memory[b], h),
                mask[b, 0],
            )
            for h in range(H)
        ]
        joined = np.concatenate(heads, axis=1)
        expected.append(
            joined @ array(attention.to_output.weight).T + array(attention.to_output.bias)
        )
    actual = attention(torch.tensor(x).float(), torch.tensor(memory).float(), mask)
    np.testing.assert_allclose(array(actual), expected, rtol=1e-5, atol=1e-5)
