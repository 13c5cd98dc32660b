"""Scoring of given pairs."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from glassformer.decode import Budget, score_targets


def test_scores_are_the_networks_own_in_the_order_of_the_input(
    oracle: Any, sources: list[list[int]]
) -> None:
    network = oracle()
    targets = [source[: 3 * i % 7][:-1] for i, source in enumerate(reversed(sources))]
    done: list[int] = []
    found = score_targets(network, sources, targets, budget=20, progress=done.append)
    assert sum(done) == len(sources) and len(done) > 3
    for source, target, log_probs in zip(sources, targets, found, strict=True):
        given = [[1, *target[:n]] for n in range(len(target) + 1)]
        wanted = [network.log_probs(source, g)[p] for g, p in zip(given, [*target, 2], strict=True)]
        assert log_probs == pytest.approx(wanted, abs=1e-5)


def test_budget_bounds_the_padded_batch(oracle: Any, sources: list[list[int]]) -> None:
    network = oracle()
    score_targets(network, sources, sources, budget=33)
    assert 25 < network.most_at_work <= 33
    assert network.calls.count("start") > len(sources) * 6 // 33
    assert score_targets(network, [], []) == []


def test_where_memory_runs_out_it_is_done_in_parts(oracle: Any, sources: list[list[int]]) -> None:
    network, plenty = oracle(), score_targets(oracle(), sources, sources)
    start, budget, done = network.start, Budget(10**6), list[int]()

    def run_out(source_BS: torch.Tensor) -> Any:
        if source_BS.numel() > 33:
            raise RuntimeError("std::bad_alloc")
        return start(source_BS)

    network.start = run_out
    assert score_targets(network, sources, sources, budget=budget, progress=done.append) == plenty
    assert sum(done) == len(sources) and 0 < budget.tokens <= 66

    network.start = None
    with pytest.raises(TypeError, match="not callable"):
        score_targets(network, sources, sources)


def test_unequal_counts_are_named() -> None:
    with pytest.raises(ValueError, match="2 sources but 1 targets"):
        score_targets(None, [[2], [2]], [[3]])  # type: ignore[arg-type]
