"""What a step tells those who watch."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from glassformer.config import Decode
from glassformer.decode import Candidate, Fate, Step, search

Leaf = tuple[tuple[int, ...], float, float, bool]


def watched(network: Any, sources: Any, settings: Decode, **more: Any) -> tuple[Any, Any]:
    records: list[tuple[int, list[Candidate]]] = []

    def watch(sentences: list[int], step: Step) -> None:
        records.extend((s, step.candidates(place)) for place, s in enumerate(sentences))

    return search(network, sources, settings, watch=watch, **more), records


@pytest.mark.parametrize("kind", ["greedy", "beam", "sample"])
def test_recorded_steps_replay_as_a_tree(oracle: Any, sources: Any, kind: Any) -> None:
    """Every hypothesis comes back from the candidates alone."""
    settings = Decode(search=kind, beam=4, no_repeat_ngram_size=3, max_extra=9)
    n_best = 4 if kind == "beam" else 1
    found, records = watched(
        oracle(eos=-0.5), sources, settings, n_best=n_best, budget=200, refill=True
    )
    leaves: list[list[Leaf]] = [[] for _ in sources]
    rows: list[list[tuple[int, ...]]] = [[()] for _ in sources]
    for sentence, candidates in records:
        grown = []
        for c in candidates:
            tokens = (*rows[sentence][c.parent], c.token)
            if c.fate is Fate.KEPT:
                grown.append(tokens)
            elif c.fate is Fate.FINISHED:
                leaves[sentence].append((tokens[:-1], c.log_prob, c.score, True))
            elif c.fate is Fate.CUT:
                leaves[sentence].append((tokens, c.log_prob, c.score, False))
        rows[sentence] = grown
    for hypotheses, ends in zip(found, leaves, strict=True):
        best = sorted(ends, key=lambda leaf: (not leaf[3], -leaf[2]))[:n_best]
        for h, (tokens, log_prob, score, finished) in zip(hypotheses, best, strict=True):
            assert (tuple(h.tokens), h.finished) == (tokens, finished)
            assert (h.log_prob, h.score) == (pytest.approx(log_prob), pytest.approx(score))


def test_every_fate_is_told_and_true(oracle: Any, sources: Any) -> None:
    network = oracle(eos=0.5)
    settings = Decode(beam=2, no_repeat_ngram_size=2, min_length=2, max_extra=7, max_ratio=0)
    _, records = watched(network, sources, settings)
    assert {c.fate for _, candidates in records for c in candidates} == set(Fate)
    rows: dict[int, list[tuple[int, ...]]] = {s: [(1,)] for s in range(len(sources))}
    for sentence, candidates in records:
        log_probs = [c.log_prob for c in candidates]
        assert log_probs == sorted(log_probs, reverse=True)
        assert len({(c.parent, c.token) for c in candidates}) == len(candidates)
        for c in candidates:
            given = rows[sentence][c.parent]
            expected = network.log_probs(sources[sentence], given)[c.token]
            assert c.token_log_prob == pytest.approx(expected, abs=1e-5)
            bigram = given[-1], c.token
            assert (c.fate is Fate.REPEATS) == (bigram in itertools.pairwise(given))
            assert (c.fate is Fate.TOO_SHORT) == (c.token == 2 and len(given) < 3)
        living = [c for c in candidates if c.fate is Fate.KEPT]
        rows[sentence] = [(*rows[sentence][c.parent], c.token) for c in living]


def test_nobody_watching_costs_nothing(oracle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("computed for nobody")

    monkeypatch.setattr(Step, "candidates", refuse)
    assert search(oracle(eos=1.0), [[3, 2]], Decode(no_repeat_ngram_size=2))
