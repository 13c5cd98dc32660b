"""The packed network finds what the network itself finds; in fewer bits, nearly so."""

from __future__ import annotations

import random

import pytest
import torch

from glassformer.config import Decode, Model, Positions
from glassformer.decode import Hypothesis, score_targets, search
from glassformer.engine import Engine, compiled
from glassformer.engine.choice import Packed
from glassformer.engine.compiled import Compiled
from glassformer.kernels.int8 import can_decode, get_library
from glassformer.kernels.packed import can_multiply
from glassformer.kernels.topk import topk_logsumexp
from glassformer.model import Transformer

V, EOS = 41, 2
BIG = Model(d_model=32, d_ff=48, heads=4, encoder_layers=2, decoder_layers=2)
SETTINGS = {
    "post": {},
    "pre": {"norm": "pre", "activation": "gelu"},
    "concatenated": {"positions": Positions(layout="concatenated"), "tie": "two-way"},
    "learned": {"positions": Positions(layout="learned"), "tie": "none", "activation": "silu"},
    "Marian's": {"output_bias": True, "norm_epsilon": 1e-3, "head_width": 5},
}
SEARCHES = {
    "greedy": Decode(search="greedy"),
    "beam": Decode(beam=4),
    "rules": Decode(
        beam=3, stop="first", length_penalty="power", no_repeat_ngram_size=2, min_length=3
    ),
    "sample": Decode(search="sample", top_p=0.9, temperature=1.3),
}
COARSE = [each for each in ("bf16", "int8") if can_multiply(each)]
COARSE += ["int8 in C"] if can_decode() else []
COARSER = can_decode() and get_library().decode_level() == 1  # weights in fewer steps


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


def pack(network: Transformer, precision: str = "fp32") -> Packed:
    read = network.state_dict().__getitem__
    if precision == "int8 in C":
        return Compiled(network.settings, read)
    return Engine(network.settings, read, precision)


@pytest.fixture(autouse=True)
def share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small as these networks are, several threads share them."""
    monkeypatch.setattr(compiled, "SMALL", 0)


@pytest.fixture
def sources() -> list[list[int]]:
    draw = random.Random(4)
    return [[*draw.choices(range(3, V), k=draw.randint(0, 11)), EOS] for _ in range(24)]


def find(network: object, sources: list[list[int]], name: str, **how: object) -> list[Hypothesis]:
    settings = SEARCHES[name].model_copy(update={"max_extra": 6})
    with torch.inference_mode():
        found = search(network, sources, settings, **how)  # type: ignore[type-var, arg-type]
    return [best for (best,) in found]


def same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [best.tokens for best in found] == [best.tokens for best in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-4)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", SEARCHES)
def test_the_same_words(sources: list[list[int]], setting: str, name: str) -> None:
    network = build(**SETTINGS[setting])
    same(find(pack(network), sources, name), find(network, sources, name))


@pytest.mark.parametrize("name", SEARCHES)
def test_company_changes_nothing(sources: list[list[int]], name: str) -> None:
    """Alone, all at once, in small batches, refilled, and by several workers."""
    engine = pack(build())
    alone = [find(engine, [s], name, lines=[line])[0] for line, s in enumerate(sources)]
    assert len({tuple(best.tokens) for best in alone}) > 3
    for how in ({}, {"budget": 60}, {"budget": 200, "refill": True}, {"workers": 3}):
        same(find(engine, sources, name, **how), alone)


def test_forced_beginnings(sources: list[list[int]]) -> None:
    network, prefixes = build(), [[9, 5, 7, 30][: i % 5] for i in range(24)]
    expected = find(network, sources, "beam", prefixes=prefixes)
    same(find(pack(network), sources, "beam", prefixes=prefixes, budget=300), expected)


@pytest.mark.parametrize("precision", ["fp32", *COARSE])
def test_epsilon_is_added_to_the_variance(sources: list[list[int]], precision: str) -> None:
    """One as large as the variance itself: beside the root it would halve what is under it."""
    network = build(norm_epsilon=1.0)
    targets = [best.tokens for best in find(network, sources, "greedy")]
    with torch.inference_mode():
        exact, ours = (
            torch.tensor([x for row in score_targets(each, sources, targets) for x in row])
            for each in (network, pack(network, precision))
        )
    assert (exact - ours).abs().mean() < (1e-5 if precision == "fp32" else 0.1)


@pytest.mark.parametrize("precision", COARSE)
@pytest.mark.parametrize("setting", SETTINGS)
def test_coarse_numbers_are_close(sources: list[list[int]], setting: str, precision: str) -> None:
    """In log-probability, of the same targets; and it is not fp32 under another name."""
    network = build(**SETTINGS[setting])
    targets = [best.tokens for best in find(network, sources, "greedy")]
    with torch.inference_mode():
        exact, coarse = (
            torch.tensor([x for row in score_targets(each, sources, targets) for x in row])
            for each in (network, pack(network, precision))
        )
    apart = (exact - coarse).abs()
    assert 1e-5 < apart.mean() < 0.1
    assert abs(exact.mean() - coarse.mean()) < (0.1 if COARSER else 0.06)


@pytest.mark.parametrize("precision", COARSE)
def test_coarse_numbers_do_not_depend_on_the_company(
    sources: list[list[int]], precision: str
) -> None:
    engine = pack(build(), precision)
    together = find(engine, sources, "greedy")
    alone = [find(engine, [source], "greedy")[0] for source in sources]
    assert [best.tokens for best in together] == [best.tokens for best in alone]


@pytest.mark.skipif(not can_decode(), reason="no native kernels")
@pytest.mark.parametrize("name", SEARCHES)
def test_in_c_nothing_depends_on_the_company(
    sources: list[list[int]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by a bit: batches, refilling, workers, threads."""
    engine, prefixes = pack(build(), "int8 in C"), [[9, 5, 7, 30][: i % 5] for i in range(24)]
    for forced in (None, prefixes):
        expected = find(engine, sources, name, prefixes=forced)
        for how in ({"budget": 60}, {"budget": 200, "refill": True}, {"workers": 3}):
            assert find(engine, sources, name, prefixes=forced, **how) == expected
        with monkeypatch.context() as alone:
            alone.setattr(compiled, "count_threads", lambda products: 1)
            assert find(engine, sources, name, prefixes=forced) == expected


