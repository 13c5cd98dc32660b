"""A film of moving pictures on one stage: the text goes in, and the translation comes out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from . import grammar as g
from . import style
from .animate import Animation, write_gif, write_mp4
from .pictures import make_scene
from .render import render_scene
from .typesetting import quote

REEL = ("V09", "V32", "V33", "V35", "V37", "V112", "V46", "V63", "V71", "V74", "V77", "V75")
STAGES = {".mp4": (1280, 720), ".gif": (640, 360)}  # pixels, by the ending of the file
CARD = 3.0  # seconds that the text stands at the beginning, and the translation at the end

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
    if path.suffix not in STAGES:
        raise ValueError(f"{path}: a film is .mp4 or .gif")
    if path.suffix == ".mp4" and find_spec("imageio_ffmpeg") is None:
        path = path.with_suffix(".gif")
        told = f"MP4 needs an extra, pip install 'glassformer[video]': the film is {path}"
        warnings.warn(told, stacklevel=2)
    frames = _play(trace, lang, STAGES[path.suffix], progress)
    (write_mp4 if path.suffix == ".mp4" else write_gif)(frames, path)
    return path


def _play(
    trace: Any, lang: str, stage: tuple[int, int], progress: Callable[[str], object]
) -> Frames:
    """Yield the frames of the whole film, all of the size of the stage."""
    yield from _put_on_stage(draw_card(trace, lang=lang), stage)
    for id in REEL:
        yield from _put_on_stage(make_scene(trace, id, lang=lang), stage)
        progress(id)
    yield from _put_on_stage(draw_card(trace, lang=lang, ends=True), stage)


def _put_on_stage(scene: g.Scene, stage: tuple[int, int]) -> Frames:
    """Yield the frames of one picture, as large as the stage and in the middle of it."""
    drawn = render_scene(scene)
    dpi = 72 * min(stage[0] / scene.width, stage[1] / scene.height)
    moving = drawn if isinstance(drawn, Animation) else Animation(drawn, (), ())
    for array, seconds in moving.paint(dpi):
        high, wide = min(len(array), stage[1]), min(array.shape[1], stage[0])
        frame = np.full((stage[1], stage[0], 3), 255, np.uint8)
        top, left = (stage[1] - high) // 2, (stage[0] - wide) // 2
        frame[top : top + high, left : left + wide] = array[:high, :wide]
        yield frame, seconds if len(moving) else CARD / 2
