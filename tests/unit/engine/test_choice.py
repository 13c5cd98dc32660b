"""Which precision is taken: what is fast, what is close, and what is measurement_cache."""

from __future__ import annotations

import pytest
import torch

from glassformer.config import Model
from glassformer.engine import choice, measurement_cache, weights
from glassformer.engine.choice import build_engine, is_close, time_precisions
from glassformer.engine.engine import Engine
from glassformer.kernels.int8 import can_decode
from glassformer.kernels.packed import can_multiply
from glassformer.model import Transformer

SETTINGS = Model(d_model=32, d_ff=48, heads=4, encoder_layers=1, decoder_layers=1)
EXAMPLES = [([5, 6, 7, 2], [8, 9, 4]), ([9, 2], [3])]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSFORMER_CACHE", str(tmp_path / "cache"))
    with torch.inference_mode():
        yield tmp_path / "cache"


@pytest.fixture
def read():
    torch.manual_seed(0)
    return Transformer(SETTINGS, 50, 50).state_dict().__getitem__


def say(monkeypatch, **seconds: float) -> None:
    monkeypatch.setattr(choice, "time_precisions", lambda settings, vocabulary: seconds)


def test_int8_is_for_processors(read, monkeypatch) -> None:
    monkeypatch.setattr(weights, "name_device", str)
    network = Transformer(SETTINGS, 50, 50)
    for precision in ("auto", "fp32", "bf16"):
        weights.Weights(network, SETTINGS, lambda *texts: [], device="cuda", precision=precision)
    with pytest.raises(ValueError, match="int8 is for processors, not cuda: use bf16"):
        weights.Weights(network, SETTINGS, lambda *texts: [], device="cuda", precision="int8")


def test_without_examples_auto_is_fp32(read, monkeypatch) -> None:
    say(monkeypatch, fp32=9.0, bf16=1.0)
    assert build_engine(SETTINGS, read, "auto").precision == "fp32"


@pytest.mark.skipif(not can_multiply("bf16"), reason="this PyTorch has no packed bf16 product")
@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [({"fp32": 1.0, "bf16": 0.5}, "bf16"), ({"fp32": 1.0, "bf16": 0.99}, "fp32")],
)
def test_auto_is_the_fastest_if_it_is_worth_it(read, monkeypatch, seconds, wanted) -> None:
    say(monkeypatch, **seconds)
    assert build_engine(SETTINGS, read, "auto", EXAMPLES, "a").precision == wanted


@pytest.mark.skipif(not can_multiply("bf16"), reason="this PyTorch has no packed bf16 product")
def test_what_loses_too_much_is_not_taken(read, monkeypatch) -> None:
    say(monkeypatch, fp32=9.0, bf16=1.0)
    monkeypatch.setattr(choice, "TOKEN", 1e-9)
    assert build_engine(SETTINGS, read, "auto", EXAMPLES, "b").precision == "fp32"


def test_a_loss_is_measured_once(read, monkeypatch) -> None:
    engine = Engine(SETTINGS, read)
    assert is_close(engine, SETTINGS, read, EXAMPLES, "c")
    monkeypatch.setattr(choice, "_measure", lambda *given: pytest.fail("measured again"))
    assert is_close(engine, SETTINGS, read, EXAMPLES, "c")


@pytest.mark.parametrize(
    ("shift", "sway", "wanted"),
    [
        (0.019, 0.0, True),
        (0.021, 0.0, False),
        (-0.021, 0.0, False),
        (0.0, 0.14, True),
        (0.0, 0.16, False),
    ],
)
def test_how_much_may_be_lost(read, monkeypatch, shift, sway, wanted) -> None:
    """In nats a token: 0.02 of the loss, 0.15 of a token's log-probability; see docs/benchmarks."""
    exact = torch.linspace(-3, -1, 40)
    coarse = exact + shift + sway * torch.tensor([1.0, -1.0]).repeat(20)
    taken = iter((exact, coarse))
    monkeypatch.setattr(choice, "_measure", lambda *given: next(taken))
    assert is_close(Engine(SETTINGS, read), SETTINGS, read, EXAMPLES, "e") == wanted


def test_logits_that_are_no_numbers_are_not_close(read) -> None:
    engine = Engine(SETTINGS, read)
    engine.decoder[0].norm.weight_D.fill_(torch.nan)
    assert not is_close(engine, SETTINGS, read, EXAMPLES, "d")


def test_a_machine_is_timed_once(monkeypatch, cache) -> None:
    first = time_precisions(SETTINGS, 50)
    there = {each for each in ("fp32", "bf16", "int8") if can_multiply(each)}
    assert set(first) == there | ({"int8"} if can_decode() else set())
    assert all(seconds > 0 for seconds in first.values())
    monkeypatch.setattr(choice, "_time", lambda *given: pytest.fail("timed again"))
    assert time_precisions(SETTINGS, 50) == first


@pytest.mark.parametrize("content", ["", "[]", "{", '{"k": 3}', '{"k": {"fp32": "x"}}'])
def test_a_damaged_memory_is_none(cache, content) -> None:
    cache.mkdir()
    (cache / measurement_cache.FILE).write_text(content, encoding="utf-8")
    assert not measurement_cache.recall("k")
    measurement_cache.remember("k", {"fp32": 1.5})
    assert measurement_cache.recall("k") == {"fp32": 1.5}


def test_a_folder_that_cannot_be_written_does_no_harm(cache) -> None:
    cache.write_text("a file, not a folder", encoding="utf-8")
    measurement_cache.remember("k", {"fp32": 1.0})
    assert measurement_cache.recall("k") is None
