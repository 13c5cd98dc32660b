"""The catalogue tells of every window, and of nothing else; a closed window costs nothing."""

from __future__ import annotations

import inspect
import re
from functools import reduce
from importlib import import_module
from timeit import repeat

import pytest
import torch

from glassformer.config import Model, Positions
from glassformer.model import Transformer
from glassformer.see.catalogue import read_catalogue
from glassformer.tap import Watchable, tap
from glassformer.tap import record as watch

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
LAYERS = {"encoder": SETTINGS.encoder_layers, "decoder": SETTINGS.decoder_layers}
PAPER = {"3.1", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5"}


def find_entry(name: str) -> str:
    return re.sub(r"\.\d+\.", ".*.", name)


@pytest.fixture(
    params=[
        {"norm": "post"},
        {"norm": "pre", "tie": "none"},
        {"positions": Positions(layout="learned"), "activation": "gelu"},
    ],
    ids=["post", "pre", "learned"],
)
def shapes(request: pytest.FixtureRequest) -> dict[str, tuple[int, ...]]:
    """The name and shape of everything that a recording sees."""
    network = Transformer(SETTINGS.model_copy(update=request.param), SIZES["V"], SIZES["V"])
    source_BS, target_BT = (torch.randint(1, SIZES["V"], (SIZES["B"], SIZES[x])) for x in "ST")
    with torch.inference_mode(), watch(network) as (view, trace):
        view(source_BS, target_BT)
    assert {len(values) for values in trace.values()} == {1}, "one forced pass, one value a name"
    return {name: tuple(values[0].shape) for name, values in trace.items()}


def test_every_window_has_an_entry_and_every_entry_a_window(
    shapes: dict[str, tuple[int, ...]],
) -> None:
    expected = {
        name.replace("*", str(layer))
        for name in CATALOGUE
        for layer in range(LAYERS.get(name.partition(".")[0], 1))
    }
    assert shapes.keys() == expected


def test_shapes_are_as_the_catalogue_says(shapes: dict[str, tuple[int, ...]]) -> None:
    said = {
        name: tuple(measure(name, letter) for letter in CATALOGUE[find_entry(name)]["shape"])
        for name in shapes
    }
    assert shapes == said


def measure(name: str, letter: str) -> int:
    """How many there are; Q counts a window's own positions, M those that it attends to."""
    reads_source = name.startswith(("source", "encoder"))
    if letter in "QM":
        is_source = reads_source or (letter == "M" and "cross_attention" in name)
        letter = "S" if is_source else "T"
    return SIZES[letter]


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_entry_is_whole(name: str) -> None:
    """All its parts, a section of the paper, and a function that has this very window."""
    entry = CATALOGUE[name]
    assert entry["symbol"] and entry["section"] in PAPER
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