@pytest.mark.skipif(not can_decode(), reason="no native kernels")
def test_little_is_not_shared_among_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "SMALL", 1000)
    assert compiled.count_threads(1000) == 1
    assert compiled.count_threads(1001) == torch.get_num_threads()


@pytest.mark.skipif(not can_decode(), reason="no native kernels")
def test_rows_that_begin_alike_are_as_if_alone() -> None:
    """In C they are one until they choose: old rows before them, one of them with another token."""
    network = pack(build(), "int8 in C")
    old_BS, new_BS = torch.tensor([[5, 6, EOS]]), torch.tensor([[7, 8, 9, EOS], [9, EOS, 0, 0]])
    together = network.start(old_BS)
    network.keep(torch.zeros(3, dtype=torch.long), together)
    steps = [[[1], [1], [4]], [[3], [8], [8], *[[1]] * 3, [1], [7], [1]], [[n] for n in range(9)]]
    found = [network.step(torch.tensor(steps[0]), together)]
    network.admit(new_BS, together)
    found += [network.step(torch.tensor(tokens), together) for tokens in steps[1:]]
    for row, (source_BS, first) in enumerate([(old_BS, 0)] * 3 + [(new_BS, 1)] * 6):
        sentence = (row - 3) // 3 if first else 0
        alone = network.start(source_BS[sentence : sentence + 1])
        for tokens, logits_R1V in zip(steps[first:], found[first:], strict=True):
            wanted_11V = network.step(torch.tensor([tokens[row]]), alone)
            assert torch.equal(logits_R1V[row], wanted_11V[0]), row


@pytest.mark.skipif(not can_decode(), reason="no native kernels")
@pytest.mark.parametrize("rows", [1, 3, 300])
@pytest.mark.parametrize("bias", [False, True])
def test_the_best_alone_are_the_best_of_all(rows: int, bias: bool) -> None:
    """Found while the logits are made, a part at a time, or afterwards: not a bit between them."""
    torch.manual_seed(5)
    network = Transformer(BIG.model_copy(update={"output_bias": bias}), 1500, 1500).eval()
    engine = pack(network, "int8 in C")
    source_BS, best = torch.tensor([[5, 6, EOS], [7, EOS, 0]]), []
    for shortcut in (False, True):
        state = engine.start(source_BS)
        engine.keep(torch.arange(2).repeat_interleave(rows), state)
        tokens_R1 = torch.arange(2 * rows)[:, None] % 7  # some rows begin alike
        for _ in range(3):
            if shortcut:
                found = engine.find_best(tokens_R1, state, 10, EOS)
            else:
                found = topk_logsumexp(engine.step(tokens_R1, state)[:, 0], 10, first=EOS)
            assert found is not None
            best.append(found)
            tokens_R1 = found[1][:, :1]
    for afterwards, at_once in zip(best[:3], best[3:], strict=True):
        for one, other in zip(afterwards, at_once, strict=True):
            assert torch.equal(one, other)
    assert engine.find_best(tokens_R1, state, 1499, EOS) is None  # and nothing is done
    assert state.length_R.tolist() == [3] * 2 * rows


