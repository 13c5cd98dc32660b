"""Heads: what each looks at, as a measured share (V43, V46); attention as matrices (V40-V48)."""

from __future__ import annotations

import re

import numpy as np
import pytest

from glassformer.extensions.pictures import PICTURES
from glassformer.extensions.pictures.lanes import LANES
from glassformer.extensions.pictures.multihead import LEAST, portray_heads
from glassformer.extensions.pictures.parts import style
from glassformer.extensions.pictures.parts.scene import GridMark, PathMark
from glassformer.see import Trace

TEXTS = ["the", "dog", "saw", "a", "cat", "</s>"]


def test_a_head_is_named_after_what_it_looks_at() -> None:
    n = len(TEXTS)
    before = np.eye(n, k=-1) + np.eye(n)[:, :1] @ np.eye(n)[:1]  # the first looks at itself
    nouns = np.tile([0, 0.5, 0, 0, 0.5, 0], (n, 1))
    one = np.tile(np.eye(n)[5], (n, 1))
    even = np.full((n, n), 1 / n)
    found = portray_heads(np.stack([before, nouns, one, even, np.eye(n)]), TEXTS)
    assert [each.key for each in found] == ["before", "noun", "word", "anywhere", "itself"]
    assert found[0].share == pytest.approx((n - 1) / n)
    assert found[0].chance == pytest.approx((n - 1) / n**2)
    assert found[1].share == 1 and found[1].chance == pytest.approx(2 / n)
    assert found[2].word == "</s>" and found[2].excess > LEAST


def test_portraits_are_drawn_of_the_layer_with_most_marked_habits(trace: Trace) -> None:
    texts = [token.text.strip() for token in trace.source]
    marks = [
        sum(e.excess for e in portray_heads(trace[f"encoder.{n}.self_attention.weights"], texts))
        for n in range(3)
    ]
    for id in ("V43", "V46"):
        scene = PICTURES[id].scene(trace)  # type: ignore[misc]
        grids = [mark.of for mark in scene.marks if isinstance(mark, GridMark)]
        assert all(f"encoder.{int(np.argmax(marks))}." in of for of in grids)
    captions = PICTURES["V46"].scene(trace).captions  # type: ignore[misc]
    assert len(captions) == trace.settings.heads and all("ead" in each for each in captions)


def test_the_mask_is_drawn_where_there_is_one(trace: Trace) -> None:
    """By default of the decoder: the cells above the diagonal are hatched, and counted."""
    scene = PICTURES["V40"].scene(trace)  # type: ignore[misc]
    n = len(trace.target)
    above = {(i, j) for i in range(n) for j in range(n) if j > i}
    hatched = [set(m.hidden) for m in scene.marks if isinstance(m, GridMark) and m.hidden]
    assert hatched == [above, above]  # the masked scores, and their softmax
    assert f"{100 * len(above) / n**2:.0f}" in scene.title
    free = PICTURES["V40"].scene(trace, side="encoder")  # type: ignore[misc]
    assert not any(m.hidden for m in free.marks if isinstance(m, GridMark))


def test_an_arrow_leaves_the_row_of_the_query(trace: Trace) -> None:
    """And what it arrives at sums to 1, with the keys that are not drawn."""
    scene = PICTURES["V41"].scene(trace)  # type: ignore[misc]
    arrow = next(m for m in scene.marks if isinstance(m, PathMark) and m.ink == style.LIT)
    lit = next(mark for mark in scene.texts if mark.ink == style.LIT)  # the query's name
    assert arrow.points[0][1] == pytest.approx(lit.area.middle[1], abs=2)
    texts = [mark.text for mark in scene.texts]
    shares = [float(text) for text in texts if re.fullmatch(r"[01]\.\d\d", text)]
    assert sum(shares) == pytest.approx(1, abs=0.005 * len(shares))


def test_what_heads_add_is_the_output(trace: Trace) -> None:
    scene = PICTURES["V44"].scene(trace)  # type: ignore[misc]
    name = "encoder.0.self_attention"
    bias = trace[f"{name}.to_output.bias"]
    np.testing.assert_allclose(
        scene.data["added"].sum(0) + bias, trace[f"{name}.output"], atol=1e-5
    )


def test_matrices_have_their_true_proportions(trace: Trace) -> None:
    """A matrix of 12 rows and 6 columns is twice as high as wide."""
    scene = PICTURES["V48"].scene(trace)  # type: ignore[misc]
    d, k = trace.settings.d_model, trace.settings.width
    shapes = {(len(g.values), len(g.values[0])): g for g in scene.marks if isinstance(g, GridMark)}
    tall, square = shapes[d, k], shapes[d, d]
    assert tall.height / tall.width == pytest.approx(d / k)
    assert square.height / square.width == pytest.approx(1)


def test_parameters_of_a_shared_table_count_once(trace: Trace, other: Trace) -> None:
    """The sum in the title is the number of arrays that are stored, each by one of its names."""
    for each in (trace, other):
        names = {*each.parameters}
        if each.settings.tie == "three-way":
            names -= {"target_embedding.table.weight", "output_table.weight"}
        total = sum(each.parameters[name].size for name in names)
        title = PICTURES["V07"].scene(each).title.replace("\u202f", "")  # type: ignore[misc]
        assert title.startswith(f"{total} learned numbers")


def test_a_part_is_drawn_where_the_model_has_it(trace: Trace, other: Trace) -> None:
    """Pre-norm has a LayerNorm before each sub-layer and one behind each stack."""
    for each, norms in ((trace, 0), (other, 5 + 2)):
        texts = [mark.text for mark in PICTURES["V07"].scene(each).texts]  # type: ignore[misc]
        assert texts.count("LayerNorm") == norms
        assert texts.count("Add & norm") == (0 if norms else 5)


def test_lanes_meet_in_attention_as_much_as_they_read(trace: Trace, other: Trace) -> None:
    """A line of V09 is as thick as the mean weight of the heads; a mask leaves no line."""
    for each in (trace, other):
        scene = PICTURES["V09"].scene(each)  # type: ignore[misc]
        ink = style.role("attention").ink
        lines = [m.line for m in scene.marks if isinstance(m, PathMark) and m.ink == ink]
        wanted, rows = list[float](), 0
        for side, most in LANES.items():
            weights = each[f"{side}.0.self_attention.weights"].mean(0)[:most, :most]
            wanted += [0.5 + 5 * float(w) for w in weights.ravel() if w]
            rows = len(weights)
        assert sorted(lines) == pytest.approx(sorted([*wanted, *[0.5 + 5 * 0.3] * rows]), rel=1e-5)
        networks = [mark.text for mark in scene.texts].count("FFN")
        assert networks == sum(
            min(most, len(side))
            for most, side in zip(LANES.values(), (each.source, each.target), strict=True)
        )
