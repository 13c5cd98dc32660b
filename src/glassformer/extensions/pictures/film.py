"""A film of moving pictures on one stage: the text goes in, and the translation comes out.

All pictures have one scale and one place, below their title and above what is said of a step. What
two pictures after each other both print stays on the stage, and goes to its place in the second.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .parts import grammar as g
from .parts import style
from .parts.animate import EXACT, Animation, as_array, ease, write_gif, write_mp4
from .parts.render import render_scene
from .parts.scene import Mark, TextMark, bound
from .parts.typesetting import quote
from .pictures import make_scene

REEL = ("V09", "V32", "V33", "V35", "V37", "V112", "V47", "V63", "V71", "V74", "V77", "V75")
STAGES = {".mp4": (1280, 960), ".gif": (640, 480)}  # pixels, by the ending of the file
WIDE, TOP, BOTTOM = 704.0, 100.0, 40.0  # points of a stage: its width; above, below a picture
CARD, HOLD, STILL = 2.5, 1.2, 0.8  # seconds of a text, of a finished picture, and before it moves
CHANGE, FADE, RATE = 12, 6, 20  # frames of a way between pictures, of a fade; a second

FIXED = "head", "scale"  # marks that do not move with their picture

Frames = Iterator[tuple[Any, float]]


@g.figure("film")
def draw_card(plan: g.Outline, *, ends: bool = False) -> g.Scene:
    """Show the text that goes in, or the translation that came out."""
    text = quote(plan.trace.translation if ends else plan.trace.text)
    lines: list[g.Node] = [g.Label(f"“{text}”", style.TITLE, width=480, align="middle")]
    title = plan.say("out" if ends else "in", n=len(plan.trace.source), m=len(plan.trace.target))
    return plan.compose(g.Down(*lines), title=title)


def write_film(
    trace: Any,
    path: Path | str,
    *,
    lang: str = "en",
    progress: Callable[[str], object] = lambda id: None,
) -> Path:
    """Write the pictures of `REEL` as one film, .mp4 or .gif; return its path.

    Without the package that writes MP4 it becomes a GIF, with a warning. Raise ValueError for
    another ending.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in STAGES:
        raise ValueError(f"{path}: a film is .mp4 or .gif")
    if kind == ".mp4" and find_spec("imageio_ffmpeg") is None:
        kind = ".gif"
        path = path.with_suffix(kind)
        text = f"MP4 needs an extra, pip install 'glassformer[video]': the film is {path}"
        warnings.warn(text, stacklevel=2)
    frames = Film(STAGES[kind]).play(trace, lang, progress)
    (write_mp4 if kind == ".mp4" else write_gif)(frames, path)
    return path


