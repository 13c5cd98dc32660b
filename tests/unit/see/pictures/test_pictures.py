"""Every picture draws, in words that can be read, and prints nothing but what was recorded."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from glassformer.config import Config
from glassformer.extensions.pictures import PICTURES, Animation, draw, pictures
from glassformer.extensions.pictures.parts.fonts import find_family
from glassformer.extensions.pictures.parts.scene import GridMark
from glassformer.extensions.pictures.pictures import list_pictures
from glassformer.extensions.pictures.words import choose_word
from glassformer.see import Trace

from .conftest import SHAPES

OWN = [id for id in PICTURES if int(id[1:]) <= 48]


def get_figure(drawn: Figure | Animation) -> Figure:
    return drawn if isinstance(drawn, Figure) else drawn.figure


def get_texts(figure: Figure) -> list[Text]:
    return [text for axes in figure.axes for text in axes.texts if text.get_text()]


def render(figure: Figure) -> np.ndarray:
    """At low resolution; a missing glyph is a warning, and a warning an error."""
    figure.set_dpi(40)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


@pytest.mark.parametrize("id", OWN)
def test_it_draws_what_was_recorded(id: str, trace: Trace) -> None:
    drawn = draw(trace, id)
    assert isinstance(drawn, Animation) == (PICTURES[id].kind == "animated")
    figure = get_figure(drawn)
    pixels = render(figure)
    assert len(np.unique(pixels.reshape(-1, 4), axis=0)) > 10, "nothing is on it"


@pytest.mark.parametrize("id", OWN)
def test_it_draws_the_smallest(id: str, other: Trace) -> None:
    figure = get_figure(draw(other, id))
    render(figure)


@pytest.mark.skipif(find_family("图") is None, reason="no font with Chinese characters")
@pytest.mark.parametrize("id", OWN)
def test_it_speaks_chinese(id: str, trace: Trace) -> None:
    written = "".join(text.text for text in PICTURES[id].scene(trace, lang="zh").texts)
    assert re.search(r"[\u4e00-\u9fff]", written)


@pytest.mark.parametrize("id", OWN)
def test_titles_say_the_same_in_two_languages(id: str) -> None:
    picture = PICTURES[id]
    assert picture.title() and picture.title("zh") and picture.id == id
    assert "lang" in picture.options


def test_none_of_the_first_groups_is_missing() -> None:
    expected = [f"V{number:02}" for number in range(1, 49)]
    assert expected == OWN


def test_the_word_of_a_token_is_built(trace: Trace) -> None:
    """Row by row, down to the token itself; the ranks are compared above."""
    place = next(n for n, token in enumerate(trace.source) if token.text == " mat")
    number = choose_word(trace, place)
    assert "".join(trace.document.words[number].symbols) == " mat"
    drawn = [text.get_text() for text in draw(trace, "V10", query=place).findobj(Text)]
    assert drawn.count("▁mat") == 2
    ranks = [merge.rank for merge in trace.document.words[number].merges]
    assert [text for text in drawn if text.startswith("merge ")] == [f"merge {n}" for n in ranks]


@pytest.mark.parametrize("query", [0, -1, "so"])
def test_a_query_may_be_a_number_or_a_token(trace: Trace, query: int | str) -> None:
    figure = get_figure(draw(trace, "V37", layer=-1, head=1, query=query))
    row = 0 if query == "so" else query % len(trace.source)
    tags = {text.get_gid() for text in get_texts(figure)}
    assert any(tag and f"encoder.2.self_attention.query[1,{row},k]" in tag for tag in tags)


@pytest.mark.parametrize(
    ("id", "options", "said"),
    [
        ("V199", {}, "there is no picture V199; did you mean V121"),
        ("cat", {}, "there is no picture cat; did you mean V"),
        ("", {}, "there is no picture “”"),
        ("V37", {"layer": 3}, "layer=3: there are 3, 0 to 2"),
        ("V37", {"head": -3}, "head=-3: there are 2, 0 to 1"),
        ("V37", {"query": "cat"}, "query=cat: the tokens are"),
        ("V37", {"size": 3}, "V37 has no option size"),
        ("V40", {"side": "left"}, "side=left: one of encoder, decoder"),
        ("V01", {"lang": "fr"}, "lang=fr: one of en, zh"),
    ],
)
def test_a_wrong_choice_is_said(trace: Trace, id: str, options: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        draw(trace, id, **options)


WRONG = {
    "layer": (9, -9),
    "head": (99, -99),
    "heads": ([99], []),
    "query": (99, "nosuch"),
    "step": (99, "nosuch"),
    "side": ("left",),
    "kind": ("left",),
    "sublayer": ("left",),
}


@pytest.mark.parametrize("id", [picture.id for picture in list_pictures()])
def test_no_choice_goes_wrong_unsaid(id: str, trace: Trace) -> None:
    """What the command line hands on as it was typed."""
    for option in WRONG.keys() & {*PICTURES[id].options}:
        for value in WRONG[option]:
            with pytest.raises(ValueError, match=option.removesuffix("s")):
                draw(trace, id, **{option: value})


@pytest.mark.parametrize(
    ("id", "settings", "said"),
    [
        ("V19", {"positions": {"combine": "multiply"}}, "positions.combine=multiply"),
        ("V19", {"positions": {"combine": "concatenate"}}, "positions.combine=concatenate"),
        ("V34", {"ablate": ["scale"]}, "ablate=scale"),
        *(
            (f"V{n}", {"attention": {"pattern": "local"}}, "attention.pattern=local")
            for n in (*range(34, 39), 40, 76)
        ),
        ("V59", {"attention": {"pattern": "strided"}}, "attention.pattern=strided"),
        ("V63", {"gated": True}, "gated=true"),
        ("V65", {"ablate": ["norm", "residual"]}, "ablate="),
        ("V66", {"normalization": "rms"}, "normalization=rms"),
        ("V68", {"normalization": "rms"}, "normalization=rms"),
    ],
)
def test_an_equation_that_does_not_hold_is_not_drawn(id: str, settings: dict, said: str) -> None:
    network = SimpleNamespace(settings=Config.read({"model": settings}).model)
    with pytest.raises(ValueError, match=f"{id} shows equations that do not hold with {said}"):
        draw(network, id)


def test_other_networks_are_drawn_as_they_are(
    see: Callable[..., Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heads may share keys, and an RMSNorm is called so."""
    odd = {"key_value_heads": 1, "normalization": "rms"}
    monkeypatch.setitem(SHAPES, "odd", SHAPES["post"] | odd)
    trace = see("odd", "so it is", target="it is")
    draw(trace, "V39", head=1)
    scene = pictures.make_scene(trace, "V05")
    assert "RMSNorm" in scene.description and "LayerNorm" not in scene.description


