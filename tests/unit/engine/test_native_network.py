"""The network in C against `model/` in PyTorch, on each instruction set that this machine has."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.config import Model
from glassformer.engine.native_model import NativeEnsemble
from glassformer.model.transformer import Transformer

from .conftest import Driver, list_isas, pack_model

NAMES = ("norm", "activation", "tie", "output_bias", "positions")
KINDS: list[tuple[dict[str, Any], int, int]] = [  # settings, vocabularies
    ({"d_model": 64, "d_ff": 256, "heads": 8, "norm": "pre"}, 50, 50),  # heads of 8
    ({"d_model": 128, "d_ff": 96, "heads": 4, "encoder_layers": 3}, 600, 600),  # of 32
    ({"d_model": 128, "d_ff": 64, "heads": 2, "activation": "gelu"}, 17, 17),  # of 64
    ({"d_model": 2, "d_ff": 1, "heads": 1, "norm": "pre", "decoder_layers": 1}, 17, 17),
    ({"d_model": 6, "d_ff": 7, "heads": 3, "tie": "none", "output_bias": True}, 19, 23),
    ({"d_model": 18, "d_ff": 33, "heads": 3, "tie": "two-way", "activation": "silu"}, 40, 31),
    ({"d_model": 14, "d_ff": 5, "heads": 5, "head_width": 7, "norm": "pre"}, 1030, 1030),
    ({"d_model": 20, "d_ff": 20, "heads": 1, "head_width": 100, "activation": "silu"}, 33, 33),
    ({"d_model": 30, "d_ff": 40, "heads": 3, "head_width": 17, "activation": "gelu"}, 99, 99),
    ({"d_model": 32, "d_ff": 40, "heads": 4, "positions": {"layout": "learned"}}, 70, 70),
    ({"d_model": 32, "d_ff": 40, "heads": 4, "positions": {"layout": "concatenated"}}, 70, 70),
    ({"d_model": 16, "heads": 2, "positions": {"grid": "tensor2tensor", "offset": 1}}, 70, 70),
]


def make_network(kind: int, seed: int = 0, longest: int = 40) -> Transformer:
    settings, source, target = KINDS[kind]
    torch.manual_seed(seed)
    shape = {"encoder_layers": 2, "decoder_layers": 2, "d_ff": 40, **settings}
    positions = {"max_positions": longest, **shape.pop("positions", {})}
    network = Transformer(Model(**shape, positions=positions), source, target).eval()
    for name, x in network.named_parameters():  # biases and norms that do something
        if x.dim() == 1:
            torch.nn.init.normal_(x, 1.0 if name.endswith("norm.weight") else 0.0, 0.2)
    return network


def draw_sources(vocabulary: int, lengths: tuple[int, ...]) -> list[list[int]]:
    draw = np.random.default_rng(7)
    return [draw.integers(3, vocabulary, length).tolist() for length in lengths]


def pad(sources: list[list[int]]) -> torch.Tensor:
    longest = max(map(len, sources))
    return torch.tensor([source + [0] * (longest - len(source)) for source in sources])


kinds = pytest.mark.parametrize("kind", range(len(KINDS)))
LENGTHS = (1, 5, 16, 17, 9, 2)


@kinds
@torch.inference_mode()
def test_fp32_is_the_model(kind: int, drive: Callable[..., Any]) -> None:
    """Steps of one token and of several, rows of different lengths, beams and dropped sentences."""
    network = make_network(kind)
    native, target = drive(network), len(network.output_table.weight)
    sources = draw_sources(KINDS[kind][1], LENGTHS)
    state = network.start(pad(sources))
    assert native.admit(sources) == 0
    draw = np.random.default_rng(1)

    def check(most: int, count: Callable[[int], int] | None = None) -> None:
        """Give each row `most` tokens, or so many as `count` says of its number."""
        counts = [count(r) if count else most for r in range(len(state.length_R))]
        tokens = draw.integers(1, target, (len(counts), most))
        length_R = state.length_R + torch.tensor(counts)
        expected = network.step(torch.from_numpy(tokens), state).numpy()
        network.rewind(length_R, state)
        expected = np.concatenate([row[:size] for row, size in zip(expected, counts, strict=True)])
        rows = [row[:size] for row, size in zip(tokens.tolist(), counts, strict=True)]
        error, found = native.extend(rows)
        assert error == 0
        assert np.abs(found - expected).max() <= 1e-4 * max(1, np.abs(expected).max())

    def keep(rows: list[int], beams: int) -> None:
        network.keep(torch.tensor(rows), state)
        assert native.keep(rows, beams) == 0

    check(1)
    check(3)
    keep([0, 0, 0, 1, 1, 1, 3, 3, 3, 5, 5, 5], 3)
    check(1)
    keep([2, 0, 1, 5, 4, 4, 6, 7, 8, 10, 10, 10], 3)
    check(2)
    check(3, lambda row: row % 4)
    check(1)
    more = draw_sources(KINDS[kind][1], (3, 20))
    network.admit(pad(more), state)
    assert native.admit(more, 3) == 0
    check(1)
    keep([4, 3, 13, 12], 2)
    for _ in range(4):
        check(1)
        rows = [0, 0, 2, 2] if draw.random() < 0.5 else [1, 0, 3, 2]
        keep(rows, 2)
    keep([1, 3], 1)
    check(1)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@kinds
def test_best_tokens_are_those_of_the_logits(
    kind: int, precision: str, drive: Callable[..., Any]
) -> None:
    network = make_network(kind)
    plain, quick = drive(network, precision), drive(network, precision)
    sources = draw_sources(KINDS[kind][1], LENGTHS)
    target = len(network.output_table.weight)
    for native in (plain, quick):
        assert native.admit(sources, 2) == 0
    draw = np.random.default_rng(2)
    for size, first in ((1, 0), (5, 3), (target - 2, 2), (0, 0), (3, 1)):
        tokens = draw.integers(1, target, 2 * len(sources))
        tokens[:6] = tokens[0]  # hypotheses that begin alike
        logits = plain.step(tokens[:, None].tolist())[1][:, 0]
        error, value, ids, sums, logit = quick.find_best(tokens.tolist(), size, first, target - 1)
        order = np.argsort(-logits[:, first:], axis=1, kind="stable")[:, :size] + first
        assert error == 0 and np.array_equal(ids, order)
        assert np.array_equal(value, np.take_along_axis(logits, order, 1))
        assert np.array_equal(logit, logits[:, -1])
        expected = torch.from_numpy(logits).double().logsumexp(1).numpy()
        assert np.allclose(sums, expected, rtol=0, atol=2e-6 * max(1, np.abs(expected).max()))


def test_equal_logits_are_in_the_order_of_ids(drive: Callable[..., Any]) -> None:
    network = make_network(1)
    with torch.no_grad():
        network.output_table.weight[40:] = network.output_table.weight[7]
        network.output_table.weight[3:7] = network.output_table.weight[30]
    for precision in ("fp32", "int8"):
        native = drive(network, precision)
        assert native.admit([[5, 6]]) == 0
        _, value, ids, *_ = native.find_best([1], 600)
        for same in (value[0][1:] == value[0][:-1]).nonzero()[0]:
            assert ids[0, same] < ids[0, same + 1]
        assert (value[0][1:] <= value[0][:-1]).all() and len(set(ids[0].tolist())) == 600


@kinds
@torch.inference_mode()
def test_int8_is_close(kind: int, drive: Callable[..., Any]) -> None:
    network = make_network(kind)
    native = drive(network, "int8")
    sources = draw_sources(KINDS[kind][1], LENGTHS)
    tokens = np.random.default_rng(3).integers(1, len(network.output_table.weight), (6, 7))
    expected = network.step(torch.from_numpy(tokens), network.start(pad(sources))).numpy()
    assert native.admit(sources) == 0
    error, found = native.step(tokens.tolist())
    assert error == 0
    apart = np.abs(found - expected).mean() / np.abs(expected).mean()
    assert 0 < apart < 0.06


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@kinds
def test_rows_do_not_depend_on_each_other(
    kind: int, precision: str, drive: Callable[..., Any]
) -> None:
    """Bit for bit: alone and among others, step by step and at once, in slots used before."""
    network = make_network(kind)
    target, sources = len(network.output_table.weight), draw_sources(KINDS[kind][1], LENGTHS * 7)
    tokens = np.random.default_rng(3).integers(1, target, (len(sources), 3))
    together, alone = drive(network, precision), drive(network, precision)
    for native in (together, alone):  # slots that others have used
        native.admit(sources, 2)
        native.step(np.repeat(tokens, 2, 0).tolist())
        native.clear()
    assert together.admit(sources) == 0
    expected = np.stack([together.step(tokens[:, [t]].tolist())[1][:, 0] for t in range(3)], 1)
    for row in (0, 1, 3, 40):
        assert alone.admit([sources[row]]) == 0
        found = alone.step(tokens[row : row + 1].tolist())[1][0]
        assert np.array_equal(found, expected[row])
        alone.clear()


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("kind", [0, 1, 5, 6])
def test_alignment_is_the_cross_attention(
    kind: int, precision: str, drive: Callable[..., Any]
) -> None:
    network = make_network(kind)
    native, sources = drive(network, precision), draw_sources(KINDS[kind][1], LENGTHS)
    tokens = np.random.default_rng(4).integers(1, len(network.output_table.weight), (6, 2))
    attention = network.decoder[1].cross_attention
    seen = {}
    attend = attention.attend_to

    def attend_to(x, keys_values, mask):
        q = attention._split(attention.to_query(x))
        scores = q @ keys_values[0].mT / q.size(-1) ** 0.5
        seen["weights"] = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        return attend(x, keys_values, mask)

    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        patch.setattr(attention, "attend_to", attend_to)
        network.step(torch.from_numpy(tokens), network.start(pad(sources)))
    heads = [-1, *range(network.settings.heads)]
    weights_BHTS = seen["weights"]
    weights_BHTS = torch.cat((weights_BHTS.mean(1, keepdim=True), weights_BHTS), 1)
    for chosen in ([0], [len(heads) - 1], range(len(heads))):
        native.clear()
        # Of another layer, too, between those that are looked at.
        watched = [each for h in chosen for each in ((1, heads[h]), (0, 0))]
        assert native.admit(sources) == 0
        error, _, weights = native.extend(tokens.tolist(), *watched)
        found = weights.reshape(-1, 6, 2, 40)[..., :17]
        expected = weights_BHTS[:, chosen].numpy()
        apart = np.abs(found[::2] - expected.swapaxes(0, 1)).max()
        assert error == 0 and apart < (1e-5 if precision == "fp32" else 0.05)
        assert np.allclose(found.sum(3), 1, atol=1e-2) and not weights[..., 17:].any()
    for wrong in ((2, 0), (-1, 0), (0, network.settings.heads), (0, -2)):
        assert native.extend(tokens.tolist(), (0, 0), wrong)[0] == 6


def test_large_scores(drive: Callable[..., Any]) -> None:
    """Attention whose scores' exponentials would overflow is still a softmax."""
    network = make_network(1)
    with torch.no_grad():
        for layer in (*network.encoder, *network.decoder):
            layer.self_attention.to_query.weight *= 60
            layer.self_attention.to_key.bias += 3
    native, sources = drive(network), draw_sources(600, LENGTHS)
    tokens = torch.randint(1, 600, (6, 5))
    with torch.inference_mode():
        expected = network.step(tokens, network.start(pad(sources))).numpy()
    native.admit(sources)
    found = native.step(tokens.tolist())[1]
    assert np.abs(found - expected).max() < 1e-2 * np.abs(expected).max()


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_weight_that_is_not_finite_shows(
    wrong: float, precision: str, drive: Callable[..., Any]
) -> None:
    network = make_network(1)
    with torch.no_grad():
        network.decoder[0].feed_forward.outer.weight[3, 2] = wrong
    native = drive(network, precision)
    native.admit([[4, 5], [6]])
    assert np.isnan(native.find_best([1, 1], 2)[3]).all()