class Film:
    """The stage of a film, what is on it, and where."""

    def __init__(self, size: tuple[int, int]):
        self.size, self.dpi = size, 72 * size[0] / WIDE
        self.high = WIDE * size[1] / size[0]
        self.zone = self.high - TOP - BOTTOM
        self.there: Sequence[Mark] = ()
        self.frame: Any = None  # the last one that was shown

    def play(self, trace: Any, lang: str, progress: Callable[[str], object]) -> Frames:
        """Yield the frames of the whole film."""
        yield from self._show(draw_card(trace, lang=lang))
        for id in REEL:
            yield from self._show(make_scene(trace, id, lang=lang))
            progress(id)
        yield from self._show(draw_card(trace, lang=lang, ends=True))

    def _show(self, scene: g.Scene) -> Frames:
        """Yield the frames of one picture, and of the way to it from the one before."""
        scene = put_on_stage(scene, self.zone)
        drawn = render_scene(scene)
        moving = drawn if isinstance(drawn, Animation) else Animation(drawn, (), ())
        moving.pauses = 0.0, HOLD
        ways = self.follow(scene)
        moving.show(-1)
        first = self._crop(self._snap(moving.figure), ways[0])
        if self.frame is not None:
            yield from self._change(_raise(scene, ways[0], 0), first)
        self.frame = first
        yield self.frame, STILL if len(moving) else CARD
        for (step, share, _), (array, seconds) in zip(
            moving.list_moments(), moving.paint(self.dpi), strict=True
        ):
            n = len(ways) - 1 if step is None else step
            before = ways[max(0, n - 1)]
            way = ways[n] if step is None else before + (ways[n] - before) * ease(share)
            if seconds and len(moving):
                self.frame = self._crop(array, way)
                yield self.frame, seconds
        self.there = _raise(scene, ways[-1], len(scene.captions))

    def follow(self, scene: g.Scene) -> list[float]:
        """Return how far a picture that is too high is moved up at each step."""
        most, results = scene.height - self.high, list[float]()
        for step in range(1, len(scene.captions) + 1):
            area = bound([m.area for m in scene.marks if m.step == step] or [scene.marks[0].area])
            middle = area.middle[1] - TOP - self.zone / 2
            results.append(min(most, max(0.0, middle)))
        return results or [0.0]

    def _snap(self, figure: Figure) -> Any:
        """Return a figure as pixels."""
        figure.set_dpi(self.dpi)
        canvas = FigureCanvasAgg(figure)
        with rc_context(EXACT):
            canvas.draw()  # type: ignore[no-untyped-call]
        return as_array(canvas)

    def _crop(self, array: Any, way: float) -> Any:
        """Return what the stage shows of a scene that is moved up: title and caption stay."""
        wide, high = self.size
        top, low = (round(points * self.dpi / 72) for points in (TOP, BOTTOM))
        first = top + round(way * self.dpi / 72)
        frame = np.full((high, wide, 3), 255, np.uint8)
        parts = array[:top], array[first : first + high - top - low], array[-low:]
        whole = np.concatenate(parts)[:high, :wide]
        frame[: len(whole), : whole.shape[1]] = whole
        return frame

    def _change(self, marks: Sequence[Mark], last: Any) -> Frames:
        """Yield the frames from what is on the stage to the first frame of the next picture."""
        ways = [*self._travel(pair_texts(self.there, marks))]
        frames = [*_blend(self.frame, ways[0] if ways else last), *ways]
        for frame in [*frames, *(_blend(ways[-1], last) if ways else [])]:
            yield frame, 1 / RATE

    def _travel(self, pairs: Sequence[tuple[TextMark, TextMark]]) -> Iterator[Any]:
        """Yield pixels of texts on their way from one place to another."""
        if not pairs:
            return
        size = {"width": WIDE, "height": self.high, "marks": tuple(two for _, two in pairs)}
        figure = render_scene(g.Scene("", "", "", "", **size))  # type: ignore[arg-type]
        assert isinstance(figure, Figure)
        for n in range(CHANGE + 1):
            share = ease(n / CHANGE)
            for text, (one, two) in zip(figure.axes[0].texts, pairs, strict=True):
                across = one.area.middle[0] - two.area.middle[0]
                left = two.x + (1 - share) * across, two.y + (1 - share) * (one.y - two.y)
                text.set_position(left)
            yield self._crop(self._snap(figure), 0.0)


def put_on_stage(scene: g.Scene, zone: float) -> g.Scene:
    """Return a scene in the middle of a stage; its picture is as high as `zone`, or higher.

    Title and captions stand where those of all pictures do. Note and foot are left out.
    """
    head = [mark for mark in scene.marks if mark.id == "head"]
    head += [m.shift(WIDE - scene.width, 0.0, 1.0) for m in scene.marks if m.id == "scale"]
    body = [mark for mark in scene.marks if mark.id not in (*FIXED, "note", "foot")]
    area = bound([mark.area for mark in body])
    free = TOP - style.CLOSE - bound([mark.area for mark in head]).bottom  # below a short title
    lift = area.height - zone if zone < area.height <= zone + free else 0.0
    high = max(zone, area.height - lift)
    across, down = (WIDE - scene.width) / 2, TOP - lift - area.y
    down += 0.0 if scene.captions else (zone - area.height) / 2
    return replace(
        scene,
        width=WIDE,
        height=TOP + high + BOTTOM,
        marks=(*head, *(mark.shift(across, down, 1.0) for mark in body)),
        caption_at=(style.MARGIN, TOP + high + BOTTOM / 4),
    )


def _raise(scene: g.Scene, way: float, step: int) -> list[Mark]:
    """Return what is on the stage at a step, where it is seen."""
    there = (mark for mark in scene.marks if mark.step <= step and not mark.until)
    return [mark if mark.id in FIXED else mark.shift(0.0, -way, 1.0) for mark in there]


def pair_texts(ones: Sequence[Mark], others: Sequence[Mark]) -> list[tuple[TextMark, TextMark]]:
    """Return the texts that two pictures both have: the same number of the same cell, or word."""
    sides = []
    for marks in (ones, others):
        texts = [m for m in marks if isinstance(m, TextMark) and m.id not in FIXED]
        count = Counter((m.of, m.text) for m in texts)
        sides.append({key: m for m in texts if count[key := (m.of, m.text)] == 1})
    return [(sides[0][key], mark) for key, mark in sides[1].items() if key in sides[0]]


def _blend(one: Any, two: Any) -> Iterator[Any]:
    """Yield frames between two."""
    for n in range(1, FADE + 1):
        yield (one + (two.astype(float) - one) * (n / FADE)).round().astype(np.uint8)