def test_heads_share_the_matrices_of_their_keys(
    see: Callable[..., Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A head's keys and values are its input times the matrices that are drawn."""
    shape = SHAPES["post"] | {"heads": 4, "key_value_heads": 2}
    monkeypatch.setitem(SHAPES, "grouped", shape)
    trace = see("grouped", "so it is", target="it is")
    name, width = "encoder.0.self_attention", 3
    inputs = trace["source_embedding.sum"]
    for head in range(4):
        scene = pictures.make_scene(trace, "V48", head=head)
        grids = [np.array(mark.values) for mark in scene.marks if isinstance(mark, GridMark)]
        drawn = [grid for grid in grids if grid.shape == (inputs.shape[1], width)]
        for projection, learned in zip(("query", "key", "value"), drawn, strict=True):
            start = head // (1 if projection == "query" else 2) * width
            bias = trace[f"{name}.to_{projection}.bias"][start : start + width]
            expected = trace[f"{name}.{projection}"][head]
            assert np.allclose(inputs @ learned + bias, expected, atol=1e-5)


def test_on_axes_of_ones_own(trace: Trace) -> None:
    figure = Figure((3, 1))
    axes = figure.add_subplot()
    assert draw(trace, "V01", ax=axes) is figure
    assert max(text.get_fontsize() for text in axes.texts) < 10, "type shrinks along"
    figure.savefig(io.BytesIO(), format="png")


def test_the_table_is_in_order() -> None:
    numbers = [int(id[1:]) for id in PICTURES]
    assert numbers == sorted(numbers)
    assert {pictures.find_picture(id).id for id in ("v07", "V7", "7", "V07")} == {"V07"}
