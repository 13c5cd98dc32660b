"""The whole engine in C: search and scoring over its own network, for several threads at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.config import Config, Decode, Model
from glassformer.decode import score_targets, search
from glassformer.decode.sentences import Budget
from glassformer.engine.native_engine import NativeEngine
from glassformer.engine.native_model import NativeModel, choose_budget, choose_workers
from glassformer.foundation.shared_library import load_library
from glassformer.foundation.tap import record
from glassformer.model.files.tensors import store_tensors
from glassformer.model.transformer import Transformer
from glassformer.translator import Translator

from .conftest import Driver
from .test_native_network import KINDS, make_network

pytestmark = pytest.mark.skipif(load_library("engine") is None, reason="no library here")
SEARCHES = {
    "greedy": Decode(search="greedy", max_extra=9),
    "beam": Decode(beam=4, max_extra=9),
    "rules": Decode(beam=3, stop="first", no_repeat_ngram_size=2, min_length=3, max_extra=9),
    "sample": Decode(search="sample", temperature=0.8, max_extra=9),
    "top_k": Decode(search="sample", top_k=5, max_extra=9),
}
KIND = 1
VOCABULARY = KINDS[KIND][1]


@dataclass
class DrivenState:
    length_R: Tensor
    sources: list[list[int]]
    given: list[list[int]]  # the tokens of each row
    beams: int = 1


class Driven:
    """The network in C as the search in PyTorch sees it."""

    def __init__(self, driver: Driver):
        self.driver = driver

    def start(self, source_BS: Tensor) -> DrivenState:
        self.driver.clear()
        sources = [[token for token in row if token] for row in source_BS.tolist()]
        self.driver.admit(sources)
        return DrivenState(
            torch.zeros(len(sources), dtype=torch.long), sources, [[]] * len(sources)
        )

    def step(self, tokens_RQ: Tensor, state: DrivenState) -> Tensor:
        error, logits = self.driver.step(tokens_RQ.tolist())
        assert error == 0
        state.length_R = state.length_R + tokens_RQ.size(1)
        state.given = [old + new for old, new in zip(state.given, tokens_RQ.tolist(), strict=True)]
        return torch.from_numpy(logits)

    def keep(self, rows: Tensor, state: DrivenState) -> None:
        sentences = [*dict.fromkeys((rows // state.beams).tolist())]
        state.length_R, state.beams = state.length_R[rows], len(rows) // len(sentences)
        state.sources = [state.sources[b] for b in sentences]
        state.given = [state.given[row] for row in rows.tolist()]
        assert self.driver.keep(rows.tolist(), state.beams) == 0

    def rewind(self, length_R: Tensor, state: DrivenState) -> None:
        """Read everything again, but what is cut off: the network in C cannot go back."""
        state.length_R = length_R
        state.given = [
            old[:length] for old, length in zip(state.given, length_R.tolist(), strict=True)
        ]
        self.driver.clear()
        assert self.driver.admit(state.sources, state.beams) == 0
        assert self.driver.extend(state.given)[0] == 0


@pytest.fixture(scope="module")
def network() -> Transformer:
    made = make_network(KIND)
    with torch.no_grad():
        made.output_table.weight.mul_(3)  # so that no two tokens are nearly as good
    return made


@pytest.fixture(params=["fp32", "int8"])
def engine(request: Any, network: Transformer) -> Iterator[NativeEngine]:
    made = NativeEngine.open(network.settings, store_tensors(network.state_dict()), request.param)
    yield made
    made.close()


def draw_rows(lengths: Sequence[int], seed: int = 3) -> list[list[int]]:
    draw = np.random.default_rng(seed)
    return [draw.integers(3, VOCABULARY, length).tolist() for length in lengths]


SOURCES = [[*row, 2] for row in draw_rows([0, 5, 9, 3, 14, 1, 7, 7, 2, 20, 11, 4])]
PREFIXES = draw_rows([0, 1, 0, 4, 0, 2, 0, 0, 8, 0, 1, 0])


@pytest.mark.parametrize("name", SEARCHES)
@torch.inference_mode()
def test_the_search_in_c_is_the_search_in_python_over_the_same_network(
    engine: NativeEngine, network: Transformer, name: str
) -> None:
    settings = SEARCHES[name]
    how: dict[str, Any] = {"n_best": 2 if settings.search == "beam" else 1, "seed": 5}
    driver = Driver(engine.model)
    for prefixes in (None, PREFIXES):
        expected = search(Driven(driver), SOURCES, settings, prefixes=prefixes, longest=40, **how)
        for workers, budget in ((1, 4096), (2, 60)):
            found = engine.search(
                SOURCES, settings, prefixes=prefixes, workers=workers, budget=budget, **how
            )
            assert [[h.tokens for h in each] for each in found] == [
                [h.tokens for h in each] for each in expected
            ]
            scores = [[[h.score for h in each] for each in side] for side in (found, expected)]
            for one, other in zip(*scores, strict=True):
                assert one == pytest.approx(other, abs=1e-5, rel=1e-5)
    driver.model.close_network(driver.network)


@torch.inference_mode()
def test_fp32_translates_and_scores_as_the_model_does(network: Transformer) -> None:
    engine = NativeEngine.open(network.settings, store_tensors(network.state_dict()), "fp32")
    settings = SEARCHES["beam"]
    expected = search(network, SOURCES, settings, longest=40)
    found = engine.search(SOURCES, settings, workers=2)
    assert [each.tokens for [each] in found] == [each.tokens for [each] in expected]
    assert [each.score for [each] in found] == pytest.approx(
        [each.score for [each] in expected], abs=1e-3
    )
    scored = engine.score(SOURCES, PREFIXES, workers=2, budget=50)
    for one, log_probs in zip(scored, score_targets(network, SOURCES, PREFIXES), strict=True):
        assert one.log_probs == pytest.approx(log_probs, abs=1e-3)
    engine.close()


@torch.inference_mode()
def test_attention_is_that_of_the_model(network: Transformer) -> None:
    """That of all heads, and the mean of each layer, in one pass."""
    engine = NativeEngine.open(network.settings, store_tensors(network.state_dict()), "fp32")
    layers, heads = range(network.settings.decoder_layers), range(network.settings.heads)
    wanted = [(layer, head) for layer in layers for head in (None, *heads)]
    scored = engine.score(SOURCES, PREFIXES, heads=wanted, workers=2, budget=50)
    names = [f"decoder.{layer}.cross_attention.weights" for layer in layers]
    for source, target, one in zip(SOURCES, PREFIXES, scored, strict=True):
        with record(network, {*names}.__contains__) as (view, taken):
            view.read(torch.tensor([source]), torch.tensor([[1, *target]]))
        each_HTS = (taken[name][0][0] for name in names)
        expected = torch.cat([torch.cat((x.mean(0, keepdim=True), x)) for x in each_HTS])
        assert np.stack(one.weights) == pytest.approx(expected.numpy(), abs=1e-4)
    engine.close()


def test_threads_share_a_model(engine: NativeEngine) -> None:
    settings = SEARCHES["beam"]
    expected = engine.search(SOURCES, settings)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(engine.search, SOURCES, settings, workers=1 + i % 2) for i in range(8)]
        assert all(call.result() == expected for call in calls)


def test_a_missing_table_is_named(network: Transformer) -> None:
    tensors = store_tensors(network.state_dict())
    del tensors["source_embedding.table.weight"]
    with pytest.raises(ValueError, match=r"no tensor source_embedding\.table\.weight"):
        NativeEngine.open(network.settings, tensors)


WITHOUT_TORCH = """
import sys
from glassformer.model.files.directory import SHIPPED, open_model
from glassformer.decode.sentences import Budget
from glassformer.engine.native_engine import NativeEngine
from glassformer.engine.native_model import choose_budget

