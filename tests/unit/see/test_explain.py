"""Any number says how it was made, and says it right in every form."""

from __future__ import annotations

import json
import math
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from glassformer.see import Explanation, Trace, record
from glassformer.see.explain import KEYS


def draw_cells(trace: Trace, of_each: int = 2) -> list[tuple[str, tuple[int, ...]]]:
    """Some of every tensor, of every parameter and of what is derived."""
    draw = random.Random(3)
    return [
        (name, tuple(draw.randrange(size) for size in trace[name].shape))
        for name in trace.graph
        for _ in range(of_each)
    ]


def allow(found: Explanation) -> float:
    """1e-5 of the sum of what is added, as numbers that nearly cancel are known no better."""
    return 1e-5 * max(1.0, abs(found.scale) * sum(abs(term.value) for term in found.terms))


def test_the_terms_add_up(trace: Trace) -> None:
    for name, index in draw_cells(trace):
        found = trace.explain(name, index)
        total = found.scale * sum(term.value for term in found.terms) + found.bias
        if found.function:
            total = getattr(math, found.function)(total)
        if name.endswith(".masked") and not found.mask:
            assert found.value == found.recomputed == -math.inf
            continue
        assert abs(found.value - total) <= allow(found), (name, index)
        assert abs(found.recomputed - total) <= 1e-9 * max(1, abs(total)), (name, index)
        assert found.value == trace[name][index]


def test_operands_are_cells_of_the_trace(trace: Trace) -> None:
    for name, index in draw_cells(trace, 1):
        for term in trace.explain(name, index).terms:
            assert all(cell.value == trace[cell.name][cell.index] for cell in term.operands)


def test_a_score_is_a_dot_product(trace: Trace) -> None:
    name = "decoder.1.cross_attention"
    found = trace.explain(f"{name}.scores", (2, 1, -1))
    query, key = trace[f"{name}.query"][2, 1], trace[f"{name}.key"][2, -1]
    assert found.index == (2, 1, len(trace.source) - 1)
    assert [term.value for term in found.terms] == pytest.approx(query * key, rel=1e-6)
    assert found.scale == pytest.approx(1 / math.sqrt(5))
    assert (found.bias, found.mask) == (0.0, None)
    assert found.formula == "scores[h,q,m] = Σ_k query[h,q,k] · key[h,m,k] / √5"


def test_the_mask_of_a_weight(trace: Trace) -> None:
    seen = trace.explain("decoder.0.self_attention.weights", (0, 1, 0))
    hidden = trace.explain("decoder.0.self_attention.weights", (0, 1, 2))
    assert (seen.mask, hidden.mask) == (True, False)
    assert hidden.value == hidden.recomputed == 0.0
    assert sum(term.value > 0 for term in seen.divisor) == 2, "row 1 sees positions 0 and 1"
    assert "hidden by the mask" in hidden.to_text()


def test_the_json_has_these_keys(trace: Trace) -> None:
    for name, index in draw_cells(trace, 1):
        shown = json.loads(json.dumps(trace.explain(name, index).to_json(), allow_nan=False))
        assert tuple(shown) == KEYS
        assert all(term.keys() == {"value", "operands"} for term in shown["terms"])
        cells = [cell for term in shown["terms"] for cell in term["operands"]]
        assert all(cell.keys() == {"name", "index", "value"} for cell in cells)


def test_the_code_runs(trace: Trace) -> None:
    for name, index in draw_cells(trace, 1):
        found = trace.explain(name, index)
        scope: dict[str, Any] = {"trace": trace}
        exec(found.to_numpy(), scope)
        if math.isfinite(found.value):
            assert abs(float(scope["value"]) - found.value) <= allow(found), found.to_numpy()
        else:
            assert scope["value"] == found.value


def test_the_code_and_the_terms_hold_far_from_zero(make: Any) -> None:
    """Where exp would overflow, as in a model with loud weights."""
    translator = make(activation="silu", positions={"max_positions": 40, "amplitude": 1e5})
    trace = record(translator, "a dog", target="a cat")
    assert np.abs(trace["encoder.0.self_attention.scores"]).max() > 1e3
    for name, index in draw_cells(trace, 3):
        found, scope = trace.explain(name, index), {"trace": trace}
        exec(found.to_numpy(), scope)  # a warning is an error
        apart = abs(float(scope["value"]) - found.value)
        assert found.value == -math.inf or apart <= allow(found), (name, index)


