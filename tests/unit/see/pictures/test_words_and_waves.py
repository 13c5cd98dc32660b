"""The map of words (V16), and the code and the numbers of positional encodings (V23-V27)."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest

from glassformer.extensions.pictures import PICTURES, frequencies
from glassformer.extensions.pictures.meaning import spread_out
from glassformer.extensions.pictures.parts.kinds import find_rows, read_kinds
from glassformer.extensions.pictures.waves import encode_waves, wave_rates
from glassformer.see import Trace
from glassformer.translator import Translator

WORKED = {  # three positions of width 4
    "interleaved": [[0, 1, 0, 1], [0.8415, 0.5403, 0.01, 0.99995], [0.9093, -0.4161, 0.02, 0.9998]],
    "concatenated": [[0, 0, 1, 1], [0.8415, 0.0001, 0.5403, 1], [0.9093, 0.0002, -0.4161, 1]],
}


@pytest.mark.parametrize("layout", WORKED)
def test_three_positions_of_width_four(layout: str) -> None:
    np.testing.assert_allclose(encode_waves([0, 1, 2], 4, layout), WORKED[layout], atol=6e-5)


@pytest.mark.parametrize("d", [4, 8, 64, 512])
def test_the_code_that_is_shown_makes_the_encodings(d: int) -> None:
    """And it takes the sine and the cosine itself, in as few lines as fit beside its picture."""
    for function, layout in (
        (frequencies.paper, "interleaved"),
        (frequencies.tensor2tensor, "concatenated"),
    ):
        found = function(np.arange(100), d)
        np.testing.assert_allclose(found, encode_waves(range(100), d, layout), atol=1e-9)
        code = "\n".join(frequencies._read_lines(function))
        assert "np.sin(angle)" in code and "np.cos(angle)" in code and code.count("\n") < 8
        assert '"""' not in code and inspect.signature(function).parameters.keys() == {
            "positions",
            "d",
        }


def test_wavelengths_and_likeness_are_those_of_the_formulas(trace: Trace) -> None:
    np.testing.assert_allclose(2 * np.pi / wave_rates(20)[[2, 3]], [39.6, 99.6], atol=0.05)
    texts = [mark.text for mark in PICTURES["V26"].scene(trace).texts]  # type: ignore[misc]
    for told in ("1: 0.973", "2: 0.905", "10: 0.679", "50: 0.512"):
        assert told in texts
    for i in (0, 40, 96, 160):  # a shift turns each wave, wherever it begins
        turned = 5 * np.degrees(wave_rates(512)[i])
        assert f"{turned:.{0 if turned >= 10 else 1}f}°" in texts


def test_words_that_are_alike_lie_together() -> None:
    """Two groups of points in many dimensions stay two groups on the map, the same each time."""
    random = np.random.default_rng(1)
    groups = np.repeat([0, 1], 20)
    vectors = random.normal(size=(2, 30))[groups] + 0.3 * random.normal(size=(40, 30))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    points = spread_out(vectors @ vectors.T)
    assert np.isfinite(points).all() and (points == spread_out(vectors @ vectors.T)).all()
    apart = np.linalg.norm(points[:, None] - points, axis=-1) + np.eye(40) * 1e9
    assert (groups[apart.argmin(1)] == groups).all()


def test_the_map_says_what_holds_of_this_model(see: Callable[..., Trace]) -> None:
    """The words of a random model have no kinds: their map does not say so."""
    trace = see("post", "the old cat sings on the mat", target="so")
    words = find_rows(trace)
    assert {"cat", "dog", "old"} <= {*words} and len(words) > 3
    table = np.asarray(trace["source_embedding.table.weight"], float)[[*words.values()]]
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    alike = table @ table.T - 3 * np.eye(len(words))
    kinds = [read_kinds()[word] for word in words]
    same = sum(kinds[n] == kinds[int(row.argmax())] for n, row in enumerate(alike))
    chance = sum(kinds.count(k) - 1 for k in kinds) / (len(words) - 1)
    title = PICTURES["V16"].scene(trace).title  # type: ignore[misc]
    assert ("by chance" in title) == (same > 2 * chance)


def test_a_word_of_bytes_is_named_by_its_letters() -> None:
    """Its first token may have no characters, and is no end."""
    demo = Translator.load("demo", device="cpu")
    for word in ("Łódź", "الإنترنت"):
        scene = PICTURES["V10"].scene(demo.see(f"{word} is big.", level="attention"))
        texts = [mark.text for mark in scene.texts]
        assert f"“{word}” is rare enough" in scene.title
        assert texts.count("end") == 1 and "0–0" in texts
        assert all(mark.area.x >= 0 and mark.area.right <= scene.width for mark in scene.texts)
