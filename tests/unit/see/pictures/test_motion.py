"""Moving pictures: what a frame says is true, and what moves covers nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.text import Text

from glassformer.extensions.pictures import Animation, film
from glassformer.extensions.pictures.parts.nodes import spell
from glassformer.extensions.pictures.parts.render import render_scene
from glassformer.extensions.pictures.parts.scene import BoxMark, PathMark, Scene, TextMark
from glassformer.extensions.pictures.parts.ways import clear_ways
from glassformer.extensions.pictures.pictures import list_pictures, make_scene
from glassformer.see import Trace
from glassformer.translator import Translator

from .test_parts import make_scene as make_page

NETWORKS = {"transformer": "demo", "rnn": "demo-rnn-attention"}
MOVING = [
    (network, picture.id)
    for network in NETWORKS
    for picture in list_pictures(network)
    if picture.kind == "animated" and picture.needs != "watch"
]
TEXT = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def traces() -> dict[str, Trace]:
    return {
        network: Translator.load(model, device="cpu").see(TEXT)
        for network, model in NETWORKS.items()
    }


def list_numbers(text: str) -> list[str]:
    return re.findall(r"−?\d[\d\u202f]*(?:\.\d+)?|−?∞", text)


def list_sums(scene: Scene) -> Iterator[str]:
    """Yield what the sums of a scene may show: their first term, their first two, and so on."""
    for mark in scene.marks:
        if isinstance(mark, TextMark) and mark.terms:
            assert mark.value == pytest.approx(sum(mark.terms), abs=1e-4), mark
            digits = len(mark.text.rpartition(".")[2])
            yield from (spell(float(total), digits) for total in np.cumsum(mark.terms))


@pytest.mark.parametrize(("network", "id"), MOVING)
def test_a_frame_prints_no_number_that_is_not_true(
    network: str, id: str, traces: dict[str, Trace]
) -> None:
    """Each is one of the finished picture, of a caption, or a sum of a declared list's first."""
    scene = make_scene(traces[network], id)
    moving = render_scene(scene)
    assert isinstance(moving, Animation)
    finished = (m for m in scene.marks if isinstance(m, TextMark) and not m.until)
    texts = [*(mark.text for mark in finished), *scene.captions]
    known = {number for text in texts for number in list_numbers(text)} | {*list_sums(scene)}
    artists: list[Text] = [*moving.figure.axes[0].texts]
    for _ in moving.frames():
        shown = (text for text in artists if text.get_visible())
        found = {number for text in shown for number in list_numbers(text.get_text())}
        assert found <= known


@pytest.mark.parametrize(("network", "id"), MOVING)
def test_no_text_slides_over_another(network: str, id: str, traces: dict[str, Trace]) -> None:
    texts = [each for each in make_scene(traces[network], id).marks if isinstance(each, TextMark)]
    for one in texts:
        there = [
            each.area
            for each in texts
            if each.id not in ("note", "foot")
            and (each.step < one.step or (each.step == one.step and each.start))
            and not 0 < each.until <= one.step
            and (each.step, each.start) != (one.step, one.start)
        ]
        for share in np.arange(0.1, 1.01, 0.1) if one.start else ():
            x, y = one.start[0] * share, one.start[1] * share  # type: ignore[index]
            here = one.area.grow(-0.5)
            here = here._replace(x=here.x + x, y=here.y + y)
            assert not any(here.meets(area) for area in there), one.text


def test_a_way_ends_where_it_would_cover_something() -> None:
    """At a box, at a bent line, at what comes from elsewhere; not at what comes afterwards."""
    box = BoxMark(x=100.0, y=10.0, width=20.0, height=20.0, fill="#1f2733", step=1)
    runner = replace(box, start=(-90.0, 0.0))
    post = replace(box, x=60.0, step=0)
    bow = PathMark(points=((60.0, 0.0), (80.0, 0.0), (80.0, 60.0), (60.0, 60.0)), curved=True)
    card = BoxMark(x=85.0, y=0.0, width=60.0, height=60.0, fill="#ffffff", layer=1)

    def start_of(*others: BoxMark | PathMark) -> float:
        (mark, *_) = clear_ways((runner, *others))
        return mark.start[0] if mark.start else 0.0

    assert start_of() == start_of(replace(post, step=1)) == start_of(replace(post, step=2)) == -90
    assert start_of(card) == -90, "it rests there"
    assert -20 <= start_of(card, post) < -15 and -40 < start_of(bow) < -20
    assert start_of(replace(post, x=79.0)) == 0, "a way that is too short is none"
    assert start_of(replace(post, x=140.0, start=(0.0, 8.0), step=1)) == -90


