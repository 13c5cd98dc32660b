"""The recurrent network beside PyTorch's own cells, slow loops, and itself by another way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.equal.test_stepwise import Program
from torch import Tensor, nn

from glassformer.config import Config, Decode, Model
from glassformer.decode import search
from glassformer.engine.kernels.fast import fast, find_difference
from glassformer.extensions.rnn.attention import SourceAttention
from glassformer.extensions.rnn.cells import CELLS, RecurrentCell
from glassformer.extensions.serve.page import build_page
from glassformer.foundation.tap import record as watch
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.files.directory import Tokenizers, build_model, load_model, save_model
from glassformer.model.networks import build_network
from glassformer.see import Trace, record
from glassformer.see.recompute import recompute
from glassformer.see.summary import summarise
from glassformer.text.kinds import train_tokenizer
from glassformer.translate.align.pairs import list_candidates
from glassformer.translator import Translator

V = 29
Check = Callable[..., None]
# RecurrentCell, attention, directions and layers: each value of each, and the corners.
KINDS: dict[str, dict[str, Any]] = {
    "gru-none": {"rnn": {}},
    "lstm-none-both": {"rnn": {"cell": "lstm", "bidirectional": True}, "layers": 2},
    "gru-dot-both": {"rnn": {"attention": "dot", "bidirectional": True}, "layers": 2},
    "lstm-general-fed": {
        "rnn": {"cell": "lstm", "attention": "general", "input_feeding": True},
        "layers": 2,
    },
    "gru-additive": {"rnn": {"attention": "additive"}, "layers": 3},
}


def make_settings(kind: str) -> Model:
    layers = KINDS[kind].get("layers", 1)
    depth = {"encoder_layers": layers, "decoder_layers": layers}
    small = {"network": "rnn", "d_model": 10, "dropout": 0.4, "positions": {"max_positions": 64}}
    return Config.read({"model": {**small, **depth, "rnn": KINDS[kind]["rnn"]}}).model


@pytest.fixture(params=list(KINDS))
def settings(request: pytest.FixtureRequest) -> Model:
    return make_settings(request.param)


@pytest.fixture
def network(settings: Model) -> EncoderDecoder:
    torch.manual_seed(1)
    return build_network(settings, V, V).eval()


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize("backward", [False, True])
def test_cells_are_those_of_torch(kind: str, backward: bool, equal: Check) -> None:
    """Position by position, with padding, and the last state too."""
    torch.manual_seed(3)
    ours: RecurrentCell = CELLS[kind](7, 5, backward=backward)
    theirs = {"gru": nn.GRU, "lstm": nn.LSTM}[kind](7, 5, batch_first=True)
    for name, weights in (
        ("weight_ih_l0", ours.from_input.weight),
        ("weight_hh_l0", ours.from_hidden.weight),
        ("bias_ih_l0", ours.from_input.bias),
        ("bias_hh_l0", ours.from_hidden.bias),
    ):
        setattr(theirs, name, nn.Parameter(weights.detach().clone()))
    x_BLD, lengths = torch.randn(3, 6, 7), [6, 1, 4]
    real_BL = torch.arange(6) < torch.tensor(lengths)[:, None]
    with torch.inference_mode():
        hidden_BLD, state = ours(x_BLD, ours.make_start(x_BLD), real_BL)
        for row, length in enumerate(lengths):
            alone = x_BLD[row : row + 1, :length]
            wanted, last = theirs(alone.flip(1) if backward else alone)
            equal(hidden_BLD[row : row + 1, :length], wanted.flip(1) if backward else wanted)
            last = last if kind == "lstm" else (last,)
            for found, each in zip(state, last, strict=True):
                equal(found[row : row + 1], each.transpose(0, 1))


@pytest.mark.parametrize("kind", ["dot", "general", "additive"])
def test_attention_in_slow_loops(kind: str, equal: Check) -> None:
    torch.manual_seed(4)
    model = Config.read({"model": {"network": "rnn", "d_model": 4, "rnn": {"attention": kind}}})
    attention = SourceAttention(model.model)
    hidden_BQD, memory_BMD = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    mask = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    mask[1, :, :, 3:] = False
    with torch.inference_mode():
        found = attention(hidden_BQD, memory_BMD, attention.keys(memory_BMD), mask)
    weights = {name: x.detach().double().tolist() for name, x in attention.named_parameters()}

    def score(hidden: list[float], state: list[float]) -> float:
        def turn(name: str, x: list[float]) -> list[float]:
            rows = weights[f"{name}.weight"]
            return [math.fsum(w * each for w, each in zip(row, x, strict=True)) for row in rows]

        if kind == "dot":
            return math.fsum(a * b for a, b in zip(hidden, state, strict=True))
        key = turn("to_key", state)
        if kind == "general":
            return math.fsum(a * b for a, b in zip(hidden, key, strict=True))
        sums = [math.tanh(a + b) for a, b in zip(turn("to_query", hidden), key, strict=True)]
        return turn("to_score", sums)[0]

    for b in range(2):
        states = memory_BMD[b, : 3 if b else 5].tolist()
        for q in range(3):
            powers = [math.exp(score(hidden_BQD[b, q].tolist(), state)) for state in states]
            shares = [power / math.fsum(powers) for power in powers]
            mean = [math.fsum(s * x[d] for s, x in zip(shares, states)) for d in range(4)]  # noqa: B905
            equal(found[b, q], torch.tensor(mean))


def test_the_worked_numbers() -> None:
    """Scores 13, 9, 9 give the weights .9647, .0177, .0177, and the context is their mean."""
    model = Config.read({"model": {"network": "rnn", "d_model": 4, "rnn": {"attention": "dot"}}})
    hidden = torch.tensor([[[1.0, 0, 0, 0]]])
    memory = torch.tensor([[[13.0, 1, 0, 0], [9, 0, 1, 0], [9, 0, 0, 1]]])
    mask = torch.ones(1, 1, 1, 3, dtype=torch.bool)
    with torch.inference_mode(), watch(SourceAttention(model.model)) as (view, trace):
        context = view(hidden, memory, memory, mask)
    assert trace["scores"][0].flatten().tolist() == [13, 9, 9]
    weights = trace["weights"][0].flatten().tolist()
    assert [round(weight, 4) for weight in weights] == [0.9647, 0.0177, 0.0177]
    assert context[0, 0, 1:].tolist() == pytest.approx(weights)


def test_fast_is_plain(settings: Model, equal: Check) -> None:
    """With padding, in training mode without dropout, and step by step."""
    torch.manual_seed(2)
    network = build_network(settings, V, V)
    assert max(find_difference(network, "fp32")) < 1e-5
    quick = fast(network.eval(), precision="fp32")
    assert type(quick) is not type(network)
    source_BS, target_BT = torch.randint(3, V, (4, 6)), torch.randint(3, V, (4, 5))
    source_BS[1, 1:] = source_BS[2, 4:] = 0
    with torch.inference_mode():
        plain, found = network(source_BS, target_BT), quick(source_BS, target_BT)
        equal(found, plain)
        state = quick.start(source_BS)
        parts = [quick.step(part, state) for part in target_BT.split(2, 1)]
        equal(torch.cat(parts, 1), plain)


@pytest.mark.parametrize("seed", range(3))
def test_any_program_equals_the_full_pass(
    network: EncoderDecoder, seed: int, equal: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.extensions.rnn.state.GROWTH", 2)
    with torch.inference_mode():
        Program(network, seed, equal).run(25)  # type: ignore[arg-type]


def test_rows_go_by_sentence(network: EncoderDecoder) -> None:
    with torch.inference_mode():
        state = network.start(torch.tensor([[5, 6, 2], [7, 2, 0]]))
        with pytest.raises(ValueError, match="in order, the same number"):
            network.keep(torch.tensor([1, 0]), state)
        with pytest.raises(ValueError, match="max_positions=64"):
            network.step(torch.ones(2, 65, dtype=torch.long), state)


def test_greedy_is_beam_one(network: EncoderDecoder) -> None:
    sources = [[*range(3, 3 + n), 2] for n in range(1, 7)]
    with torch.inference_mode():
        greedy, beam = (
            search(network, sources, Decode(max_extra=4, **how))
            for how in ({"search": "greedy"}, {"search": "beam", "beam": 1})
        )
    assert [best.tokens for (best,) in greedy] == [best.tokens for (best,) in beam]


@pytest.fixture
def translator(settings: Model) -> Translator:
    torch.manual_seed(5)
    tokenizer = train_tokenizer(["the cat is on the mat", "a dog runs in the tree"], 300)
    config = Config.read({"model": settings.model_dump(), "decode": {"max_extra": 4}})
    both = Tokenizers(tokenizer, tokenizer)
    return Translator(config, both, build_model(config, both), device="cpu")


def test_every_tensor_follows_from_its_operands(translator: Translator) -> None:
    """Also from ids and weights alone: each pass over the graph makes one more position right."""
    trace = record(translator, "the dog is so", target="a cat on the mat")
    for name in trace.names():
        made, recorded = recompute(trace.graph[name], trace.__getitem__), trace[name]
        assert made.shape == recorded.shape
        assert np.abs(made.astype(float) - recorded).max() <= 1e-5, name
        place = tuple(size - 1 for size in recorded.shape)
        explained = trace.explain(name, place)
        found: dict[str, Any] = {"trace": trace}
        exec(explained.to_numpy(), found)
        assert float(found["value"]) == pytest.approx(float(recorded[place]), abs=1e-5), name
        assert explained.to_latex() and explained.to_text()
    used = {name for equation in trace.graph.values() for name in equation.operands}
    assert set(trace.parameters) <= used, "a weight that nothing is made of"
    made = dict(trace.ids) | dict(trace.parameters)
    windows = [name for name in trace.graph if name not in made]
    made |= {name: np.zeros([axis.size for axis in trace.graph[name].axes]) for name in windows}
    for _ in range(len(trace.source) + len(trace.target) + 4):
        for name in windows:
            made[name] = recompute(trace.graph[name], made.__getitem__)
    assert np.abs(made["logits"] - trace["logits"]).max() <= 1e-4


def test_a_recording_edited(translator: Translator) -> None:
    """One state of the decoder is changed: what comes after it changes, and nothing before."""
    before = record(translator, "the dog is so", target="a cat on the mat")
    edit = {"do": "row", "name": "decoder.0.cell.hidden", "position": 2, "factor": 0.0}
    after = record(translator, "the dog is so", target="a cat on the mat", edits=[edit])
    np.testing.assert_allclose(before["logits"][:2], after["logits"][:2], rtol=1e-5, atol=1e-6)
    assert not after["decoder.0.cell.hidden"][2].any()
    assert np.abs(before["logits"][2:] - after["logits"][2:]).max(-1).all()


def test_told_in_a_terminal(translator: Translator) -> None:
    said = summarise(record(translator, "the dog is so", target="a cat"))
    has_attention = bool(translator.config.model.attending_layers)
    assert ("no attention" in said) != has_attention


def test_what_shows_transformers_says_so(translator: Translator) -> None:
    """Pictures, the app's page and words that attention aligns, where there is none."""
    trace = record(translator, "the dog is so", target="a cat")
    with pytest.raises(
        ValueError, match="V54 shows a Transformer, but this is a recurrent network"
    ):
        trace.picture("V54")
    with pytest.raises(ValueError, match="looks inside Transformers, and this is a network=rnn"):
        build_page(trace)
    assert "<iframe" not in trace._repr_html_()
    if not translator.config.model.attending_layers:
        with pytest.raises(ValueError, match="no attention to align words by"):
            list_candidates(translator.config.model)
    with pytest.raises(ValueError, match="precision=int8: the engine in C does not"):
        Translator(translator.config, translator.tokenizers, translator.model, precision="int8")


