"""A word in two sentences (V18): two sentences, and what the position alone does."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from glassformer.see import Trace
from glassformer.see.draw import draw
from glassformer.see.draw.context import cut_sentence

TEXT = "so it is on the old mat"


def read(trace: Trace, **options: object) -> tuple[list[str], list[str], str]:
    """The numbers of the curve, the two sentences, and the note."""
    texts = draw(trace, "V18", **options).axes[0].texts
    values = [t.get_text() for t in texts if (t.get_gid() or "").startswith("computed")]
    quoted = [m[1] for t in texts if (m := re.fullmatch("“(.*)”", t.get_text()))]
    return values, quoted, " ".join(t.get_text() for t in texts)


def cosine(a: np.ndarray, b: np.ndarray) -> str:
    a, b = a.astype(float), b.astype(float)
    return f"{a @ b / np.linalg.norm(a) / np.linalg.norm(b):.2f}".replace("-", "−")


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
    values, (first, second), _ = read(trace, query=query)
    assert first == TEXT and second != first and second in first
    there = see("post", second, target="so")
    if query != -1:  # the end mark is no word of a text
        assert values == read(trace, query=query, other=there)[0]


def test_word_and_position_come_before_the_layers(see: Callable[..., Trace], trace: Trace) -> None:
    there = see("post", "the old mat", target="so")
    place = next(n for n, token in enumerate(trace.source) if token.text == " old")
    other = next(n for n, token in enumerate(there.source) if token.text == " old")
    assert place != other
    values, _, note = read(trace, query=place, other=there)
    names = ["source_embedding.embedded", "source_embedding.sum"]
    names += [f"encoder.{n}.feed_forward_residual.normed" for n in range(3)]
    assert values == [cosine(trace[name][place], there[name][other]) for name in names]
    assert values[0] == "1.00" > values[1]
    assert "+ position" in note and f"{place} and {other} alone" in note and values[1] in note


def test_at_the_same_position_all_is_context(see: Callable[..., Trace], other: Trace) -> None:
    for trace, query in ((see("post", TEXT, target="so"), 0), (other, 0)):
        values, (first, second), note = read(trace, query=query)
        assert first != second and values[:2] == ["1.00", "1.00"]
        assert "all of the change is context" in note


def test_a_sentence_is_not_compared_with_itself(see: Callable[..., Trace], trace: Trace) -> None:
    again = see("post", TEXT, target="so")
    with pytest.raises(ValueError, match="other: it is the same sentence"):
        draw(trace, "V18", other=again)
    stranger = see("pre", "it is so", target="so")
    with pytest.raises(ValueError, match="another model"):
        draw(trace, "V18", query="is", other=stranger)
