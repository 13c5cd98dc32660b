"""A word in two sentences (V18), a sentence in two orders (V28): what others tell a token."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from glassformer.extensions.pictures import PICTURES, draw
from glassformer.extensions.pictures.context import (
    attend_first,
    compare_orders,
    cut_sentence,
    list_changes,
    read_second,
)
from glassformer.extensions.pictures.parts.scene import Scene
from glassformer.see import Trace

TEXT = "so it is on the old mat"


def draw_scene(trace: Trace, id: str = "V18", **options: object) -> Scene:
    return PICTURES[id].scene(trace, **options)  # type: ignore[misc]


def read_shares(scene: Scene, unit: str = " %") -> list[float]:
    """Return how far apart the two vectors are, unrounded, in the order of the bars."""
    texts = (mark for mark in scene.texts if mark.text.endswith(unit))
    return [mark.value for mark in texts if mark.value is not None]


def measure_distance(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a.astype(float), b.astype(float)
    return float(np.linalg.norm(a - b) / np.linalg.norm(a))


@pytest.mark.parametrize("count", [2, 3, 7, 60, 130])
def test_the_part_has_the_word_and_is_not_the_whole(count: int) -> None:
    for place in range(count):
        part = cut_sentence(count, place)
        assert 0 <= part.start <= place < part.stop <= count
        assert 0 < part.stop - part.start < count


@pytest.mark.parametrize("query", [0, 1, -2, -1])
def test_the_sentences_differ_wherever_the_word_stands(
    see: Callable[..., Trace], trace: Trace, query: int
) -> None:
    """And what is said of the second is what a recording of it says."""
    place = query % len(trace.source)
    second = read_second(trace, place, None, "")
    assert trace.text == TEXT and second.text != TEXT
    if query != -1:  # the end mark is no word of a text
        there = see("post", second.text, target="so")
        mine = draw_scene(trace, query=query, other=there)
        assert read_shares(mine) == pytest.approx(
            read_shares(draw_scene(trace, query=query)), abs=1e-5
        )


def test_one_word_is_changed_for_another_of_its_kind(see: Callable[..., Trace]) -> None:
    trace = see("post", "a dog runs on the old mat", target="so")
    changes = list_changes(trace)
    assert changes, "cat, dog, bird, old, sing: the words of this model"
    for change in changes:
        old, new = change.swap
        text = "".join(change.texts).strip()
        again = see("post", text, target="so")
        assert text == trace.text.replace(old, new) and old != new
        assert [token.id for token in again.source] == change.ids
        assert [a == b.id for a, b in zip(change.ids, trace.source, strict=True)].count(False) == 1


def test_word_and_position_come_before_the_layers(see: Callable[..., Trace], trace: Trace) -> None:
    there = see("post", "the old mat", target="so")
    place = next(n for n, token in enumerate(trace.source) if token.text == " old")
    other = next(n for n, token in enumerate(there.source) if token.text == " old")
    assert place != other
    scene = draw_scene(trace, query=place, other=there)
    names = ["source_embedding.embedded", "source_embedding.sum"]
    names += [f"encoder.{n}.feed_forward_residual.normed" for n in range(3)]
    wanted = [measure_distance(trace[name][place], there[name][other]) for name in names]
    assert read_shares(scene) == pytest.approx(wanted, abs=1e-6)
    assert wanted[0] == 0 < wanted[1], "the position alone moves it"
    assert f"positions {place} and {other}" in scene.description


def test_at_the_same_position_all_is_context(see: Callable[..., Trace], other: Trace) -> None:
    for trace, query in ((see("post", TEXT, target="so"), 0), (other, 0)):
        scene = draw_scene(trace, query=query)
        assert (
            read_shares(scene)[:2] == pytest.approx([0, 0], abs=1e-6)
            and max(read_shares(scene)) > 0
        )
        assert "all of the difference is context" in scene.description


def test_a_sentence_is_not_compared_with_itself(see: Callable[..., Trace], trace: Trace) -> None:
    again = see("post", TEXT, target="so")
    with pytest.raises(ValueError, match="other: it is the same sentence"):
        draw(trace, "V18", other=again)
    stranger = see("pre", "it is so", target="so")
    with pytest.raises(ValueError, match="another model"):
        draw(trace, "V18", query="is", other=stranger)


def test_the_first_attention_by_hand_is_the_models(trace: Trace, other: Trace) -> None:
    for each in (trace, other):
        recorded = each["encoder.0.self_attention.output"]
        by_hand = attend_first(each, np.asarray(each["source_embedding.sum"], dtype=float))
        assert np.allclose(by_hand, recorded, atol=1e-5 * max(1, np.abs(recorded).max()))


def test_order_matters_only_with_positions(trace: Trace) -> None:
    """And what is printed is attention's own difference, not that of the positions added to it."""
    (one, two), (three, four) = compare_orders(trace, 4)
    assert np.abs(one - two).max() < 1e-12 < 1e-3 < np.abs(three - four).max()
    count = min(6, len(trace.source) - 1)
    printed = np.array(read_shares(draw_scene(trace, "V28"), "")).reshape(count, 2)
    (_, _), (there, back) = compare_orders(trace, count)
    assert printed[:, 0] == pytest.approx(np.zeros(count), abs=1e-9)
    assert printed[:, 1] == pytest.approx(np.linalg.norm(there - back, axis=1), rel=1e-5)
