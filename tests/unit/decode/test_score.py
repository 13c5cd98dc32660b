"""Scoring of given pairs."""

from __future__ import annotations

from typing import Any

import pytest

from glassformer.decode import score


def test_scores_are_the_networks_own_in_the_order_of_the_input(
    oracle: Any, sources: list[list[int]]
) -> None:
    network = oracle()
    targets = [source[: 3 * i % 7][:-1] for i, source in enumerate(reversed(sources))]
    done: list[int] = []
    found = score(network, sources, targets, budget=20, progress=done.append)
    assert sum(done) == len(sources) and len(done) > 3
    for source, target, log_probs in zip(sources, targets, found, strict=True):
        given = [[1, *target[:n]] for n in range(len(target) + 1)]
        wanted = [network.log_probs(source, g)[p] for g, p in zip(given, [*target, 2], strict=True)]
        assert log_probs == pytest.approx(wanted, abs=1e-5)


def test_budget_bounds_the_padded_batch(oracle: Any, sources: list[list[int]]) -> None:
    network = oracle()
    score(network, sources, sources, budget=33)
    assert 25 < network.most_at_work <= 33
    assert network.calls.count("start") > len(sources) * 6 // 33
    assert score(network, [], []) == []


def test_unequal_counts_are_named() -> None:
    with pytest.raises(ValueError, match="2 sources but 1 targets"):
        score(None, [[2], [2]], [[3]])  # type: ignore[arg-type]
