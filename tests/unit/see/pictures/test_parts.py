"""What pictures are made of: numbers, fonts, waves, orders, animations, the gallery."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from glassformer.config import Positions
from glassformer.extensions.pictures import PICTURES, draw, save_figure, waves
from glassformer.extensions.pictures.chapters import ShownPicture, group_chapters
from glassformer.extensions.pictures.gallery import gallery
from glassformer.extensions.pictures.parts import plan
from glassformer.extensions.pictures.parts.animate import EXACT, LONGEST
from glassformer.extensions.pictures.parts.fonts import (
    find_family,
    make_writable,
    measure_width,
    shorten_text,
)
from glassformer.extensions.pictures.parts.nodes import Panel, Sheet, find_largest, spell
from glassformer.extensions.pictures.parts.palette import Palette
from glassformer.extensions.pictures.parts.render import render_scene
from glassformer.extensions.pictures.parts.scene import (
    Area,
    BoxMark,
    GridMark,
    Mark,
    Scene,
    TextMark,
)
from glassformer.extensions.pictures.parts.selection import elide
from glassformer.extensions.pictures.parts.style import PAPER, ROLES
from glassformer.extensions.pictures.parts.svg import write_svg
from glassformer.extensions.pictures.parts.typesetting import TypeStyle, set_lines
from glassformer.extensions.pictures.slides import write_slides
from glassformer.model.positions import sinusoids
from glassformer.see import Trace


def test_a_palette_keeps_what_fills_a_picture_and_what_is_far_from_it() -> None:
    """A colour of a heat map is a statement; the colour of a thin line has its place, too."""
    dice = np.random.default_rng(4)
    ramp = np.stack([np.arange(150), np.arange(150), 100 + np.arange(150)], 1)
    noise = np.repeat(dice.integers(0, 256, (1, 150, 1)), 3, -1)  # the rims of letters
    pixels = np.concatenate([np.tile(ramp, (20, 1, 1)), noise]).astype(np.uint8)
    pixels[-1, 0] = 255, 0, 0
    stored = np.asarray(Palette(pixels).index(pixels).convert("RGB"))
    assert np.array_equal(stored[:-1], pixels[:-1]) and stored[-1, 0].tolist() == [255, 0, 0]
    assert len(np.unique(stored.reshape(-1, 3), axis=0)) <= 256


def test_a_callout_finds_a_cell_of_a_panel() -> None:
    sheet = Sheet()
    Panel(np.eye(4), width=80, height=40).named("eye").place(sheet, 10, 20)
    assert sheet.find("eye[1,3]") == Area(70, 30, 20, 10)


@pytest.mark.parametrize(
    ("value", "digits", "printed"),
    [(-0.001, 2, "0.00"), (-1.5, 1, "−1.5"), (float("-inf"), 2, "−∞"), (112, 0, "112")],
)
def test_numbers_as_printed(value: float, digits: int, printed: str) -> None:
    assert spell(value, digits) == printed


def make_scene(*marks: Mark, captions: tuple[str, ...] = ()) -> Scene:
    """A page of 560 by 420 points with nothing but these marks."""
    return Scene("", "en", "", "", 560.0, 420.0, marks, captions)


def test_letters_of_a_line_stand_on_one_line() -> None:
    """Whatever stands beside them: high letters or low ones."""
    feet = set()
    for text in ("xz", "HE", "k▔"):
        mark = TextMark(x=10.0, y=60.0, text=text, size=40.0, ink="#000000", width=100.0)
        canvas = FigureCanvasAgg(render_scene(make_scene(mark)))
        canvas.draw()
        feet.add(int(np.argwhere(np.asarray(canvas.buffer_rgba())[..., 0] < 128)[:, 0].max()))
    assert len(feet) == 1


def test_what_stands_upright_is_as_high_as_it_is_long() -> None:
    level = TextMark(x=50.0, y=200.0, text="a name", size=20.0, ink="#000000", width=60.0)
    found = []
    for mark in (level, replace(level, upright=True)):
        canvas = FigureCanvasAgg(render_scene(make_scene(mark)))
        canvas.draw()
        dark = np.argwhere(np.asarray(canvas.buffer_rgba())[..., 0] < 128)
        found.append(np.ptp(dark, axis=0))
    assert found[0] == pytest.approx(found[1][::-1], abs=2) and found[0][1] > 2 * found[0][0]
    assert 'transform="rotate(-90' in write_svg(make_scene(replace(level, upright=True)))


def test_words_can_be_read() -> None:
    """At least 4.5:1 on white, as accessibility asks."""

    def shine(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (
            c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    ratios = {n: (shine(PAPER) + 0.05) / (shine(r.ink) + 0.05) for n, r in ROLES.items()}
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}


def test_a_character_without_a_font_is_said() -> None:
    with pytest.warns(UserWarning, match="apt install fonts-noto-core"):
        assert make_writable("a\U0001accb") == "a[1ACCB]"
    with pytest.warns(UserWarning, match="U\\+1ACCC"):
        width = measure_width("a\U0001accc", 9)
    assert width == measure_width("a[1ACCC]", 9)


def test_our_words_run_from_left_to_right_around_others() -> None:
    """Else Arabic tokens turn the arrow between them around."""
    one, other, mark = "القطة", "على", "\u200e"
    shown = [
        re.sub(f"{mark}+", mark, "".join(run.text for run in set_lines(text, TypeStyle(9))[0]))
        for text in (f"{one} → {other}", f"“{one}” reads", f"{one} {other}.", "a → b")
    ]
    assert shown == [
        f"{mark}{one} {mark}→ {other}",
        f"{mark}“{one}” reads",
        f"{one} {other}.",
        "a → b",
    ]
    assert measure_width(shown[0], 9) == pytest.approx(
        measure_width(f"{one} → {other}", 9), abs=0.1
    )


def test_text_fits() -> None:
    assert (
        measure_width(shorten_text("a long text", 30, 9), 9) <= 30
        and shorten_text("a", 30, 9) == "a"
    )
    assert shorten_text("wide", 1, 9) == "…"
    chinese = ["我们今天去看电影"] if find_family("我") else []
    for text in ("a sentence of some words", "Donaudampfschifffahrt", *chinese):
        for width in range(10, 90, 7):
            ends = [
                n for n in range(len(text)) if measure_width(f"{text[:n].rstrip()}…", 9) <= width
            ]
            fits = measure_width(text, 9) <= width
            assert shorten_text(text, width, 9) == (
                text if fits else f"{text[: max(ends)].rstrip()}…"
            )


def test_a_text_without_end_is_cut_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(
        "glassformer.extensions.pictures.parts.fonts.measure_width",
        lambda text, *_: calls.append(text) or len(text) * 5.0,
    )
    assert shorten_text("x" * 5000, 100, 9) == "x" * 19 + "…"
    assert len(calls) < 20


@pytest.mark.parametrize(("count", "shown"), [(5, [0, 1, 2, 3, 4]), (9, [0, 1, None, 7, 8])])
def test_of_many_the_first_and_last_are_shown(count: int, shown: list[int | None]) -> None:
    assert elide(count, 5) == shown


def test_a_film_lasts_as_long_as_its_steps(tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    box = BoxMark(x=0.0, y=0.0, width=101.0, height=51.0, fill="#1f2733")
    marks = [replace(box, step=step, y=60.0 * step) for step in (1, 2)]
    film = render_scene(make_scene(*marks, captions=("a", "b")))
    film.save(tmp_path / "two.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["two.mp4"]
    frames, seconds = ffmpeg.count_frames_and_secs(str(tmp_path / "two.mp4"))
    assert seconds == pytest.approx(sum(film.frames()), abs=0.2) and frames == 20 * seconds


def test_scales_are_symmetric_and_never_empty() -> None:
    assert find_largest([np.array([-3.0, 1.0, float("-inf")])]) == 3
    assert find_largest([np.zeros(2)]) == 1


@pytest.mark.parametrize("d_model", [4, 20, 512])
@pytest.mark.parametrize(
    ("layout", "grid"), [("interleaved", "paper"), ("concatenated", "tensor2tensor")]
)
def test_waves_are_the_models(d_model: int, layout: str, grid: str) -> None:
    settings = Positions(layout=layout, grid=grid, max_positions=100)
    expected = sinusoids(settings, d_model).numpy()
    assert np.allclose(waves.encode_waves(range(100), d_model, layout), expected, atol=1e-9)


def test_the_layouts_differ_in_more_than_order() -> None:
    paper, other = (
        np.sort(waves.encode_waves([50], 512, n)) for n in ("interleaved", "concatenated")
    )
    assert np.abs(paper - other).max() > 0.01


@pytest.mark.parametrize("name", ["a.gif", "a.GIF"])
def test_a_moving_picture_keeps_colours_of_which_there_is_little(name: str, tmp_path: Path) -> None:
    values = tuple(map(tuple, np.random.default_rng(1).normal(size=(90, 90)).tolist()))
    grid = GridMark(x=0.0, y=0.0, width=500.0, height=400.0, values=values, limit=3.0)
    dot = BoxMark(x=520.0, y=0.0, width=3.0, height=3.0, fill="#b03030", step=1)
    moving = render_scene(make_scene(grid, dot, captions=("A dot.",)))
    moving.save(tmp_path / name)
    with Image.open(tmp_path / name) as found:
        found.seek(found.n_frames - 1)
        shown = np.asarray(found.convert("RGB")).reshape(-1, 3).astype(int)
    assert np.abs(shown - (0xB0, 0x30, 0x30)).max(1).min() < 12


def test_what_covers_a_moving_thing_covers_it_in_every_frame() -> None:
    """And a frame is the same whether it was drawn anew or put together."""
    back = BoxMark(x=0.0, y=0.0, width=300.0, height=60.0, fill="#c8400a", layer=1)
    runner = BoxMark(x=240.0, y=10.0, width=40.0, height=40.0, fill="#2946d8", step=1)
    runner = replace(runner, start=(-220.0, 0.0))
    post = BoxMark(x=100.0, y=0.0, width=60.0, height=60.0, fill="#1f2733", layer=5)
    word = BoxMark(x=110.0, y=54.0, width=30.0, height=6.0, fill="#ffffff", layer=6)  # on the post
    late = replace(runner, step=2, y=200.0, start=None)
    moving = render_scene(
        make_scene(back, runner, post, word, late, captions=("It runs.", "Again."))
    )
    canvas = FigureCanvasAgg(moving.figure)
    painted, whole = [array.copy() for array, _ in moving.paint(50.0)], []
    moving.figure.set_dpi(50)
    for _ in moving.frames():
        with rc_context(EXACT):
            canvas.draw()
        whole.append(np.array(canvas.buffer_rgba())[..., :3])
    assert len(painted) == len(whole) > 16
    for one, other in zip(painted, whole, strict=True):
        height, width = one.shape[:2]
        assert np.abs(one.astype(int) - other[:height, :width]).max() <= 1
    assert {tuple(frame[20, 90]) for frame in painted} == {(0x1F, 0x27, 0x33)}


def test_a_step_at_a_time(trace: Trace) -> None:
    """At its last frame an animation is its figure; before, it shows no more than its steps."""
    moving = draw(trace, "V35")
    assert len(moving) == 2
    seconds = []
    for stay in moving.frames():
        seconds.append(stay)
        if len(seconds) == 1:
            assert all(a.get_visible() for step in moving.steps for _, a in step)
        if len(seconds) == 2:
            first = moving.steps[0][0].artist
            assert first.get_alpha() < 1 and not moving.steps[1][0].artist.get_visible()
    assert all(a.get_visible() for step in moving.steps for _, a in step)
    assert seconds[-1] >= 3 and min(seconds) < 0.1 < max(seconds[:-1])
    assert sum(seconds) <= LONGEST + 0.1


def test_many_steps_fit_into_a_film_and_hatching_arrives_with_its_cells(trace: Trace) -> None:
    moving = draw(trace, "V76")
    assert len(moving) >= 8 and sum(moving.frames()) <= LONGEST + 0.1
    for step in moving.steps[:-1]:
        assert any(getattr(each, "get_hatch", lambda: "")() for _, each in step)


@pytest.mark.parametrize("ending", ["gif", "svg", "pdf", "png"])
def test_files(trace: Trace, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    draw(trace, "V34").save(path)
    assert path.stat().st_size > 2000 and [p.name for p in tmp_path.iterdir()] == [path.name]
    if ending == "gif":
        with Image.open(path) as image:
            assert image.n_frames > 10
    if ending == "svg":
        assert "data-of=" in path.read_text(encoding="utf-8")


def test_an_unknown_ending_is_said(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is \.svg, \.pdf or \.png"):
        save_figure(draw(trace, "V01"), tmp_path / "a.bmp")


def test_gallery(trace: Trace, tmp_path: Path) -> None:
    ids = ["V01", "V13", "V35"]
    files = gallery(trace, tmp_path, ids=ids, moving=False)
    assert {path.name for path in files} == {"V01.svg", "V13.svg", "V35.svg", "index.html"}
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<figure id="(V\d+)"', page) == ids
    assert "http" not in page, "it works without a network"
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "The whole model",
        "Words become numbers",
        "Self-attention, step by step",
    ]
    for id in ids:  # what it finds, and the command that draws it
        finding = PICTURES[id].scene(trace).title  # type: ignore[misc]
        assert html.escape(finding) in page
        command = f'glassformer see MODEL "{trace.text}" --picture {id}'
        assert html.escape(command) in page


def test_every_picture_has_a_chapter() -> None:
    shown = [ShownPicture(id, "", "", Path()) for id in PICTURES]
    chapters = {title: [each.id for each in here] for title, here in group_chapters(shown)}
    assert sorted(chain.from_iterable(chapters.values())) == sorted(PICTURES)
    assert chapters["One side alone"] == ["V115", "V116"]
    assert "V117" in chapters["Before the Transformer"] and "V118" in chapters["The decoder writes"]


def test_slides_have_pictures_and_notes(trace: Trace, tmp_path: Path) -> None:
    """A PDF has a page and a note for each picture that this recording has."""
    ids, told = ("V01", "V35", "V16"), []
    count = write_slides(trace, tmp_path / "a.pdf", ids=ids, model="mine", progress=told.append)
    assert count == 3 and told == [*ids]
    written = (tmp_path / "a.pdf").read_bytes()
    assert written.count(b"/Type /Page\n") + written.count(b"/Type /Page ") == 3
    assert written.count(b"/Subtype /Text") == 3
    assert write_slides(trace, tmp_path / "B.PDF", ids=["V01"]) == 1
    with pytest.raises(ValueError, match=r"slides are written as \.pptx or \.pdf"):
        write_slides(trace, tmp_path / "a.odp")
    with pytest.raises(ValueError, match="lang=fr: one of en, zh"):
        write_slides(trace, tmp_path / "b.pdf", lang="fr")
    with pytest.raises(ValueError, match="there is no folder"):
        write_slides(trace, tmp_path / "new" / "b.pdf")
    with pytest.raises(ValueError, match="no picture could be drawn: V100: shows a recurrent"):
        write_slides(trace, tmp_path / "b.pdf", ids=["V100"])


def test_slides_say_what_they_leave_out(trace: Trace, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="1 of 2 pictures are left out: V100: shows a recurrent"):
        assert write_slides(trace, tmp_path / "a.pdf", ids=["V01", "V100"]) == 1


def test_slides_are_whole_or_not_there(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError

    (tmp_path / "a.pdf").write_bytes(b"old")
    monkeypatch.setattr("matplotlib.backends.backend_pdf.PdfPages.savefig", fail)
    with pytest.raises(OSError):
        write_slides(trace, tmp_path / "a.pdf", ids=["V01"])
    assert (tmp_path / "a.pdf").read_bytes() == b"old"


def test_slides_for_powerpoint(trace: Trace, tmp_path: Path) -> None:
    pptx = pytest.importorskip("pptx")
    assert write_slides(trace, tmp_path / "a.pptx", ids=["V01", "V16"], model="mine") == 2
    slides = list(pptx.Presentation(str(tmp_path / "a.pptx")).slides)
    for slide, id in zip(slides, ("V01", "V16"), strict=True):
        scene = PICTURES[id].scene(trace)  # type: ignore[misc]
        (picture,) = slide.shapes
        assert picture.name == scene.title
        notes = slide.notes_slide.notes_text_frame.text
        assert notes.startswith(scene.description)
        assert notes.endswith(f'glassformer see mine "{trace.text}" --picture {id}')


def test_gallery_names_what_it_cannot_draw(trace: Trace, tmp_path: Path) -> None:
    done: list[str] = []
    with pytest.warns(UserWarning, match="1 of 2 pictures are left out: V35: layer=9"):
        gallery(trace, tmp_path, ids=["V01", "V35"], layer=9, progress=done.append)
    assert done == ["V01", "V35"]
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<li><b>V35</b>" in page and "layer=9" in page and not (tmp_path / "V35.svg").exists()


def test_of_a_gallery_each_reason_is_told_once(see: Callable[..., Trace], tmp_path: Path) -> None:
    few = see("post", "so it is", target="it", level="attention")
    with pytest.warns(UserWarning) as caught:
        made = gallery(few, tmp_path, ids=["V01", "V82", "V30", "V31", "V36"], moving=False)
    (said,) = (str(each.message) for each in caught)
    assert said.startswith("4 of 5 pictures are left out: V82: ") and said.count(";") == 1
    assert "V30, V31, V36: more is shown than is in a recording with level=attention" in said
    assert [path.name for path in made] == ["V01.svg", "index.html"]


def test_a_gallery_of_nothing_is_refused(trace: Trace, tmp_path: Path) -> None:
    for how, said in (
        ({"ids": ["V35", "V36"], "layer": 9}, "no picture could be drawn: V35, V36: layer=9"),
        ({"ids": ["V01"], "lang": "fr"}, "V01: lang=fr: one of en, zh"),
        ({"size": 3}, "no picture has an option size"),
    ):
        with pytest.raises(ValueError, match=said):
            gallery(trace, tmp_path / "new", **how)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("page", ["figures.md", "figures.zh.md"])
def test_the_sample_of_the_guide_is_drawn(
    trace: Trace, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    text = (Path(__file__).parents[4] / "docs" / page).read_text(encoding="utf-8")
    module = {"__package__": "glassformer.extensions.pictures"}
    exec(text.split("```python\n")[1].split("```")[0], module)
    own = {key: {"en": "A text"} for key in ("topic", "title", "note", "shared")}
    words = {**plan.read_figure_words(), "mine": own}
    monkeypatch.setattr(plan, "read_figure_words", lambda: words)
    assert module["draw_memory"](trace).title == "A text"
