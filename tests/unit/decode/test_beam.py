"""Beam search against slower ways to the same end."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch

from glassformer.config import Decode
from glassformer.decode import Hypothesis, search
from glassformer.decode.sentences import rank
from glassformer.engine.conventions import ConventionEngine

PENALTIES = [("gnmt", 0.6), ("gnmt", 2.0), ("power", 0.5), ("power", 1.3), ("none", 0.6)]
CHOICES = (3, 4, 5, 6)  # besides EOS


def test_a_forced_beginning_does_not_count() -> None:
    """A tag's log-probability, divided by its length, would make longer translations better."""
    settings = Decode(beam=2, length_penalty="power", alpha=1.0)

    def end(*log_probs: float) -> Hypothesis:
        tokens, log_prob = [9, *[5] * (len(log_probs) - 2)], sum(log_probs)
        score = penalised(log_prob, len(log_probs), settings)
        return Hypothesis(tokens, log_prob, score, [*log_probs], finished=True)

    class Engine:
        precision = "fp32"

        def search(self, *_: Any, n_best: int, **__: Any) -> list[list[Hypothesis]]:
            found = [end(-4.0, -0.5, -0.5, -0.5, -0.1), end(-4.0, -0.5, -0.1)]
            return [rank(found, n_best)]

    engine: Any = Engine()
    for begin, length, score in (([9], 1, -0.3), ([], 4, -1.12)):
        ((best,),) = ConventionEngine(engine, begin, True).search([[5, 2]], settings)
        assert len(best.tokens) == length and best.score == pytest.approx(score)
        assert best.score == pytest.approx(
            penalised(best.log_prob, len(best.token_log_probs), settings)
        )


def penalised(log_prob: float, length: int, settings: Decode) -> float:
    divisor = {"gnmt": ((5 + length) / 6), "power": float(length), "none": 1.0}
    return log_prob / divisor[settings.length_penalty] ** settings.alpha


def enumerate_all(network: Any, source: list[int], limit: int, settings: Decode) -> list[Any]:
    """Every finished sequence with its score, best first."""
    found = []
    for length in range(limit):
        for tokens in itertools.product(CHOICES, repeat=length):
            whole = (*tokens, 2)
            log_prob = sum(
                network.log_probs(source, (1, *whole[:n]))[token] for n, token in enumerate(whole)
            )
            found.append((penalised(log_prob, length + 1, settings), tokens))
    return sorted(found, reverse=True)


def slow_beam(
    network: Any, source: list[int], limit: int, settings: Decode, first: bool
) -> list[tuple[float, tuple[int, ...]]]:
    """The same beam in lists: it never stops before the limit, or (`first`) at W finished."""
    live, finished = [(0.0, ())], []
    for length in range(1, limit + 1):
        candidates = sorted(
            (
                (log_prob + network.log_probs(source, (1, *tokens))[token], (*tokens, token))
                for log_prob, tokens in live
                for token in (2, *CHOICES)
            ),
            reverse=True,
        )
        for log_prob, tokens in candidates[: settings.beam]:
            if tokens[-1] == 2:
                finished.append((penalised(log_prob, length, settings), tokens[:-1]))
        live = [c for c in candidates if c[1][-1] != 2][: settings.beam]
        if first and len(finished) >= settings.beam:
            break
    return sorted(finished, reverse=True)


def same(found: list[Hypothesis], wanted: list[Any]) -> None:
    assert [tuple(h.tokens) for h in found] == [tokens for _, tokens in wanted]
    assert [h.score for h in found] == pytest.approx([score for score, _ in wanted], abs=1e-5)
    assert all(h.finished for h in found)


@pytest.mark.parametrize(("penalty", "alpha"), PENALTIES)
def test_a_wide_beam_is_exhaustive_search(oracle: Any, penalty: str, alpha: float) -> None:
    settings = Decode(beam=400, length_penalty=penalty, alpha=alpha, max_ratio=0, max_extra=5)
    for seed in range(4):
        network, source = oracle(seed), [3, 4, 2]
        found = search(network, [source], settings, n_best=5)[0]
        same(found, enumerate_all(network, source, 5, settings)[:5])


