"""A network with names and shapes, but nothing in it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from glassformer.config import Model, Positions
from glassformer.model.files.meta_model import find_shapes, make_meta_model
from glassformer.model.transformer import Transformer

SMALL = Model(d_model=16, d_ff=24, heads=2, encoder_layers=1, decoder_layers=2)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"tie": "two-way", "norm": "pre"},
        {"tie": "none", "output_bias": True},
        {"positions": Positions(layout="learned", max_positions=9)},
        {"positions": Positions(layout="concatenated", max_positions=9)},
    ],
)
def test_shapes_are_those_of_the_network(changed) -> None:
    settings = SMALL.model_copy(update=changed)
    wanted = Transformer(settings, 30, 30).state_dict()
    assert find_shapes(settings, 30, 30) == {name: x.shape for name, x in wanted.items()}


def test_a_network_larger_than_any_memory() -> None:
    longest = Positions(max_positions=1 << 17)
    changed = {"d_model": 1 << 17, "d_ff": 1 << 17, "positions": longest}
    settings = SMALL.model_copy(update=changed)
    assert find_shapes(settings, 10**7, 10**7)["output_table.weight"] == (10**7, 1 << 17)


def test_nothing_inside_has_numbers() -> None:
    network = make_meta_model(SMALL, 30, 30)
    assert all(parameter.is_meta for parameter in network.parameters())


def test_nothing_large_is_imported_for_it() -> None:
    code = (
        "import sys\n"
        "from glassformer.model.files.meta_model import find_shapes\n"
        "from glassformer.config import Model\n"
        "from glassformer.see.wiring import record_wiring\n"
        "find_shapes(Model(), 30, 30)\n"
        "record_wiring(Model())\n"
        "assert 'sympy' not in sys.modules and 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
