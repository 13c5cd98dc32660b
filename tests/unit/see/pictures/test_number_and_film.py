"""One number and its terms, the poster, and the film."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from glassformer.extensions.pictures import PICTURES, number
from glassformer.extensions.pictures.parts.nodes import spell
from glassformer.extensions.pictures.parts.quantity import Quantity
from glassformer.extensions.pictures.parts.scene import Scene, TextMark
from glassformer.extensions.pictures.parts.typesetting import TypeStyle, quote, set_lines
from glassformer.extensions.pictures.poster import A1
from glassformer.see import Trace

NAMES = (
    "encoder.0.self_attention.query[0,1,2]",
    "encoder.0.self_attention.scores[0,1,2]",
    "encoder.0.self_attention.weights[0,1,2]",
    "decoder.0.self_attention.weights[0,1,0]",
    "encoder.0.feed_forward.hidden[1,0]",
    "memory[1,0]",
    "source_embedding.sum[1,0]",
    "logits[0,3]",
)


def explain(trace: Trace, cell: str) -> Scene:
    return PICTURES["V112"].scene(trace, cell=cell)


@pytest.mark.parametrize("cell", NAMES)
def test_the_terms_make_the_number(cell: str, trace: Trace) -> None:
    """The last of the sums so far is the sum of the terms, and the title has the number."""
    scene = explain(trace, cell)
    name, index = re.fullmatch(r"(.*)\[(.*)\]", cell).groups()  # type: ignore[union-attr]
    where = tuple(map(int, index.split(",")))
    found = trace.explain(name, where)
    terms = found.divisor if len(found.terms) == 1 and len(found.divisor) > 1 else found.terms
    assert scene.data["running"][-1] == pytest.approx(sum(term.value for term in terms))
    assert len(scene.data["running"]) == min(len(terms), number.MOST)
    rest = len(terms) - number.MOST + 1
    assert (f" {rest} smaller terms" in scene.description) == (len(terms) > number.MOST)
    value = f"{float(trace[name][where]):.2f}"
    assert scene.title.startswith(
        value.lstrip("-") if float(value) == 0 else value.replace("-", "−")
    )


def test_a_number_that_a_head_reads_is_told_of_its_word(trace: Trace) -> None:
    name, where = "encoder.1.self_attention.context", (1, 2, 3)
    scene = explain(trace, f"{name}[1,2,3]")
    values = [term.value for term in trace.explain(name, where).terms]
    most = spell(max(values, key=abs))
    word, count = trace.source[2].text.strip(), len(values)
    title = f"One number of “{word}”, {spell(float(trace[name][where]))}, is a sum of {count} "
    assert scene.title.startswith(title) and scene.title.endswith(f"alone gives {most}")
    assert scene.description.index("Framed") < scene.description.index(name)
    assert "One number of" not in explain(trace, NAMES[0]).title


def test_the_sum_grows_from_step_to_step(trace: Trace) -> None:
    scene = explain(trace, NAMES[0])
    counts = [m for m in scene.marks if isinstance(m, TextMark) and m.text.startswith("Σ = ")]
    assert len(counts) == len(scene.captions) > 1
    assert [sum(m.terms) for m in counts] == pytest.approx([m.value for m in counts])
    assert [-m.turn for m in counts[1:]] == [len(m.terms) for m in counts[:-1]], "all that were"
    assert [m.until for m in counts] == [*range(2, len(counts) + 1), 0]
    assert sum(m.text.startswith("Σ = ") for m in scene.texts) == 1, "the others are gone again"


def test_a_cell_that_is_none_is_refused(trace: Trace) -> None:
    with pytest.raises(ValueError, match="write it as NAME"):
        explain(trace, "memory")


def test_a_poster_has_the_numbers_of_its_pictures(trace: Trace) -> None:
    """Under names of their own, so that no two arrays of one name are mixed up."""
    poster = PICTURES["V113"].scene(trace)
    assert (poster.width, poster.height) == A1
    alone = PICTURES["V74"].scene(trace).data["probability"]
    kept = {name for name in poster.data if name.endswith("_probability")}
    assert any(np.allclose(poster.data[name], alone) for name in kept)
    for mark in poster.texts:
        if mark.of and mark.value is not None:
            fetch = lambda name: poster.data[name] if name in poster.data else trace[name]  # noqa: E731
            assert float(Quantity(mark.of, fetch)) == pytest.approx(mark.value, abs=1e-5)
    assert poster.description.endswith("except counts.")


@pytest.mark.parametrize("text", ["$x_1^2$", "$", "5 $", "$a$ and $b$"])
def test_dollars_of_somebody_else_begin_no_formula(text: str) -> None:
    (line,) = set_lines(quote(text), TypeStyle(9))
    assert "".join(run.text for run in line) == text and not any(run.drop for run in line)
    assert len(set_lines("$x_1$", TypeStyle(9))[0]) == 2, "ours do"


def test_no_bar_is_longer_than_the_longest(trace: Trace) -> None:
    """That of all other tokens together can be the longest, where a model is unsure."""
    for n in range(len(trace.predicted)):
        scene = PICTURES["V80"].scene(trace, step=n)
        assert scene.width <= 720 and min(mark.size for mark in scene.texts) > 5


def test_the_ending_of_a_film_may_be_in_capitals(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    film = import_module("glassformer.extensions.pictures.film")
    frame = np.zeros((8, 8, 3), np.uint8)
    monkeypatch.setattr(film.Film, "play", lambda *_: iter([(frame, 1.0)]))
    assert film.write_film(trace, tmp_path / "a.GIF").read_bytes().startswith(b"GIF")


def test_a_film_is_a_gif_where_nothing_writes_mp4(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    film = import_module("glassformer.extensions.pictures.film")
    monkeypatch.setattr(film, "REEL", ("V35",))
    monkeypatch.setattr(film, "find_spec", lambda name: None)
    with pytest.warns(UserWarning, match=r"pip install 'glassformer\[video\]'"):
        path = film.write_film(trace, tmp_path / "a.mp4")
    assert path == tmp_path / "a.gif"
    with Image.open(path) as image:
        assert image.size == film.STAGES[".gif"] and image.n_frames > 10
        shown = np.asarray(image.convert("L"))
    assert (shown < 128).any(), "a card with the text"
    with pytest.raises(ValueError, match=r"\.mp4 or \.gif"):
        film.write_film(trace, tmp_path / "a.avi")