def test_what_is_hidden_is_minus_infinity_in_latex(trace: Trace) -> None:
    latex = trace.explain("decoder.0.self_attention.masked", (0, 1, 2)).to_latex()
    assert latex.endswith(r"_{0,1,2} &= -\infty \end{aligned}") and "= 0" not in latex


def test_latex_is_balanced_and_has_the_value(trace: Trace) -> None:
    for name, index in draw_cells(trace, 1):
        latex = trace.explain(name, index).to_latex()
        assert latex.count("{") == latex.count("}")
        assert latex.count(r"\left(") == latex.count(r"\right)")
        assert latex.startswith(r"\begin{aligned}") and latex.endswith(r"\end{aligned}")
    latex = trace.explain("decoder.1.cross_attention.scores", (2, 1, 0)).to_latex()
    value = trace["decoder.1.cross_attention.scores"][2, 1, 0]
    assert f"{abs(value):.4g}" in latex and r"\cdot" in latex and r"\sqrt{5}" in latex


def test_the_text_has_the_running_sum(trace: Trace) -> None:
    found = trace.explain("decoder.1.cross_attention.scores", (2, 1, 0))
    values = [term.value for term in found.terms]
    text = found.to_text()
    for sum_so_far in np.cumsum(values):
        assert f"(sum so far {sum_so_far: .6g})" in text
    assert f"query 1 {trace.target[1].text!r}, key 0 {trace.source[0].text!r}" in text
    long = (
        trace.explain("memory", (0, 0))
        if trace.settings.norm == "pre"
        else trace.explain("encoder.0.feed_forward.inner", (0, 0))
    )
    assert "= " in long.to_text()


def test_of_many_terms_the_largest_are_shown(trace: Trace) -> None:
    text = trace.explain("encoder.0.feed_forward.inner", (0, 0)).to_text()
    assert "and 10 smaller terms; all 22 sum to" in text


@pytest.mark.thorough
def test_every_chain_ends_at_a_word_or_a_place(trace: Trace) -> None:
    last = {
        "source_embedding.table.weight",
        "target_embedding.table.weight",
        "source_embedding.angle",
        "target_embedding.angle",
        "source.ids",
        "target.ids",
    }
    for name, index in draw_cells(trace, 1):
        if trace.graph[name].kind != "parameter":
            chain = trace.explain(name, index).chain
            assert chain[-1].name in last, name
            for above, below in pairwise(chain):
                cells = {(c.name, c.index) for term in above.terms for c in term.operands}
                assert (below.name, below.index) in cells


def test_an_embedding_is_a_row_and_a_place(trace: Trace) -> None:
    words = trace.explain("source_embedding.sum", (2, 3)).follow(0)
    places = trace.explain("source_embedding.sum", (2, 3)).follow(1)
    assert words.terms[0].operands[0].index == (trace.source[2].id, 3)
    assert words.scale == pytest.approx(math.sqrt(22))
    assert places.terms[0].operands[0].name == "source_embedding.angle"
    assert places.value == pytest.approx(math.cos(2 * 10000 ** (-2 / 22)), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "index", "said"),
    [
        ("memory", (99, 0), r"memory\[99,0\]: source 99 is out of range, it goes from 0 to"),
        ("memory", (0,), r"memory has 2 axes \(source, d_model\), but 1 numbers were given"),
        ("decoder.-1.self_attention.weight", (0,), "mean decoder.2.self_attention.weights"),
    ],
)
def test_cells_that_are_not_there(
    trace: Trace, name: str, index: tuple[int, ...], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        trace.explain(name, index)


def test_operands_that_were_not_recorded(translator: Any) -> None:
    trace = record(translator, "a dog", level="attention")
    with pytest.raises(ValueError, match="scores is not in a recording with level=attention"):
        trace.explain("encoder.0.self_attention.weights", (0, 0, 0))
