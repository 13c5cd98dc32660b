"""Looking inside networks that are not the paper's: every number says how it was made."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.equal.variants import VARIANTS
from tests.unit.see.test_explain import allow, draw_cells

from glassformer.config import Model
from glassformer.extensions.pictures.kept import trace_cells
from glassformer.extensions.pictures.pictures import list_pictures, make_scene
from glassformer.extensions.serve.page import check_views
from glassformer.see import Trace, derive, record
from glassformer.see.opgraph import build_graph
from glassformer.see.recompute import FUNCTIONS
from glassformer.see.wiring import record_wiring


@pytest.fixture(params=list(VARIANTS))
def trace(request: pytest.FixtureRequest, make: Any) -> Trace:
    settings = dict(VARIANTS[request.param])
    settings["positions"] = {"max_positions": 40, **settings.get("positions", {})}
    return record(make(**settings), " the cat is on a tree, é", target="a dog runs")


def test_every_cell_is_explained_in_every_form(trace: Trace) -> None:
    for name, index in draw_cells(trace, 1):
        found, scope = trace.explain(name, index), {"trace": trace}
        assert str(found.name) in found.to_text()
        latex = found.to_latex()
        assert latex.count("{") == latex.count("}") and latex.endswith(r"\end{aligned}")
        exec(found.to_numpy(), scope)  # a warning is an error
        value = float(scope["value"])  # type: ignore[arg-type]
        if name.endswith(".masked") and not found.mask:
            assert value == found.value == -math.inf
            continue
        assert abs(value - found.value) <= allow(found), found.to_numpy()
        total = found.scale * sum(term.value for term in found.terms) + found.bias
        if found.function:
            total = float(FUNCTIONS[found.function](np.asarray(total)))
        assert abs(found.recomputed - total) <= 1e-9 * max(1, abs(total)), (name, index)


def test_the_last_lens_is_the_model(trace: Trace) -> None:
    lens = derive.read_lens(trace)
    np.testing.assert_allclose(lens[-1], trace["logits"], rtol=1e-4, atol=1e-4)


def test_attributions_of_a_logit_add_up(trace: Trace) -> None:
    found = derive.attribute_logit(trace, 2, 5)
    assert sum(found.values()) == pytest.approx(trace["logits"][2, 5], abs=1e-3, rel=1e-4)
    is_beside = "residual" not in trace.settings.ablate
    assert ("decoder.2.cross_attention.1" in found) == is_beside


def test_what_is_left_out_is_not_recorded(make: Any) -> None:
    bare = record(make(ablate=["feed_forward"], positions={"layout": "none"}), "a dog")
    assert not [name for name in bare.graph if "feed_forward" in name or "positions" in name]
    plain = record(make(), "a dog")
    varied = ("rotated_query", "rotated_key", "pattern", "gate", "turn", "penalty")
    assert not [name for name in plain.graph if name.rpartition(".")[2] in varied]


def test_pictures_of_what_is_left_out_are_refused(make: Any) -> None:
    for settings, said in (
        ({"ablate": ["feed_forward"]}, "ablate=feed_forward"),
        ({"positions": {"layout": "alibi", "max_positions": 40}}, "positions.layout=alibi"),
    ):
        trace = record(make(**settings), "a dog")
        with pytest.raises(ValueError, match=said):
            trace.picture("V105")
        with pytest.raises(ValueError, match=said):
            check_views(trace.settings)
    check_views(record(make(normalization="rms", gated=True), "a dog").settings)


@pytest.mark.thorough
def test_pictures_of_a_recurrent_decoder(make: Any) -> None:
    """All that show no self-attention of the decoder are drawn; the others say what is missing."""
    trace = record(make(decoder="ssru"), " the cat is on a tree, é", target="a dog runs")
    for each in list_pictures():
        if each.masked:
            with pytest.raises(ValueError, match="in whose place a network with decoder=ssru"):
                make_scene(trace, each.id)
        elif each.needs in ("states", "everything") and each.network == "transformer":
            assert make_scene(trace, each.id)


def test_what_is_left_in_a_cell(make: Any) -> None:
    """The cell itself, from the candidates of all tokens, each with its share in each number."""
    trace = record(make(decoder="ssru"), " the cat is on a tree, é", target="a dog runs")
    for layer in range(trace.settings.decoder_layers):
        forget, candidate = (
            trace[f"decoder.{layer}.ssru.{name}"] for name in ("forget", "candidate")
        )
        shares = trace_cells(trace, layer)
        last, cell, left = len(forget) - 1, 0.0, np.ones(forget.shape[1])
        for at in range(last, -1, -1):
            part = (1 - forget[at]) * left
            assert part.mean() == pytest.approx(shares[last, at], abs=1e-6)
            cell, left = cell + part * candidate[at], left * forget[at]
        np.testing.assert_allclose(cell, trace[f"decoder.{layer}.ssru.cell"][last], atol=1e-5)
        assert np.allclose(shares.sum(1)[-1] + left.mean(), 1) and not np.triu(shares, 1).any()
    assert "is left in the state" in " ".join(x.text for x in make_scene(trace, "V118").texts)


def test_what_has_no_equation_is_named() -> None:
    settings = Model(d_model=16, heads=2, d_ff=32, encoder_layers=1, decoder_layers=1)
    wiring = record_wiring(settings)
    settings = settings.model_copy(update={"activation": "squared_relu"})
    with pytest.raises(ValueError, match=r"no equation of encoder\.0\.feed_forward\.hidden"):
        build_graph(settings, wiring, 3, 3, 300, 300)


def test_a_picture_is_not_drawn_with_a_setting_that_is_unknown_to_it() -> None:
    """Whichever of its equations the setting changes."""
    settings = Model().model_copy(update={"activation": "squared_relu"})
    with pytest.raises(ValueError, match="V64 shows equations that do not hold with activation="):
        make_scene(SimpleNamespace(settings=settings), "V64")