config, tokenizers, weights = open_model(SHIPPED / "demo")
engine = NativeEngine.open(config.model, weights.tensors, sys.argv[1])
source = [*tokenizers.source.encode("The cat is on the mat."), 2]
[[found]] = engine.search([source], config.decode)
[scored] = engine.score([source], [found.tokens])
assert abs(sum(scored.log_probs) - found.log_prob) < 1e-3
assert "torch" not in sys.modules
print(tokenizers.target.decode(found.tokens))
"""


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_demo_translates_without_torch(precision: str) -> None:
    command = [sys.executable, "-c", WITHOUT_TORCH, precision]
    made = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.strip() == Translator.load("demo", precision="fp32").translate(
        "The cat is on the mat."
    )


SIZES = [("tiny", 8000, 1049), ("base", 32000, 4096)]


@pytest.mark.parametrize(("size", "vocabulary", "most"), SIZES)
def test_tokens_at_work_follow_the_size(size: str, vocabulary: int, most: int) -> None:
    settings = Config.read({"size": size}).model
    assert choose_budget(settings, vocabulary) == most
    assert choose_budget(settings.model_copy(update={"d_model": 8}), 9) == 256


@pytest.mark.parametrize(
    ("size", "rows", "most", "wanted"),
    [
        ("base", 5, 1, 1),
        ("base", 1, 2, 1),
        ("base", 2, 2, 2),
        ("base", 4, 16, 2),  # a third would read all weights for one row
        ("base", 10, 2, 2),
        ("base", 16, 16, 8),
        ("base", 400, 16, 16),
        ("tiny", 2, 2, 2),
        ("tiny", 0, 2, 1),
    ],
)
def test_a_third_worker_has_to_pay(size: str, rows: int, most: int, wanted: int) -> None:
    vocabulary = next(count for name, count, _ in SIZES if name == size)
    settings = Config.read({"size": size}).model
    assert choose_workers(settings, vocabulary, rows, most) == wanted


def test_a_smaller_number_at_work_is_not_remembered(engine: NativeEngine) -> None:
    """A budget shrinks where memory runs out, not where fewer tokens at work are faster."""
    budget = Budget(100_000)
    wanted = engine.search([[5, 2]] * 3, SEARCHES["greedy"], budget=256)
    found = engine.search([[5, 2]] * 3, SEARCHES["greedy"], budget=budget)
    assert budget.tokens == 100_000
    assert [each[0].tokens for each in found] == [each[0].tokens for each in wanted]


def test_sums_that_would_overflow_are_refused() -> None:
    """66,311 products of 255 and 127 are more than 32 bits hold."""
    settings = Model(d_model=8, heads=1, d_ff=70_016, encoder_layers=1, decoder_layers=1)
    with pytest.raises(ValueError, match=r"int8 sums of 70,016 numbers would overflow"):
        NativeModel(load_library("engine"), settings, (300, 300), {}, "int8")
