"""The engine in C finds what the network itself finds in PyTorch; in int8, nearly so."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.config import Decode, Model, Positions
from glassformer.decode import Hypothesis, search
from glassformer.decode.ensemble import Ensemble
from glassformer.engine.native_engine import NativeEngine, NativeEnsembleEngine
from glassformer.foundation.shared_library import find_library, load_library
from glassformer.model.files.tensors import store_tensors
from glassformer.model.transformer import Transformer

pytestmark = pytest.mark.skipif(load_library("engine") is None, reason="no library here")
V, EOS = 41, 2
BIG = Model(d_model=32, d_ff=48, heads=4, encoder_layers=2, decoder_layers=2)
SETTINGS: dict[str, dict[str, Any]] = {
    "post": {},
    "pre": {"norm": "pre", "activation": "gelu"},
    "concatenated": {"positions": Positions(layout="concatenated"), "tie": "two-way"},
    "learned": {"positions": Positions(layout="learned"), "tie": "none", "activation": "silu"},
    "ssru": {"decoder": "ssru"},
    "ssru-pre": {"decoder": "ssru", "norm": "pre", "d_model": 20, "tie": "none"},
    "Marian's": {"output_bias": True, "norm_epsilon": 1e-3, "head_width": 5},
}
SEARCHES = {
    "greedy": Decode(search="greedy", max_extra=6),
    "beam": Decode(beam=4, max_extra=6),
    "rules": Decode(
        beam=3,
        stop="first",
        length_penalty="power",
        no_repeat_ngram_size=2,
        min_length=3,
        max_extra=6,
    ),
    "sample": Decode(search="sample", top_p=0.9, temperature=1.3, max_extra=6),
}
COARSER = find_library("engine").instruction_set in ("avx2", "generic")  # weights in fewer steps
Open = Callable[[Transformer, str], NativeEngine]


def build(**changes: object) -> Transformer:
    """Sure enough of itself that no two hypotheses tie."""
    torch.manual_seed(5)
    network = Transformer(BIG.model_copy(update=changes), V, V).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() == 1:
                torch.nn.init.normal_(parameter, mean=0.5)
        network.output_table.weight.mul_(3)
    return network


@pytest.fixture
def pack() -> Iterator[Open]:
    opened = []

    def open_engine(network: Transformer, precision: str) -> NativeEngine:
        stored = store_tensors(network.state_dict())
        opened.append(NativeEngine.open(network.settings, stored, precision))
        return opened[-1]

    yield open_engine
    for each in opened:
        each.close()


@pytest.fixture
def sources() -> list[list[int]]:
    draw = random.Random(4)
    return [[*draw.choices(range(3, V), k=draw.randint(0, 11)), EOS] for _ in range(24)]


@torch.inference_mode()
def find(network: Transformer, sources: list[list[int]], name: str) -> list[Hypothesis]:
    return [best for (best,) in search(network, sources, SEARCHES[name])]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", SEARCHES)
def test_the_same_words(sources: list[list[int]], setting: str, name: str, pack: Open) -> None:
    network = build(**SETTINGS[setting])
    found = pack(network, "fp32").search(sources, SEARCHES[name])
    for (one,), other in zip(found, find(network, sources, name), strict=True):
        assert one.tokens == other.tokens
        assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-4)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("setting", ["post", "ssru"])
def test_nothing_depends_on_the_company(
    sources: list[list[int]], setting: str, name: str, precision: str, pack: Open
) -> None:
    """Not by a bit: alone, in small batches, refilled, by several workers, with prefixes or not."""
    engine, settings = pack(build(**SETTINGS[setting]), precision), SEARCHES[name]
    for prefixes in ([[]] * 24, [[9, 5, 7, 30][: i % 5] for i in range(24)]):
        alone = [
            engine.search([source], settings, lines=[line], prefixes=[prefix])[0]
            for line, (source, prefix) in enumerate(zip(sources, prefixes, strict=True))
        ]
        assert len({tuple(best.tokens) for (best,) in alone}) > 3
        for how in ({}, {"budget": 60}, {"budget": 200}, {"workers": 3}):
            assert engine.search(sources, settings, prefixes=prefixes, **how) == alone


@pytest.mark.parametrize("setting", [*SETTINGS, "a large epsilon"])
def test_int8_is_close(sources: list[list[int]], setting: str, pack: Open) -> None:
    """In log-probability, of the same targets; and it is not fp32 under another name."""
    network = build(**SETTINGS.get(setting, {"norm_epsilon": 1.0}))
    targets = [best.tokens for best in find(network, sources, "greedy")]
    exact, coarse = (
        np.array([x for each in engine.score(sources, targets) for x in each.log_probs])
        for engine in (pack(network, "fp32"), pack(network, "int8"))
    )
    assert 1e-5 < np.abs(exact - coarse).mean() < 0.1
    assert abs(exact.mean() - coarse.mean()) < (0.1 if COARSER else 0.06)


def test_tokens_that_do_not_exist_are_refused(pack: Open) -> None:
    engine = pack(build(), "int8")
    for wrong in (-1, V):
        with pytest.raises(IndexError, match="not in the vocabulary"):
            engine.search([[5, wrong, 2]], SEARCHES["beam"])
        with pytest.raises(IndexError, match="not in the vocabulary"):
            engine.score([[5, 2]], [[wrong]])


@pytest.mark.parametrize(
    "part",
    [
        "source_embedding.table.weight",
        "encoder.1.feed_forward.inner.weight",
        "encoder.0.self_attention.to_key.bias",
        "decoder.1.feed_forward_residual.norm.weight",
        "target_embedding.positions_LD",
    ],
)
def test_weights_of_another_shape_are_refused(part: str, pack: Open) -> None:
    """As when the file is replaced while it is read."""
    network = build(**SETTINGS["learned"])
    stored = store_tensors(network.state_dict())
    stored[part] = store_tensors({part: network.state_dict()[part][..., :-8]})[part]
    with pytest.raises(ValueError, match=part.split(".")[0]):
        NativeEngine.open(network.settings, stored, "int8")


def test_an_error_of_one_worker_ends_all(sources: list[list[int]], pack: Open) -> None:
    network = build()
    with torch.no_grad():
        network.decoder[0].feed_forward.inner.bias.fill_(float("nan"))
    with pytest.raises(ValueError, match="not finite"):
        pack(network, "fp32").search(sources, SEARCHES["beam"], workers=2)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_recurrent_decoders_score_all_tokens_as_one_by_one(
    sources: list[list[int]], precision: str, pack: Open
) -> None:
    """A target given whole, whose cells follow one another within a step, and a search's steps."""
    engine = pack(build(decoder="ssru"), precision)
    found = [best for (best,) in engine.search(sources, SEARCHES["beam"])]
    targets = [best.tokens for best in found]
    for one, best in zip(engine.score(sources, targets), found, strict=True):
        assert one.log_probs[: len(best.tokens)] == pytest.approx(best.token_log_probs, abs=1e-5)


@torch.inference_mode()
def test_recurrent_and_attending_decoders_are_joined(sources: list[list[int]], pack: Open) -> None:
    """An ensemble of both kinds, against the one in PyTorch."""
    networks = [build(), build(decoder="ssru")]
    joined = NativeEnsembleEngine([pack(network, "fp32") for network in networks])
    wanted = [best for (best,) in search(Ensemble(networks), sources, SEARCHES["beam"])]
    for (one,), other in zip(joined.search(sources, SEARCHES["beam"]), wanted, strict=True):
        assert one.tokens == other.tokens
        assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-4)