def test_requests_that_contradict_themselves_change_nothing(drive: Callable[..., Any]) -> None:
    too_long, out_of_range, bad = 3, 2, 6
    network = make_network(0)
    native = drive(network)
    assert native.admit([[3], []]) == bad and native.admit([[3] * 41]) == too_long
    assert native.admit([[50]]) == native.admit([[-1]]) == out_of_range
    assert native.step(np.zeros((0, 1)))[0] == bad  # no sentence yet
    assert native.admit([]) == 0 and native.admit([[3], [4] * 40], 2) == 0
    assert native.admit([[3]], 1) == bad
    assert native.step([[1]] * 5)[0] == bad and native.step([[1]] * 3 + [[50]])[0] == out_of_range
    assert native.step([[1] * 41] * 4)[0] == too_long
    assert native.find_best([1] * 4, 1, 0, 50)[0] == out_of_range
    assert native.find_best([1] * 4, 51)[0] == native.find_best([1] * 4, 1, 50)[0] == bad
    for rows, beams in (([1, 0], 1), ([0, 0, 1], 2), ([0, 4], 1), ([0, 2], 2), ([-1], 1), ([0], 0)):
        assert native.keep(rows, beams) == bad
    other = drive(network)
    assert other.admit([[3], [4] * 40], 2) == 0
    assert np.array_equal(native.step([[1]] * 4)[1], other.step([[1]] * 4)[1])
    assert native.keep([], 1) == 0 and native.step(np.zeros((0, 1)))[0] == bad
    assert native.admit([[3]], 5) == 0 and native.step([[1] * 40] * 5)[0] == 0
    assert native.step([[1]] * 5)[0] == too_long