def test_words_are_aligned_by_the_topmost_layer() -> None:
    config = make_settings("gru-additive")
    found = {(each.layer, each.head) for each in list_candidates(config)}
    assert found == {(2, 0), (2, None)}


def test_a_trace_on_disk(translator: Translator, tmp_path: Any) -> None:
    trace = record(translator, "the dog is so", target="a cat on the mat")
    trace.save(tmp_path / "trace", parameters=True)
    again = Trace.load(tmp_path / "trace")
    assert again.settings == trace.settings and again.names() == trace.names()
    place = (1, 0)
    found = again.explain("decoder.0.cell.hidden", place).recomputed
    assert found == pytest.approx(float(trace["decoder.0.cell.hidden"][place]), abs=1e-5)


def test_saved_and_loaded(translator: Translator, tmp_path: Any) -> None:
    model = translator.model
    save_model(tmp_path / "m", translator.config, translator.tokenizers, model.state_dict())
    config, _, loaded = load_model(tmp_path / "m")
    assert config.model == translator.config.model
    wanted = model.eval().state_dict()
    assert all(torch.equal(x, wanted[name]) for name, x in loaded.state_dict().items())
    again = Translator.load(tmp_path / "m", device="cpu")
    assert again.translate(["the cat"]) == translator.translate(["the cat"])
    assert again.score(["the cat"], ["a dog"])[0].log_prob < 0


def test_a_state_lies_between_the_old_one_and_the_candidate() -> None:
    """A GRU's windows, on a sentence read forwards: 1 - z and z are shares."""
    torch.manual_seed(6)
    cell = CELLS["gru"](3, 4)
    x_BLD: Tensor = torch.randn(1, 5, 3)
    with torch.inference_mode(), watch(cell) as (view, trace):
        hidden_BLD, _ = view(x_BLD, cell.make_start(x_BLD))
    before, candidate, update = (trace[name][0] for name in ("before", "candidate", "update"))
    assert torch.equal(before[:, 1:], hidden_BLD[:, :-1]) and not before[:, 0].any()
    low, high = torch.minimum(before, candidate), torch.maximum(before, candidate)
    assert ((low - 1e-6 <= hidden_BLD) & (hidden_BLD <= high + 1e-6)).all()
    assert ((update > 0) & (update < 1)).all()