@pytest.mark.skipif(not can_decode(), reason="no native kernels")
def test_tokens_that_do_not_exist_are_refused() -> None:
    engine = pack(build(), "int8 in C")
    for wrong in (-1, V):
        with pytest.raises(IndexError, match="not in the vocabulary"):
            engine.start(torch.tensor([[5, wrong, 2]]))
        with pytest.raises(IndexError, match="not in the vocabulary"):
            engine.step(torch.tensor([[wrong]]), engine.start(torch.tensor([[5, 2]])))


@pytest.mark.skipif(not can_decode(), reason="no native kernels")
def test_c_is_given_what_it_goes_by() -> None:
    """Whatever does not fit would be read as if it did."""
    engine, source_BS = pack(build(), "int8 in C"), torch.tensor([[5, 6, 2]])
    for wrong in ([[5, 0, 2]], [[0, 0, 2]]):
        with pytest.raises(ValueError, match="padding"):
            engine.start(torch.tensor(wrong))
    with pytest.raises(ValueError, match="int32"):
        engine.start(source_BS.int())
    for tokens, said in ((torch.ones(2, 1).long(), "2 rows"), (torch.ones(1, 1).int(), "int32")):
        with pytest.raises(ValueError, match=said):
            engine.step(tokens, engine.start(source_BS))


@pytest.mark.skipif(not can_decode(), reason="no native kernels")
@pytest.mark.parametrize(
    "part",
    [
        "source_embedding.table.weight",
        "output_table.weight",
        "encoder.1.feed_forward.inner.weight",
        "encoder.0.self_attention.to_key.bias",
        "decoder.0.cross_attention.to_output.weight",
        "decoder.1.feed_forward_residual.norm.weight",
        "target_embedding.positions_LD",
    ],
)
def test_weights_of_another_shape_are_refused(part: str) -> None:
    """As when the file is replaced while it is read."""
    network = build(**SETTINGS["learned"])
    weights = network.state_dict()
    weights[part] = weights[part][..., :-8].contiguous()
    with pytest.raises(ValueError, match=f"{part} has shape"):
        Compiled(network.settings, weights.__getitem__)


@pytest.mark.skipif(not can_decode(), reason="no native kernels")
@pytest.mark.parametrize(("width", "length"), [(4, 300), (32, 1), (64, 33), (96, 100), (128, 17)])
def test_in_c_it_is_the_same_network(width: int, length: int) -> None:
    """Heads of any width, sentences of any length: about a hundredth of how far logits spread."""
    network = build(head_width=width, positions=Positions(max_positions=400))
    source_BS = torch.randint(3, V, (3, length), generator=torch.Generator().manual_seed(1))
    source_BS[1, length // 2 + 1 :] = 0
    with torch.inference_mode():
        exact, found = (
            each.step(source_BS, each.start(source_BS))
            for each in (pack(network), pack(network, "int8 in C"))
        )
    share = 0.0125 if COARSER else 0.009
    assert (found - exact).abs().mean() < share * exact.std()


@pytest.mark.parametrize("precision", ["fp32", *COARSE])
@pytest.mark.parametrize("company", [1, 2, 24])
def test_many_tokens_at_once(sources: list[list[int]], precision: str, company: int) -> None:
    """What one after the other gives; a sentence alone included."""
    engine = pack(build(), precision)
    source_BS = torch.nn.utils.rnn.pad_sequence([torch.tensor(x) for x in sources[:company]], True)
    tokens_BT = torch.randint(3, V, (company, 11), generator=torch.Generator().manual_seed(1))
    logits = []
    with torch.inference_mode():
        for widths in ([1] * 11, [8, 3]):
            state, found = engine.start(source_BS), []
            for token_BQ in tokens_BT.split(widths, 1):
                found.append(engine.step(token_BQ, state))
                engine.keep(torch.arange(company), state)
            logits.append(torch.cat(found, 1))
    torch.testing.assert_close(*logits, atol=1e-4 if precision == "fp32" else 0.05, rtol=0)


def test_an_error_of_one_worker_ends_all(sources: list[list[int]]) -> None:
    engine = pack(build())
    engine.decoder[0].norm.weight_D.fill_(float("nan"))
    threads = torch.get_num_threads()
    with pytest.raises(ValueError, match="not finite"):
        find(engine, sources, "beam", workers=2)
    assert torch.get_num_threads() == threads