def test_slots_are_used_again(drive: Callable[..., Any]) -> None:
    """Thousands of steps in a cache of few rows: every row sees its own past alone."""
    network = make_network(3)
    native, sources = drive(network), draw_sources(17, (3, 4))
    draw = np.random.default_rng(6)
    for turn in range(40):
        native.clear()
        native.admit(sources, 2)
        given: list[list[int]] = [[]] * 4
        for _ in range(10):
            new = [draw.integers(1, 17, draw.integers(1, 4)).tolist() for _ in given]
            if turn % 2:
                new[draw.integers(4)] = []
            assert native.extend(new)[0] == 0
            given = [old + more for old, more in zip(given, new, strict=True)]
            rows = [draw.integers(2), draw.integers(2), 2 + draw.integers(2), 2 + draw.integers(2)]
            native.keep(rows, 2)
            given = [given[row] for row in rows]
    _, found = native.step([[5]] * 4)
    with torch.inference_mode():
        for row, old in enumerate(given):
            state = network.start(torch.tensor([sources[row // 2]]))
            expected = network.step(torch.tensor([[*old, 5]]), state)[0, -1]
            assert np.abs(found[row, 0] - expected.numpy()).max() < 1e-4


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@kinds
def test_an_ensemble_has_the_mean_of_the_probabilities(
    kind: int, precision: str, engine_library: ctypes.CDLL, drive: Callable[..., Any]
) -> None:
    """Its best tokens are those of its logits; it reads no more than its shortest member."""
    networks = [make_network(kind, seed, 40 - 10 * (seed == 1)) for seed in (0, 1, 2)]
    alone = [drive(network, precision) for network in networks]
    models = [pack_model(engine_library, network, precision) for network in networks]
    plain, quick = (Driver(NativeEnsemble(models)) for _ in range(2))
    sources, target = draw_sources(KINDS[kind][1], LENGTHS), len(networks[0].output_table.weight)
    for native in (*alone, plain, quick):
        assert native.admit(sources, 2) == 0
    draw = np.random.default_rng(3)
    rows = 2 * len(sources)
    for kept in ([1, 0, 2, 3, 8, 8, 10, 11], [1, 1, 2, 3, 6, 7], [0, 1, 5, 4]):
        tokens = draw.integers(1, target, rows)
        error, found = plain.step(tokens[:, None].tolist())
        members = [each.step(tokens[:, None].tolist())[1].astype("f8") for each in alone]
        members = [x - np.logaddexp.reduce(x, axis=-1, keepdims=True) for x in members]
        expected = np.logaddexp.reduce(members, axis=0) - np.log(3)
        assert error == 0 and np.abs(found - expected).max() < 2e-5
        error, value, ids, sums, logit = quick.find_best(tokens.tolist(), 3, 2, 5)
        order = np.argsort(-found[:, 0, 2:], axis=1, kind="stable")[:, :3] + 2
        assert error == 0 and np.array_equal(ids, order) and np.abs(sums).max() < 1e-5
        assert np.array_equal(value, np.take_along_axis(found[:, 0], order, 1))
        assert np.array_equal(logit, found[:, 0, 5])
        for native in (*alone, plain, quick):
            assert native.keep(kept, 2) == 0
        rows = len(kept)
    assert plain.network.max_positions == 30
    assert plain.find_best([1] * 4, 1, 0, target)[0] == 2  # no such token, and nothing changed
    assert plain.admit([[5] * 31], 2) == 3
    assert plain.step([[5]] * 4)[0] == 0
    plain.clear()
    assert plain.admit([[5]]) == 0 and plain.step([[5]])[0] == 0
    for native in (plain, quick):
        native.close()
    for model in models:
        model.close()


@pytest.mark.parametrize("positions", [{}, {"layout": "concatenated", "grid": "tensor2tensor"}])
@torch.inference_mode()
@pytest.mark.thorough
def test_positions_beyond_the_table_are_computed(
    positions: dict[str, Any], drive: Callable[..., Any]
) -> None:
    """The first 4,096 are computed once, and those beyond when they are needed, to the same."""
    settings = {"d_model": 6, "heads": 1, "d_ff": 4, "encoder_layers": 1, "decoder_layers": 1}
    torch.manual_seed(0)
    reach = {"max_positions": 4200, "offset": 1, **positions}
    network = Transformer(Model(**settings, positions=reach), 20, 20).eval()
    for length in (4096, 4097, 4100):
        (source,) = draw_sources(20, (length,))
        native = drive(network)
        state = network.start(torch.tensor([source]))
        expected = network.step(torch.tensor([source[:length]]), state).numpy()
        assert native.admit([source]) == 0
        error, found = native.step([source[:length]])
        assert error == 0 and np.abs(found - expected).max() < 1e-4


def test_a_model_with_many_positions_needs_little_memory(engine_library: ctypes.CDLL) -> None:
    """Positions of a stranger's settings: a table of them all would take 512 MiB."""
    shape = {"d_model": 1024, "heads": 1, "d_ff": 1, "encoder_layers": 1, "decoder_layers": 1}
    network = Transformer(Model(**shape, positions={"max_positions": 2}), 5, 5).eval()
    models, sizes = [], [measure_data()]
    for positions in (2, 1 << 17):
        network.settings = Model(**shape, positions={"max_positions": positions})
        models.append(pack_model(engine_library, network, "fp32"))
        sizes.append(measure_data())
    few, many = np.diff(sizes)
    assert many - few < 32 << 20
    for model in models:
        model.close()


def measure_data() -> int:
    """Return the bytes of memory that this process has asked for."""
    path = Path("/proc/self/statm")
    if not path.exists():
        pytest.skip("the system has no /proc")
    return int(path.read_text("utf-8").split()[5]) * os.sysconf("SC_PAGE_SIZE")


MEANS: dict[str, float] = {}  # on the instruction set that is tested first
ISAS = list_isas() or ["none"]
SANITIZED = [pytest.param(isa, marks=[pytest.mark.slow] * (isa in ISAS[1:-1])) for isa in ISAS]


@pytest.mark.thorough
@pytest.mark.parametrize("isa", SANITIZED, indirect=True)
def test_nothing_is_out_of_bounds(isa: str, build_program: Callable[..., Path]) -> None:
    """Random shapes, types and requests under the sanitizers: see `fuzz_network.c`.

    The instruction sets share the models: each of them has some, and all have the first ones.
    """
    sanitize = ("-g1", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    program = build_program(Path(__file__).parent / "fuzz_network.c", isa, *sanitize)
    part = str(ISAS.index(isa)), str(len(ISAS))
    result = subprocess.run([program, "40", *part], capture_output=True, encoding="utf-8")
    assert (result.returncode, result.stderr) == (0, "")
    steps, mean = result.stdout.split()
    assert int(steps) > 120
    assert float(mean) == pytest.approx(MEANS.setdefault("first", float(mean)), rel=1e-3)


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells it so")
def test_what_is_dropped_is_used_again(drive: Callable[..., Any]) -> None:
    """The keys and values of a long queue of sentences: 100 MB, if none were released."""
    native = drive(make_network(1))
    sources = draw_sources(600, (5,) * 8)
    tokens = [[7] * 30] * 16

    def measure() -> int:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    for number in range(120):
        if number == 20:
            before = measure()
        assert native.admit(sources) == 0
        assert native.extend(tokens[:8])[0] == 0
        assert native.keep([row for row in range(8) for _ in range(2)], 2) == 0
        assert native.extend([[9]] * 16)[0] == 0
        assert native.keep([0, 0], 2) == 0 and native.keep([], 1) == 0
    assert measure() - before < 20 << 20
