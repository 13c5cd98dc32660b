"""The driver: order, company, budgets, prefixes, lengths and errors, for every search."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from glassformer.config import Decode
from glassformer.decode import Budget, Hypothesis, NotFiniteError, search
from glassformer.decode.sentences import PART
from glassformer.foundation.machine.device import run_in_threads

SEARCHES = {
    "greedy": Decode(search="greedy"),
    "beam": Decode(beam=3),
    "first": Decode(beam=3, stop="first", length_penalty="power", alpha=1.0),
    "rules": Decode(beam=4, no_repeat_ngram_size=2, min_length=3),
    "sample": Decode(search="sample", top_p=0.9, temperature=1.3),
}


@pytest.fixture(params=list(SEARCHES))
def settings(request: pytest.FixtureRequest) -> Decode:
    return SEARCHES[request.param].model_copy(update={"max_extra": 9})


@pytest.fixture
def prefixes(sources: list[list[int]]) -> list[list[int]]:
    return [[6, 3, 5, 4][: i % 5] for i in range(len(sources))]


def alone(network: Any, sources: Any, settings: Decode, prefixes: Any) -> list[list[Hypothesis]]:
    return [
        search(network, [source], settings, lines=[line], prefixes=[prefix])[0]
        for line, (source, prefix) in enumerate(zip(sources, prefixes, strict=True))
    ]


@pytest.mark.parametrize("forced", [False, True])
def test_company_changes_nothing(
    oracle: Any, sources: Any, prefixes: Any, settings: Decode, forced: bool
) -> None:
    """Alone, all together, refilled or not, in any order: the same, to the last bit."""
    network = oracle(eos=0.5)
    prefixes = prefixes if forced else [[]] * len(sources)
    expected = alone(network, sources, settings, prefixes)
    assert expected == search(network, sources, settings, prefixes=prefixes)
    for refill in (True, False):
        network.calls.clear()
        found = search(
            network, sources, settings, prefixes=prefixes, refill=refill, budget=30 * settings.beam
        )
        assert found == expected
        assert ("admit" in network.calls) == refill
        assert ("rewind" in network.calls) == forced
    backwards = search(
        network,
        sources[::-1],
        settings,
        prefixes=prefixes[::-1],
        lines=range(len(sources))[::-1],
        budget=99,
        refill=True,
    )
    assert backwards[::-1] == expected


def test_numbers_are_the_networks_own(
    oracle: Any, sources: Any, prefixes: Any, settings: Decode
) -> None:
    network = oracle(eos=0.5)
    found = search(network, sources, settings, prefixes=prefixes)
    for source, prefix, [best] in zip(sources, prefixes, found, strict=True):
        assert best.tokens[: len(prefix)] == prefix
        whole = [*best.tokens, 2] if best.finished else best.tokens
        expected = [network.log_probs(source, (1, *whole[:n]))[p] for n, p in enumerate(whole)]
        assert best.token_log_probs == pytest.approx(expected, abs=1e-5)
        assert best.log_prob == pytest.approx(sum(expected), abs=1e-4)
        divisor = {"gnmt": (5 + len(whole)) / 6, "power": len(whole)}[settings.length_penalty]
        assert best.score == pytest.approx(best.log_prob / divisor**settings.alpha, rel=1e-6)


def test_a_forced_beginning_goes_in_at_once(oracle: Any) -> None:
    network = oracle()
    settings = Decode(search="greedy", max_extra=9)
    [[free]] = search(network, [[4, 2]], settings)
    assert len(free.tokens) > 3
    network.calls.clear()
    [[forced]] = search(network, [[4, 2]], settings, prefixes=[free.tokens[:3]])
    assert forced == free
    assert network.calls[1] == "step 4"


def test_lengths_are_kept(oracle: Any, sources: Any, settings: Decode) -> None:
    short = settings.model_copy(update={"max_ratio": 0.5, "max_extra": 4, "min_length": 0})
    for source, [best] in zip(sources, search(oracle(eos=-9.0), sources, short), strict=True):
        assert not best.finished
        assert len(best.tokens) == -(-(len(source) - 1) // 2) + 4
    capped = search(oracle(eos=-9.0), sources, short, longest=5)
    assert all(len(best.tokens) <= 5 for [best] in capped)
    long = settings.model_copy(update={"min_length": 4})
    for [best] in search(oracle(eos=9.0), sources, long):
        assert best.finished and len(best.tokens) == 4


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_workers_divide_the_threads_and_give_them_back(workers: int) -> None:
    """PyTorch counts threads for each thread by itself; what a new one gets is asked in one."""
    seen: list[int] = []

    def look() -> None:
        with ThreadPoolExecutor(1) as pool:
            seen.append(pool.submit(torch.get_num_threads).result())

    torch.set_num_threads(4)  # `one_thread` puts it back
    run_in_threads(lambda: seen.append(torch.get_num_threads()), workers, lambda: None)
    assert seen == [max(1, 4 // workers)] * workers
    look()
    assert seen.pop() == 4 == torch.get_num_threads()


def test_no_ngram_comes_twice(oracle: Any, sources: Any, settings: Decode) -> None:
    network = oracle(eos=-3.0)
    prefixes = [[3, 4, 3]] * len(sources)
    for size in (1, 2, 3):
        varied = settings.model_copy(update={"no_repeat_ngram_size": size, "min_length": 0})
        start = [prefix[: 2 if size == 1 else 3] for prefix in prefixes]
        try:
            found = search(network, sources, varied, prefixes=start)
        except ValueError as error:  # one token each, and then nothing is left to say
            assert size == 1 and "no_repeat_ngram_size" in str(error)
            continue
        for [best] in found:
            ngrams = [tuple(best.tokens[i : i + size]) for i in range(len(best.tokens) - size + 1)]
            assert len(set(ngrams)) == len(ngrams)


def test_budget_is_kept_and_refill_uses_it(oracle: Any, sources: Any) -> None:
    settings = Decode(beam=2, max_extra=9)
    with_refill, without = oracle(eos=0.5), oracle(eos=0.5)
    search(with_refill, sources, settings, budget=120, refill=True)
    search(without, sources, settings, budget=120, refill=False)
    assert 80 < with_refill.most_at_work <= 120
    assert 80 < without.most_at_work <= 120
    count = [sum(call == "step 1" for call in n.calls) for n in (with_refill, without)]
    assert count[0] < 0.9 * count[1]
    search(oracle(), sources, settings, budget=1)  # less than one sentence: one at a time


REFUSED = "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("refill", [False, True])
def test_where_memory_runs_out_fewer_are_at_work(
    oracle: Any, sources: Any, settings: Decode, refill: bool, workers: int
) -> None:
    """The same to the last bit, each told of once; and it is remembered."""
    network, plenty = oracle(), search(oracle(), sources, settings, seed=3)
    step, refused, done, budget = network.step, [], [], Budget(10**6)
    most = 2 * max(map(len, sources)) * settings.beam

    def run_out(tokens: torch.Tensor, state: Any) -> torch.Tensor:
        if len(state.given) * max(map(len, state.sources)) > most:
            refused.append(len(state.given))
            raise RuntimeError(REFUSED)
        return step(tokens, state)

    network.step = run_out
    how: dict[str, Any] = {"budget": budget, "refill": refill, "workers": workers, "seed": 3}
    assert search(network, sources, settings, progress=done.append, **how) == plenty
    assert refused and sum(done) == len(sources) and 0 < budget.tokens <= most
    refused.clear()
    assert search(network, sources, settings, **how) == plenty
    assert not refused


@pytest.mark.parametrize("workers", [1, 3])
def test_another_error_is_not_taken_for_want_of_memory(
    oracle: Any, sources: Any, workers: int
) -> None:
    """It ends the search, even if a second try would do."""
    network = oracle()
    step, errors = network.step, [RuntimeError("shapes cannot be multiplied")]

    def fail_once(*given: Any) -> torch.Tensor:
        if errors:
            raise errors.pop()
        found: torch.Tensor = step(*given)
        return found

    network.step = fail_once
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        search(network, sources, Decode(max_extra=9), workers=workers)


def test_a_sentence_without_room_is_named(oracle: Any, settings: Decode) -> None:
    network = oracle()

    def run_out(*given: Any) -> None:
        raise MemoryError

    network.step = run_out
    said = "there is not enough memory for a sentence of"
    either = f"line 8: {said} 3|line 9: {said} 2"  # whichever of the workers is last
    with pytest.raises(ValueError, match=either):
        search(network, [[3, 4, 2], [5, 2]], settings, lines=[7, 8], workers=2)


def test_progress_and_nothing_to_do(oracle: Any, sources: Any) -> None:
    done: list[int] = []
    search(oracle(), sources, Decode(), progress=done.append)
    assert sum(done) == len(sources) and len(done) > 1
    assert search(oracle(), [], Decode(search="sample")) == []


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        (Decode(beam=2), {"n_best": 3}, "n_best=3 needs .* not beam=2"),
        (Decode(search="greedy"), {"n_best": 2}, "n_best=2: .* use search=beam"),
        (Decode(), {"n_best": 0}, "n_best=0"),
        (Decode(max_extra=2), {"prefixes": [[], [3, 3, 3, 3]]}, "line 2: .* 4 tokens.* at most 3"),
        (Decode(), {"prefixes": [[], [2]]}, "line 2: .* control id"),
        (Decode(max_extra=3, min_length=3), {}, "line 1: min_length .* at most 2"),
        (
            Decode(max_extra=3, min_length=3),
            {"lines": [4 + PART, 4]},
            "^line 5: min_length",
        ),
        (Decode(), {"prefixes": [[]]}, "2 sources, 1 prefixes, 2 lines"),
        (Decode(), {"lines": [4]}, "2 sources, 2 prefixes, 1 lines"),
    ],
)
def test_the_impossible_is_refused(
    oracle: Any, settings: Decode, arguments: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        search(oracle(), [[2], [3, 2]], settings, **arguments)


def test_a_source_without_tokens_is_refused(oracle: Any) -> None:
    with pytest.raises(ValueError, match=r"line 8: .* EOS"):
        search(oracle(), [[]], Decode(), lines=[7])


@pytest.mark.parametrize("kind", ["greedy", "beam", "sample"])
def test_a_dead_end_is_an_error_that_names_the_rules(oracle: Any, kind: Any) -> None:
    settings = Decode(search=kind, no_repeat_ngram_size=1, min_length=9)
    with pytest.raises(
        ValueError, match=r"^line 1: .* no_repeat_ngram_size and min_length forbid"
    ) as caught:
        search(oracle(), [[3, 2]], settings)
    assert "finite" not in str(caught.value)


@pytest.mark.parametrize("kind", ["greedy", "beam", "sample"])
@pytest.mark.parametrize(
    ("spread", "rules"),
    [
        (float("nan"), {}),
        (float("nan"), {"no_repeat_ngram_size": 2, "min_length": 1}),
        (float("inf"), {"no_repeat_ngram_size": 2}),
        (3e38, {}),  # finite, but no log-probability is
    ],
)
def test_logits_that_are_not_finite_are_an_error_that_names_the_weights(
    oracle: Any, kind: Any, spread: float, rules: dict[str, int]
) -> None:
    network = oracle(spread=spread, vocabulary=9)
    with pytest.raises(NotFiniteError, match=r"^line 8: .* not finite .* weights") as caught:
        search(network, [[3, 2]], Decode(search=kind, **rules), lines=[7])
    assert "forbid" not in str(caught.value)