def test_what_does_not_move_comes_after_what_does() -> None:
    runner = BoxMark(x=100.0, y=10.0, width=20.0, height=20.0, fill="#1f2733", step=1)
    arrow = PathMark(points=((0.0, 20.0), (90.0, 20.0)), ink="#1f2733", step=1)
    moving = render_scene(make_page(replace(runner, start=(-40.0, 0.0)), arrow, captions=("a",)))
    assert isinstance(moving, Animation)
    alphas = []
    for _ in moving.frames():
        alphas.append(tuple(drawn.artist.get_alpha() for drawn in moving.steps[0]))
    assert any(one == 1 and two == 0 for one, two in alphas) and alphas[-1] == (1, 1)


def test_what_has_turns_arrives_one_after_the_other() -> None:
    box = BoxMark(x=100.0, y=10.0, width=20.0, height=20.0, fill="#1f2733", step=1)
    look = {"x": 10.0, "y": 90.0, "size": 9.0, "ink": "#1f2733", "width": 20.0, "step": 1}
    total = TextMark(text="= 6.50", value=6.5, terms=(1.5, 2.0, 3.0), **look)  # type: ignore[arg-type]
    scene = make_page(box, replace(box, x=200.0, turn=2), total, captions=("a",))
    moving = render_scene(scene)
    assert isinstance(moving, Animation)
    told = []
    for _ in moving.frames():
        one, two, text = (drawn.artist for drawn in moving.steps[0])
        assert isinstance(text, Text)
        told.append(text.get_text())
        assert text.get_text() == "= 6.50" or two.get_alpha() == 0 < one.get_alpha()
    assert list(dict.fromkeys(told[1:-1])) == ["= 1.50", "= 3.50", "= 6.50"]


def test_a_film_has_one_scale_and_three_minutes(traces: dict[str, Trace]) -> None:
    """Words have 14 pixels at least; no picture is too wide or too high."""
    stage = film.Film(film.STAGES[".mp4"])
    seconds, high = 2 * film.CARD, []
    for id in film.REEL:
        scene = film.put_on_stage(make_scene(traces["transformer"], id), stage.zone)
        for mark in scene.marks:
            assert mark.area.x >= 0 and mark.area.right <= film.WIDE
            if isinstance(mark, TextMark) and len(mark.text) > 1:  # no index of a formula
                assert mark.size * stage.dpi / 72 >= 14, mark.text
        high += [id] if scene.height > stage.high + 1 else []
        moving = render_scene(scene)
        assert isinstance(moving, Animation)
        moving.pauses = 0.0, film.HOLD
        seconds += sum(moment.seconds for moment in moving.list_moments()) + film.STILL
        seconds += (film.CHANGE + 1 + 2 * film.FADE) / film.RATE
    assert not high and seconds <= 180


def test_what_two_pictures_print_stays_on_the_stage(traces: dict[str, Trace]) -> None:
    """The numbers of the query, from V32 to V33; in between, the stage has nothing else."""
    scenes = [make_scene(traces["transformer"], id) for id in ("V32", "V33")]
    pairs = film.pair_texts(*(scene.texts for scene in scenes))
    told = {one.of for one, _ in pairs if ".query[" in one.of}
    assert len(told) == 4 and all((one.of, one.text) == (two.of, two.text) for one, two in pairs)


def test_the_view_follows_what_comes(traces: dict[str, Trace]) -> None:
    stage = film.Film((320, 120))  # a flat one, on which the picture is too high
    scene = film.put_on_stage(make_scene(traces["transformer"], "V09"), stage.zone)
    ways = stage.follow(scene)
    assert len(ways) == len(scene.captions) and ways[0] == max(ways) > 0 == ways[-1]
