"""The search in C is the twin of the search in PyTorch: the same tokens, and scores to 1e-5."""

from __future__ import annotations

import ctypes
import math
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.config import Decode, Model, Positions
from glassformer.decode import Budget, NotFiniteError, score_targets, search
from glassformer.engine import native
from glassformer.engine.native import Workers, score_in_c, search_in_c
from glassformer.model.transformer import Transformer

from ..decode.conftest import Oracle
from .callbacks import CallbackNetwork, as_array

HOME = Path(native.__file__).parent / "native"
FILES = [HOME / f"{name}.c" for name in ("api", "pool", "queue", "sample", "score", "search")]
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-pthread")
METHODS = ("beam", "greedy", "sample")
DRAW = random.Random(5)
SOURCES = [[*DRAW.choices(range(3, 7), k=i * 7 % 10), 2] for i in range(24)]
POOLS: dict[int, ctypes.c_void_p] = {}  # by the number of workers


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    """The search alone, without the network of the engine."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler here")
    path = tmp_path_factory.mktemp("native") / "search.so"
    subprocess.run(["cc", *STRICT, "-shared", "-fPIC", *FILES, "-o", path, "-lm"], check=True)
    loaded = ctypes.CDLL(str(path))
    loaded.pool_close.argtypes = (ctypes.c_void_p,)
    yield loaded
    while POOLS:
        loaded.pool_close(POOLS.popitem()[1])


@dataclass
class Coarse(Oracle):
    """An oracle with many ties: its logits are multiples of 1/2."""

    def logits(self, source: Any, given: Any) -> Tensor:
        return (2 * super().logits(source, given)).round() / 2


def put_behind(library: ctypes.CDLL, network: Any, size: int, number: int = 1) -> Workers:
    """Return workers whose networks are all this one, in Python."""
    if number not in POOLS:
        POOLS[number] = ctypes.c_void_p()
        assert library.pool_open(number, ctypes.byref(POOLS[number])) == 0
    made = [CallbackNetwork(network, size) for _ in range(number)]
    return Workers(library, [each.struct for each in made], POOLS[number])


def check_twins(
    library: ctypes.CDLL, network: Any, vocabulary: int, sources: Any, settings: Decode, **how: Any
) -> None:
    """Both find the same, or raise the same error."""
    workers = how.pop("workers", 1)
    budget = how.pop("budget", 200)
    expected = catch(lambda: search(network, sources, settings, budget=budget, **how))
    behind = put_behind(library, network, vocabulary, workers)
    found = catch(lambda: search_in_c(behind, sources, settings, budget=budget, **how))
    if isinstance(expected, Exception):
        assert type(found) is type(expected)
        assert cut_line(found, sources) == cut_line(expected, sources)
        return
    assert not isinstance(found, Exception), found
    assert [[(h.tokens, h.finished) for h in each] for each in found] == [
        [(h.tokens, h.finished) for h in each] for each in expected
    ]
    for one, other in zip(chain(*found), chain(*expected), strict=True):
        numbers = [[h.log_prob, h.score, *h.token_log_probs] for h in (one, other)]
        assert numbers[0] == pytest.approx(numbers[1], abs=1e-5, rel=1e-5)


def cut_line(error: Exception, sources: Any) -> str:
    """Of several sentences that fail, either search may come to another one first."""
    return str(error) if len(sources) == 1 else str(error).partition(": ")[2]


def catch(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ValueError as error:
        return error


def draw_case(seed: int) -> dict[str, Any]:
    """A network, sentences and settings, all at random."""
    draw = random.Random(seed)
    vocabulary = draw.choice([3, 4, 5, 7, 7, 12, 40])
    method = draw.choice(["beam", "beam", "beam", "greedy", "sample"])
    beam = draw.choice([1, 2, 3, 4, 5, 9])
    kind = Oracle if method == "sample" else draw.choice([Oracle, Coarse])
    network = kind(
        seed,
        vocabulary,
        spread=draw.choice([0.5, 2.0, 2.0, 5.0] + [0.0] * (kind is Coarse)),
        eos=draw.choice([-3.0, 0.0, 0.5, 2.0]),
    )
    ids = range(3, max(vocabulary, 4))
    sources = [
        [*draw.choices(range(3, 9), k=draw.randrange(8)), 2] for _ in range(draw.randrange(9))
    ]
    prefixes = None
    if kind is Oracle and vocabulary > 3 and draw.random() < 0.4:
        prefixes = [draw.choices(ids, k=draw.choice([0, 0, 1, 2, 5])) for _ in sources]
    settings = Decode(
        search=method,
        beam=beam,
        length_penalty=draw.choice(["gnmt", "power", "none"]),
        alpha=draw.choice([0.0, 0.6, 1.0, 2.5]),
        stop=draw.choice(["exact", "first"]),
        max_ratio=draw.choice([0.0, 0.5, 2.0]),
        max_extra=draw.choice([1, 6, 7, 12]) if prefixes is None else 7,
        min_length=draw.choice([0, 0, 0, 1, 4]) if prefixes is None else 0,
        no_repeat_ngram_size=draw.choice([0, 0, 0, 1, 2, 3]),
        temperature=draw.choice([0.3, 1.0, 2.0]),
        top_k=draw.choice([0, 0, 1, 3, 5, 70]),
        top_p=draw.choice([1.0, 1.0, 0.9, 0.3]),
    )
    return {
        "network": network,
        "vocabulary": vocabulary,
        "sources": sources,
        "settings": settings,
        "prefixes": prefixes,
        "n_best": draw.randint(1, beam) if method == "beam" else 1,
        "seed": draw.randrange(1 << 62),
        "lines": draw.sample(range(1 << 50), len(sources)),
        "budget": draw.choice([1, 30, 200, 4096]),
        "workers": draw.choice([1, 1, 2, 4]),
        "longest": draw.choice([None, None, 9]),
    }


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_random_searches_are_twins(library: ctypes.CDLL, first: int) -> None:
    for seed in range(first, first + 20):
        check_twins(library, **draw_case(seed))


@pytest.mark.parametrize("top_p", [1.0, 0.9])
def test_more_of_top_k_than_the_network_keeps(library: ctypes.CDLL, top_p: float) -> None:
    """Then all logits are looked at."""
    settings = Decode(search="sample", temperature=2.0, top_k=70, top_p=top_p, max_extra=6)
    for seed in range(20):
        network = Oracle(seed, 200, spread=0.5, eos=0.0)
        case = {"network": network, "vocabulary": 200, "settings": settings, "prefixes": None}
        check_twins(library, **(draw_case(seed) | case | {"n_best": 1}))


@pytest.fixture(scope="module")
def transformer() -> Transformer:
    torch.manual_seed(3)
    shape = Model(
        d_model=16,
        d_ff=24,
        heads=2,
        encoder_layers=1,
        decoder_layers=2,
        tie="two-way",
        positions=Positions(max_positions=40),
    )
    # In fp64, since the twins' batches differ, and with them the last bits of fp32.
    network = Transformer(shape, 30, 23).eval().double()
    for parameter in network.parameters():
        parameter.data *= 2.0  # so that no two tokens are nearly as good
    return network


@pytest.mark.parametrize("method", ["greedy", "beam", "first", "sample", "nucleus"])
def test_the_twins_find_the_same_with_a_transformer(
    library: ctypes.CDLL, transformer: Transformer, method: str
) -> None:
    settings = {
        "greedy": Decode(search="greedy"),
        "beam": Decode(beam=4, max_extra=9),
        "first": Decode(beam=3, stop="first", no_repeat_ngram_size=2, min_length=2, max_extra=9),
        "sample": Decode(search="sample", temperature=0.8),
        "nucleus": Decode(search="sample", top_k=9, top_p=0.9),
    }[method]
    draw = random.Random(method)
    sources = [[*draw.choices(range(3, 30), k=draw.randrange(12)), 2] for _ in range(20)]
    prefixes = [draw.choices(range(3, 23), k=draw.choice([0, 1, 4])) for _ in sources]
    how = {"longest": 40, "workers": 2, "n_best": 2 if settings.search == "beam" else 1}
    with torch.inference_mode():
        check_twins(library, transformer, 23, sources, settings, **how)
        check_twins(library, transformer, 23, sources, settings, prefixes=prefixes, **how)


@pytest.mark.parametrize("method", METHODS)
def test_company_and_workers_change_nothing(library: ctypes.CDLL, method: Any) -> None:
    """Alone, all together, with little room, with four workers, in any order: the same bits."""
    settings = Decode(search=method, beam=3, max_extra=9)
    lines = range(len(SOURCES))
    alone = [
        search_in_c(put_behind(library, Oracle(), 7), [source], settings, lines=[line])[0]
        for line, source in zip(lines, SOURCES, strict=True)
    ]
    for budget, number in ((4096, 1), (60, 1), (60, 4), (1, 2)):
        workers = put_behind(library, Oracle(), 7, number)
        assert search_in_c(workers, SOURCES, settings, budget=budget) == alone
    backwards = put_behind(library, Oracle(), 7)
    found = search_in_c(backwards, SOURCES[::-1], settings, lines=lines[::-1], budget=99)
    assert found[::-1] == alone


def test_nothing_and_the_shortest(library: ctypes.CDLL) -> None:
    workers = put_behind(library, Oracle(), 7, 3)
    assert search_in_c(workers, [], Decode()) == [] == score_in_c(workers, [], [])
    one = Decode(max_ratio=0, max_extra=1, beam=4)
    check_twins(library, Oracle(), 7, [[2], [4, 2]], one, n_best=4)  # EOS, or cut after one token


def test_the_budget_is_kept(library: ctypes.CDLL) -> None:
    network = Oracle(eos=0.5)
    search_in_c(put_behind(library, network, 7), SOURCES, Decode(beam=2), budget=120)
    assert 80 < network.most_at_work <= 120


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("spread", "rules"),
    [
        (math.nan, {}),
        (math.nan, {"no_repeat_ngram_size": 2, "min_length": 1}),
        (math.inf, {"no_repeat_ngram_size": 2}),
        (3e38, {}),
        (2.0, {"no_repeat_ngram_size": 1, "min_length": 20}),  # a dead end
    ],
)
def test_errors_are_the_same(
    library: ctypes.CDLL, method: Any, spread: float, rules: dict[str, int]
) -> None:
    settings = Decode(search=method, **rules)
    workers = put_behind(library, Oracle(vocabulary=9, spread=spread), 9)
    with pytest.raises(ValueError, match=r"^line 8: ") as raised:
        search_in_c(workers, [[3, 2]], settings, lines=[7])
    assert isinstance(raised.value, NotFiniteError) == (spread != 2.0)
    check_twins(library, Oracle(vocabulary=9, spread=spread), 9, [[3, 2]], settings, lines=[7])


@pytest.mark.parametrize(
    ("settings", "how", "message"),
    [
        (Decode(beam=2), {"n_best": 3}, "n_best=3 needs"),
        (Decode(search="greedy"), {"n_best": 2}, "use search=beam"),
        (Decode(max_extra=2), {"prefixes": [[], [3, 3, 3, 3]]}, "line 2: .* at most 3"),
        (Decode(), {"prefixes": [[]]}, "2 sources, 1 prefixes, 2 lines"),
        (Decode(max_extra=90, min_length=50), {"longest": 60}, "line 1: min_length .* at most 39"),
    ],
)
def test_the_impossible_is_refused(
    library: ctypes.CDLL, settings: Decode, how: Any, message: str
) -> None:
    workers = Workers(library, [CallbackNetwork(Oracle(), 7, longest=40).struct])
    with pytest.raises(ValueError, match=message):
        search_in_c(workers, [[2], [3, 2]], settings, **how)


@pytest.mark.parametrize("prefix", [[7], [1 << 40]])
def test_an_unknown_token_is_refused(library: ctypes.CDLL, prefix: list[int]) -> None:
    with pytest.raises(IndexError, match="not in the vocabulary"):
        search_in_c(put_behind(library, Oracle(), 7), [[3, 2]], Decode(), prefixes=[prefix])


def test_too_many_tokens_are_refused(library: ctypes.CDLL) -> None:
    workers = Workers(library, [CallbackNetwork(Oracle(), 7, longest=4).struct])
    with pytest.raises(ValueError, match="more tokens than the model has positions"):
        search_in_c(workers, [[3, 3, 3, 3, 2]], Decode())
    with pytest.raises(ValueError, match="more tokens than the model has positions"):
        score_in_c(workers, [[3, 2]], [[3, 3, 3, 3]])


def test_a_network_that_fails_ends_the_search(library: ctypes.CDLL) -> None:
    network = Oracle()
    network.step = None  # type: ignore[method-assign, assignment]
    for number in (1, 3):
        with pytest.raises(RuntimeError, match="code 6"):
            search_in_c(put_behind(library, network, 7, number), SOURCES, Decode())


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("method", METHODS)
def test_where_memory_runs_out_fewer_are_at_work(
    library: ctypes.CDLL, method: Any, number: int
) -> None:
    settings = Decode(search=method, beam=3, max_extra=9)
    plenty = search_in_c(put_behind(library, Oracle(), 7), SOURCES, settings)
    network, budget, done = Oracle(), Budget(10**6), list[int]()
    rows = settings.beam if method == "beam" else 1  # of a sentence
    step, most = network.step, rows * max(map(len, SOURCES))  # room for the longest alone

    def run_out(tokens_RQ: Tensor, state: Any) -> Tensor:
        if len(state.given) * max(map(len, state.sources)) > most:
            raise MemoryError
        return step(tokens_RQ, state)

    network.step = run_out  # type: ignore[method-assign]
    workers = put_behind(library, network, 7, number)
    assert search_in_c(workers, SOURCES, settings, budget=budget, progress=done.append) == plenty
    assert sum(done) == len(SOURCES) and 0 < budget.tokens <= most


def test_a_sentence_without_room_is_named(library: ctypes.CDLL) -> None:
    network = Oracle()

    def run_out(*_: Any) -> None:
        raise MemoryError

    network.step = run_out  # type: ignore[method-assign, assignment]
    either = "line 8: there is not enough memory for a sentence of 3|line 9: .* of 2"
    for number in (1, 2):
        with pytest.raises(ValueError, match=either):
            workers = put_behind(library, network, 7, number)
            search_in_c(workers, [[3, 4, 2], [5, 2]], Decode(), lines=[7, 8])


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_progress_is_told_and_may_end_the_search(
    library: ctypes.CDLL, error: type[BaseException]
) -> None:
    done: list[int] = []
    search_in_c(put_behind(library, Oracle(), 7, 2), SOURCES, Decode(), progress=done.append)
    assert sum(done) == len(SOURCES) and len(done) > 1

    def stop(_: int) -> None:
        raise error("enough")

    workers = put_behind(library, Oracle(), 7, 2)
    with pytest.raises(error, match="enough"):
        search_in_c(workers, SOURCES, Decode(), budget=30, progress=stop)
    assert len(search_in_c(workers, SOURCES, Decode())) == len(SOURCES)  # nothing is left behind


def test_an_interrupt_at_the_beginning_of_a_callback_ends_the_search(
    library: ctypes.CDLL, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "tell":
            raise KeyboardInterrupt

    hook, workers = sys.unraisablehook, put_behind(library, Oracle(), 7, 2)
    sys.setprofile(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            search_in_c(workers, SOURCES, Decode(), budget=30)
    finally:
        sys.setprofile(None)
    assert sys.unraisablehook is hook and not any(capsys.readouterr())
    assert len(search_in_c(workers, SOURCES, Decode())) == len(SOURCES)


@pytest.mark.parametrize("number", [1, 3])
def test_scores_are_twins(library: ctypes.CDLL, number: int) -> None:
    targets = [source[: 3 * i % 7][:-1] for i, source in enumerate(reversed(SOURCES))]
    expected, done = score_targets(Oracle(), SOURCES, targets), list[int]()
    workers = put_behind(library, Oracle(), 7, number)
    found = score_in_c(workers, SOURCES, targets, budget=30, progress=done.append, next_size=3)
    assert sum(done) == len(SOURCES)
    for source, target, one, other in zip(SOURCES, targets, found, expected, strict=True):
        assert one.log_probs == pytest.approx(other, abs=1e-5)
        after = Oracle().log_probs(source, (1, *target))
        best = sorted(((id, after[id]) for id in range(2, 7)), key=lambda each: -each[1])[:3]
        assert [id for id, _ in one.next_tokens] == [id for id, _ in best]
        assert [p for _, p in one.next_tokens] == pytest.approx([p for _, p in best], abs=1e-5)


def test_many_tokens_are_scored_in_parts(library: ctypes.CDLL) -> None:
    """At most 512 at once, wherever a pair ends."""
    network = Oracle()
    sources, targets = [[3, 2]] * 3, [DRAW.choices(range(3, 7), k=300) for _ in range(3)]
    found = score_in_c(put_behind(library, network, 7), sources, targets)
    assert [call for call in network.calls if "step" in call] == ["step 301"] * 2
    expected = score_targets(Oracle(), sources, targets)
    for one, other in zip(found, expected, strict=True):
        assert one.log_probs == pytest.approx(other, abs=1e-5)


def test_errors_of_scoring(library: ctypes.CDLL) -> None:
    with pytest.raises(ValueError, match="2 sources but 1 targets"):
        score_in_c(put_behind(library, Oracle(), 7), [[2], [2]], [[3]])
    with pytest.raises(NotFiniteError, match="not finite"):
        score_in_c(put_behind(library, Oracle(spread=math.nan), 7), [[2]], [[3]])


class Watched(CallbackNetwork):
    """A network whose attention can be seen: a function of the source and of all tokens so far."""

    def watch(self, watched: Any, count: int) -> None:
        weights = as_array(watched.weights, watched.count, count, watched.stride)
        assert watched.apart >= count * watched.stride and not weights.any()
        for h, head in enumerate(as_array(watched.heads, watched.count, 2).tolist()):
            for n, (row, _) in enumerate(self.places):
                end = sum(other == row for other, _ in self.places[n + 1 :])
                given = self.state.given[row]
                seen = attend(head, self.state.sources[row], given[: len(given) - end])
                weights[h, n, : len(seen)] = seen


def attend(seen: Sequence[int], source: Any, given: Any) -> list[float]:
    return Oracle(seen[0] * 10 + seen[1], len(source)).logits(source, given).tolist()


@pytest.mark.parametrize("heads", [[(4, 1)], [(4, None)], [(4, 1), (2, None), (4, 0)]])
def test_attention_of_given_pairs(
    library: ctypes.CDLL, heads: list[tuple[int, int | None]]
) -> None:
    long = [source for source in SOURCES if len(source) > 2]  # EOS has a logit of its own
    targets = [source[: i % 7][:-1] for i, source in enumerate(reversed(long))]
    behind = [Watched(Oracle(), 7) for _ in range(2)]
    workers = Workers(library, [each.struct for each in behind])
    found = score_in_c(workers, long, targets, heads=heads, budget=40)
    for source, target, one in zip(long, targets, found, strict=True):
        expected = [
            [attend((layer, code), source, (1, *target[:n])) for n in range(len(target) + 1)]
            for layer, head in heads
            for code in [-1 if head is None else head]
        ]
        assert np.stack(one.weights) == pytest.approx(torch.tensor(expected).numpy(), abs=1e-6)
    with pytest.raises(RuntimeError, match="code 6"):
        score_in_c(put_behind(library, Oracle(), 7), long, targets, heads=[(0, 0)])


def test_torch_is_not_imported() -> None:
    code = "import sys, glassformer.engine.native; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
