"""The catalogue tells of every window, and of nothing else; a closed window costs nothing."""

from __future__ import annotations

import inspect
import re
from functools import reduce
from importlib import import_module
from timeit import repeat
from typing import Any

import pytest
import torch

from glassformer.config import AttentionPattern, Config, Model, Positions
from glassformer.foundation.tap import Watchable, tap
from glassformer.foundation.tap import record as watch
from glassformer.model.networks import build_network
from glassformer.model.transformer import Transformer
from glassformer.see.catalogue import read_catalogue

CATALOGUE = {name: entry._asdict() for name, entry in read_catalogue().items()}
# Every letter another size: two axes that change places have another shape.
SIZES = {"1": 1, "B": 2, "H": 3, "K": 5, "S": 7, "T": 11, "F": 13, "D": 16, "V": 17}
SETTINGS = Model(
    d_model=SIZES["D"],
    d_ff=SIZES["F"],
    heads=SIZES["H"],
    head_width=SIZES["K"],
    encoder_layers=2,
    decoder_layers=3,
)
# Networks that are not the paper's, and the windows that these alone have.
VARIED: list[dict[str, Any]] = [
    {"positions": Positions(layout="rotary"), "head_width": 6, "key_value_heads": 1},
    {"attention": AttentionPattern(pattern="local", width=2), "gated": True},
    {"embedding_norm": True},
    {"positions": Positions(layout="none"), "ablate": ("feed_forward", "residual")},
    {"decoder": "ssru"},
]
SSRU = ("forget", "candidate", "before", "cell", "output")
EXTRA = (
    *(".rotated_query", ".rotated_key", ".pattern", ".gate", "_embedding.normed"),
    *(f".ssru.{window}" for window in SSRU),
    *(".ssru_residual.sum", ".ssru_residual.normed"),
)
SHAPE = {"d_model": "D", "d_ff": "F", "heads": "H", "head_width": "K"}
LAYERS = {"encoder": SETTINGS.encoder_layers, "decoder": SETTINGS.decoder_layers}
RECURRENT = {name: entry._asdict() for name, entry in read_catalogue(network="rnn").items()}
SOURCE = re.compile(r"[A-Z].* (19|20)\d\d, [\dA]")  # the paper of a predecessor, and where in it
PAPER = {"3.1", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5"}


def find_entry(name: str) -> str:
    return re.sub(r"\.\d+\.", ".*.", name)


@pytest.fixture(
    params=[
        {"norm": "post"},
        {"norm": "pre", "tie": "none"},
        {"positions": Positions(layout="learned"), "activation": "gelu"},
        *VARIED,
    ],
    ids=["post", "pre", "learned", *(f"varied-{n}" for n in range(len(VARIED)))],
)
def shapes(request: pytest.FixtureRequest) -> dict[str, tuple[int, ...]]:
    """The name and shape of everything that a recording sees."""
    return record_shapes(request.param)


def record_shapes(changes: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    network = Transformer(SETTINGS.model_copy(update=changes), SIZES["V"], SIZES["V"])
    source_BS, target_BT = (torch.randint(1, SIZES["V"], (SIZES["B"], SIZES[x])) for x in "ST")
    with torch.inference_mode(), watch(network) as (view, trace):
        view(source_BS, target_BT)
    assert {len(values) for values in trace.values()} == {1}, "one forced pass, one value a name"
    return {name: tuple(values[0].shape) for name, values in trace.items()}


def test_every_window_has_an_entry(shapes: dict[str, tuple[int, ...]]) -> None:
    assert {find_entry(name) for name in shapes} <= CATALOGUE.keys()


def test_every_entry_has_a_window() -> None:
    """In the paper's network each but those of variants, in each layer; they in one of those."""
    expected = {
        name.replace("*", str(layer))
        for name in CATALOGUE
        if not name.endswith(EXTRA)
        for layer in range(LAYERS.get(name.partition(".")[0], 1))
    }
    for changes in ({"norm": "post"}, {"norm": "pre", "tie": "none"}):
        assert record_shapes(changes).keys() == expected
    seen = {find_entry(name) for changes in VARIED for name in record_shapes(changes)}
    assert seen == CATALOGUE.keys()


def test_shapes_are_as_the_catalogue_says(shapes: dict[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        sizes = {**SIZES, "K": 6} if any("rotated" in each for each in shapes) else SIZES
        letters = CATALOGUE[find_entry(name)]["shape"]
        assert shape == tuple(measure(name, letter, sizes) for letter in letters), name


def measure(name: str, letter: str, sizes: dict[str, int] = SIZES) -> int:
    """How many there are; Q counts a window's own positions, M those that it attends to."""
    reads_source = name.startswith(("source", "encoder"))
    if letter in "QM":
        is_source = reads_source or (letter == "M" and "cross_attention" in name)
        letter = "S" if is_source else "T"
    return sizes[letter]


def record_recurrent(rnn: dict[str, object]) -> set[str]:
    """The names of everything that a recording of a recurrent network sees."""
    shape = {"d_model": SIZES["D"], "encoder_layers": 2, "decoder_layers": 2}
    settings = Config.read({"model": {"network": "rnn", **shape, "rnn": rnn}}).model
    network = build_network(settings, SIZES["V"], SIZES["V"])
    source_BS, target_BT = (torch.randint(1, SIZES["V"], (SIZES["B"], SIZES[x])) for x in "ST")
    with torch.inference_mode(), watch(network) as (view, trace):
        view(source_BS, target_BT)
    assert {len(values) for values in trace.values()} == {1}, "one forced pass, one value a name"
    for name, (values,) in trace.items():
        sizes = {**SIZES, "H": 1, "K": settings.width, "I": 2 * SIZES["D"]}
        said = tuple(measure(name, x, sizes) for x in RECURRENT[find_entry(name)]["shape"])
        assert tuple(values.shape) == said, name
    return set(trace)


def test_every_window_of_a_recurrent_network_has_an_entry() -> None:
    """And every entry a window, in one of these; shapes are as the catalogue says."""
    kinds = (
        {"attention": "general", "input_feeding": True},
        {"cell": "lstm", "bidirectional": True},
        {"attention": "additive", "bidirectional": True},
    )
    seen = {find_entry(name) for kind in kinds for name in record_recurrent(kind)}
    assert seen == set(RECURRENT)


@pytest.mark.parametrize("network", ["decoder", "encoder"])
def test_every_window_of_a_language_model_has_an_entry(network: str) -> None:
    """And every entry a window; shapes are as the catalogue says."""
    shape = {name: SIZES[letter] for name, letter in SHAPE.items()}
    settings = Config.read({"model": {"network": network, f"{network}_layers": 2, **shape}}).model
    model, entries = (
        build_network(settings, SIZES["V"], SIZES["V"]),
        read_catalogue(network=network),
    )
    source_BS, target_BT = (torch.randint(1, SIZES["V"], (SIZES["B"], SIZES[x])) for x in "ST")
    with torch.inference_mode(), watch(model) as (view, trace):
        view(source_BS, target_BT)
    varied = {name for name in entries if name.endswith(EXTRA)}
    assert {find_entry(name) for name in trace} == set(entries) - varied
    for name, (values,) in trace.items():
        said = tuple(measure(name, x) for x in entries[find_entry(name)].shape)
        assert tuple(values.shape) == said, name


LISTED = [
    *CATALOGUE,
    *(
        f"{kind} {name}"
        for kind in ("rnn", "decoder", "encoder")
        for name in read_catalogue(network=kind)
    ),
]


@pytest.mark.parametrize("name", LISTED)
def test_an_entry_is_whole(name: str) -> None:
    """All its parts, a section of the paper, and a function that has this very window."""
    network, _, name = name.rpartition(" ")
    network = network or "transformer"
    entry = read_catalogue(network=network)[name]._asdict()
    assert entry["symbol"]
    is_paper = network != "rnn" and not name.endswith(EXTRA)
    assert entry["section"] in PAPER or (not is_paper and SOURCE.match(entry["section"]))
    assert entry["en"].endswith(".") and entry["en"].isascii()
    assert entry["zh"].endswith("。") and not entry["zh"].isascii()
    module, owner, function = entry["source"].rsplit(".", 2)
    found = reduce(getattr, (owner, function), import_module(module))
    assert f'tap(self, "{name.rpartition(".")[2]}"' in inspect.getsource(found)


def test_a_closed_window_costs_next_to_nothing() -> None:
    """Against the attribute test that it is: a call's price, some tens of nanoseconds, no more."""
    owner, x = Watchable(), torch.zeros(1)
    scope = {"owner": owner, "x": x, "tap": tap}
    bare, closed = (
        min(repeat(line, globals=scope, number=20_000, repeat=15))
        for line in ("x if owner.recorder is None else None", "tap(owner, 'x', x)")
    )
    assert closed < 5 * bare