@pytest.mark.parametrize("stop", ["exact", "first"])
@pytest.mark.parametrize(("penalty", "alpha"), PENALTIES)
def test_a_narrow_beam_is_the_slow_one(oracle: Any, penalty: str, alpha: float, stop: str) -> None:
    """Above all: stopping early, when exact, loses nothing."""
    settings = Decode(
        beam=3, length_penalty=penalty, alpha=alpha, stop=stop, max_ratio=0, max_extra=9
    )
    sources = [[token, 2] for token in range(3, 30)]
    for n_best in (1, 3):
        network = oracle(n_best, eos=0.8)
        for source, found in zip(
            sources, search(network, sources, settings, n_best=n_best), strict=True
        ):
            wanted = slow_beam(network, source, 9, settings, stop == "first")[:n_best]
            assert len(wanted) == n_best
            same(found, wanted)


def test_exact_stops_early_all_the_same(oracle: Any) -> None:
    network = oracle(eos=3.0)
    search(network, [[3, 2]], Decode(beam=3, max_extra=300))
    assert sum(call.startswith("step") for call in network.calls) < 30


def count_steps(network: Any, settings: Decode, n_best: int) -> int:
    network.calls.clear()
    search(network, [[3, 2]], settings, n_best=n_best)
    return sum(call.startswith("step") for call in network.calls)


def test_exact_stops_at_a_tie(oracle: Any) -> None:
    """Log-probabilities only fall: a hypothesis that is no better than the worst wanted is late."""
    even = oracle(
        vocabulary=4, spread=0.0
    )  # after each step the best alive ties with the best done
    assert count_steps(even, Decode(beam=2, length_penalty="none", max_extra=30), n_best=1) == 1
    silent = oracle(vocabulary=3)  # nothing but EOS: nobody lives, and one of two is missing
    assert count_steps(silent, Decode(beam=2, max_extra=30), n_best=2) == 1


@pytest.mark.parametrize("least", [1, 2, 5])
def test_min_length_is_the_least_number_of_tokens(oracle: Any, least: int) -> None:
    """EOS not counted: where EOS is by far the likeliest, it comes as soon as it may."""
    settings = Decode(beam=3, min_length=least, max_ratio=0, max_extra=9)
    found = search(oracle(eos=30.0), [[3, 2], [4, 2]], settings, n_best=3)
    assert {len(hypotheses[0].tokens) for hypotheses in found} == {least}
    assert all(len(h.tokens) >= least for hypotheses in found for h in hypotheses)


@pytest.mark.parametrize(
    "settings", [Decode(beam=1, stop="first"), Decode(beam=1, length_penalty="none")]
)
def test_a_beam_of_one_is_greedy(oracle: Any, sources: list[list[int]], settings: Decode) -> None:
    network = oracle(eos=0.5)
    greedy = settings.model_copy(update={"search": "greedy"})
    beam_tokens = [h.tokens for [h] in search(network, sources, settings)]
    assert beam_tokens == [h.tokens for [h] in search(network, sources, greedy)]


def test_n_best_are_sorted_and_distinct(oracle: Any, sources: list[list[int]]) -> None:
    found = search(oracle(), sources, Decode(beam=6), n_best=6)
    for hypotheses in found:
        scores = [h.score for h in hypotheses]
        assert len(scores) == 6 and scores == sorted(scores, reverse=True)
        assert len({tuple(h.tokens) for h in hypotheses}) == 6


def test_what_is_cut_fills_up_only_where_too_few_finished(oracle: Any) -> None:
    settings = Decode(beam=4, max_ratio=0, max_extra=3)
    never = search(oracle(eos=-math.inf), [[3, 2]], settings, n_best=4)[0]
    assert [len(h.tokens) for h in never] == [3] * 4 == [len(h.token_log_probs) for h in never]
    assert not any(h.finished for h in never)
    rarely = search(oracle(eos=-1.0), [[p, 2] for p in range(3, 60)], settings, n_best=4)
    kinds = {tuple(h.finished for h in hypotheses) for hypotheses in rarely}
    assert len(kinds) > 1 and all(list(kind) == sorted(kind, reverse=True) for kind in kinds)


def test_more_beam_than_vocabulary(oracle: Any) -> None:
    network = oracle(vocabulary=4)  # one token besides EOS
    found = search(network, [[3, 2]], Decode(beam=5, max_extra=4, max_ratio=0), n_best=5)[0]
    assert [h.finished for h in found] == [True] * 4 + [False]
    assert sorted(len(h.tokens) for h in found) == [0, 1, 2, 3, 4]
    assert torch.tensor([h.score for h in found]).isfinite().all()
