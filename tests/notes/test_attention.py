"""The worked numbers of learners' notes, put right, through the network's own attention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.config import Model
from glassformer.foundation.tap import Trace
from glassformer.foundation.tap import record as watch
from glassformer.model.attention import MultiHeadAttention
from glassformer.model.masks import causal_mask

Rows = Sequence[Sequence[float]]


def look(queries: Rows, keys: Rows, values: Rows, mask: Tensor | None = None) -> Trace:
    """One head, watched: all that equation 1 makes on its way, and `answer`."""
    with watch(MultiHeadAttention(Model(d_model=2, heads=1))) as (view, trace):
        q, k, v = (torch.tensor(rows)[None, None] for rows in (queries, keys, values))
        everything = torch.ones(1, 1, 1, len(keys), dtype=torch.bool)
        trace["answer"].append(view.attend(q, k, v, everything if mask is None else mask))
    return trace


def check(trace: Trace, name: str, expected: Rows, digits: float = 5e-5) -> None:
    np.testing.assert_allclose(trace[name][0][0, 0], expected, rtol=0, atol=digits)


@pytest.mark.parametrize("width", [1, 64])
def test_dividing_by_8_keeps_the_softmax_soft(width: int) -> None:
    """112 and 96 over 8, the root of 64, are 14 and 12; undivided, the first would take all."""
    trace = look([[1.0] * width], [[112 / width] * width, [96 / width] * width], [[1.0], [0.0]])
    if width == 64:
        check(trace, "scores", [[14, 12]])
        check(trace, "weights", [[0.8808, 0.1192]])
        check(trace, "answer", [[0.8808]])
    else:  # the root of 1 divides by 1
        check(trace, "weights", [[0.9999999, 1.1e-7]], digits=5e-8)


def test_a_decoder_looks_back_at_three_hidden_states() -> None:
    """Scores 13, 9, 9, undivided, as attention between recurrent networks has them."""
    trace = look([[1.0]], [[13.0], [9.0], [9.0]], [[0.0], [0.0], [1.0]])
    check(trace, "weights", [[0.9647, 0.0177, 0.0177]])
    check(trace, "answer", [[0.0177]])


def test_a_word_is_masked_from_what_comes_after() -> None:
    """我 喜欢 学习 编程: four words of three numbers, W_Q = W_V = 1, from X to the answer."""
    words = np.array([[0.5, 0.1, 0.3], [0.7, 0.2, 0.9], [0.6, 0.4, 0.8], [0.8, 0.3, 0.5]])
    key_matrix = np.array([[0.5, 0.1, 0.3], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6]])
    keys = words @ key_matrix
    np.testing.assert_allclose(
        keys, [[0.36, 0.15, 0.34], [0.66, 0.30, 0.77], [0.62, 0.42, 0.70], [0.61, 0.34, 0.57]]
    )
    products = [
        [0.297, 0.591, 0.562, 0.510],
        [0.588, 1.215, 1.148, 1.008],
        [0.548, 1.132, 1.100, 0.958],
        [0.503, 1.003, 0.972, 0.875],
    ]
    np.testing.assert_allclose(words @ keys.T, products)

    trace = look(words.tolist(), keys.tolist(), words.tolist(), causal_mask(4))
    check(
        trace,
        "scores",
        [
            [0.1715, 0.3412, 0.3245, 0.2944],
            [0.3395, 0.7015, 0.6628, 0.5820],
            [0.3164, 0.6536, 0.6351, 0.5531],
            [0.2904, 0.5791, 0.5612, 0.5052],
        ],
    )
    check(
        trace,
        "weights",
        [
            [1, 0, 0, 0],
            [0.4105, 0.5895, 0, 0],
            [0.2648, 0.3710, 0.3642, 0],
            [0.2047, 0.2732, 0.2684, 0.2537],
        ],
    )
    check(
        trace,
        "answer",
        [
            [0.5, 0.1, 0.3],
            [0.6179, 0.1590, 0.6537],
            [0.6106, 0.2464, 0.7047],
            [0.6576, 0.2586, 0.6488],
        ],
    )
    weights = trace["weights"][0][0, 0]
    assert (weights.triu(1) == 0).all() and weights[0, 0] == 1, "exactly, not nearly"
