"""Animations of scenes: things arrive from where they come from, and sums grow term by term.

One step arrives at a time, ever more slowly. Then the picture stays as it is for as long as the
caption of the step takes to read. An animation begins and ends with the complete picture. Every
number that a frame prints is one of the complete picture, or a sum of the first terms of a mark.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Affine2D

from glassformer.foundation.disk import write_bytes

from .nodes import spell
from .palette import Palette
from .scene import Mark, TextMark, bound
from .svg import write_svg

LONGEST = 15.0  # seconds of an animation
FIRST, LAST = 1.5, 3.0  # seconds that the complete picture stays at the beginning and at the end
ARRIVING, FRAMES = 0.5, 8  # seconds and frames in which a step arrives
TURN, MOST = 3, 48  # frames of a turn; of a step with many of them
NEAR = 0.95  # of the way; then comes what does not move itself, such as a line between two things
SHORTEST, READING = 1.2, 0.05  # seconds that a step stays at least, and seconds for each character
EXACT: dict[Any, Any] = {"text.hinting": "none"}  # else letters are wider at few pixels per inch
NOTEBOOK = 110  # pixels per inch
MAXIMUM = 1600  # pixels of the longer side


class DrawnMark(NamedTuple):
    """A mark of a scene, and the artist that draws it."""

    mark: Mark
    artist: Artist


class Moment(NamedTuple):
    """A frame: a step, of which this share has arrived, and the seconds that it stays."""

    step: int | None  # None: the complete picture
    share: float
    seconds: float


class Drawing(Figure):
    """A figure that shows itself in a notebook and can be saved."""

    def save(self, path: Path | str) -> None:
        """Write the figure as .svg, .pdf or .png, by the ending of the path."""
        save_figure(self, path)

    def _repr_png_(self) -> bytes:
        return _to_png(self)


class Animation:
    """The steps of one figure; the figure itself is complete while no frame is shown."""

    pauses = FIRST, LAST

    def __init__(self, figure: Figure, drawn: Sequence[DrawnMark], captions: Sequence[Text]):
        self.figure, self.captions = figure, captions
        self.steps: list[list[DrawnMark]] = [[] for _ in captions]
        self.still: list[DrawnMark] = []
        self.notes: list[DrawnMark] = []
        for each in drawn:
            if each.mark.step:
                self.steps[each.mark.step - 1].append(each)
            else:
                (self.notes if each.mark.id == "note" else self.still).append(each)
        self.turns = [1 + max((mark.last for mark, _ in each), default=0) for each in self.steps]

    def __len__(self) -> int:
        return len(self.steps)

    def _repr_png_(self) -> bytes:
        return _to_png(self.figure)

    def show(self, step: int, share: float = 1.0) -> None:
        """Show the figure at a step (0 is the first), of which this share has arrived."""
        for number, each in enumerate(self.steps):
            turns = self.turns[number] * (share if number == step else 1.0)
            slides = any(mark.start for mark, _ in each)
            for mark, artist in each:
                artist.set_visible(number <= step and not 0 < mark.until <= step + 1)
                late = NEAR if slides and not mark.start else 0.0
                _move(mark, artist, turns, late, self.figure)
        for _, artist in self.notes:
            artist.set_visible(False)
        for number, caption in enumerate(self.captions):
            caption.set_visible(number == step)

    def complete(self) -> None:
        """Show the complete figure again."""
        self.show(len(self.steps) - 1)
        for caption in self.captions:
            caption.set_visible(False)
        for mark, artist in (*self.notes, *(each for step in self.steps for each in step)):
            artist.set_visible(not mark.until)

    def list_moments(self) -> Iterator[Moment]:
        """Yield all frames: the complete picture, each step as it arrives, the complete picture."""
        first, last = self.pauses
        yield Moment(None, 1.0, first)
        rests = [max(SHORTEST, READING * len(text.get_text())) for text in self.captions]
        counts = [max(FRAMES, min(TURN, MOST // turns) * turns, turns) for turns in self.turns]
        left, frame = LONGEST - first - last, ARRIVING / FRAMES
        fewer = min(1.0, left / 2 / frame / max(1, sum(counts)))  # of many steps
        counts = [max(2, n, int(m * fewer)) for n, m in zip(self.turns, counts, strict=True)]
        frames = max(1, sum(counts))
        frame = min(frame, left / 2 / frames)
        factor = min(1.0, (left - frame * frames) / max(1.0, sum(rests)))
        for number, (rest, count) in enumerate(zip(rests, counts, strict=True)):
            for n in range(1, count + 1):
                yield Moment(number, n / count, frame + (rest * factor if n == count else 0.0))
        yield Moment(None, 1.0, last)

    def frames(self) -> Iterator[float]:
        """Show one frame after the other, and yield the seconds that each stays."""
        for step, share, seconds in self.list_moments():
            self.complete() if step is None else self.show(step, share)
            yield seconds
        self.complete()

    def paint(self, dpi: float) -> Iterator[tuple[Any, float]]:
        """Yield frames as arrays of bytes, height × width × 3, and their seconds.

        Height and width are even, as video encoders need them. Only what moves is drawn anew: it
        is put on a ground of all else, and below what covers it.
        """
        before, canvas = self.figure.dpi, FigureCanvasAgg(self.figure)
        self.figure.set_dpi(dpi)
        try:
            with rc_context(EXACT):
                yield from self._paint(canvas)
        finally:
            self.figure.set_dpi(before)
            self.complete()

    def _paint(self, canvas: FigureCanvasAgg) -> Iterator[tuple[Any, float]]:
        self.complete()
        canvas.draw()  # type: ignore[no-untyped-call]
        whole, at, ground = as_array(canvas), -1, None
        for step, share, seconds in self.list_moments():
            if step is None:
                yield whole, seconds
                continue
            if step != at:
                at, moving = step, self._list_moving(step)
                ground = self._lay_ground(canvas, step, moving)
            self.show(step, share)
            canvas.restore_region(ground)  # type: ignore[no-untyped-call]
            for artist in moving:
                artist.draw(canvas.get_renderer())  # type: ignore[no-untyped-call]
            yield as_array(canvas), seconds

    def _list_moving(self, step: int) -> list[Artist]:
        """Return what must be drawn in each frame of a step, the lowest first."""
        moving = self.steps[step]
        areas = [mark.area.grow(2) for mark, _ in moving]
        for n, (mark, _) in enumerate(moving):
            x, y = mark.start or (0.0, 0.0)
            begin = areas[n]._replace(x=areas[n].x + x, y=areas[n].y + y)
            areas[n] = bound([areas[n], begin])  # the whole way
        lowest = min((mark.layer for mark, _ in moving), default=0)
        there = [*self.still, *(each for earlier in self.steps[:step] for each in earlier)]
        covers = list[DrawnMark]()
        for each in sorted(there, key=lambda drawn: drawn.mark.layer):
            below = areas if each.mark.layer > lowest else []
            below = [*below, *(cover.mark.area for cover in covers)]  # these are drawn anew, too
            if any(each.mark.area.meets(area) for area in below):
                covers.append(each)
        results = [artist for _, artist in (*covers, *moving)]
        return [*sorted(results, key=Artist.get_zorder), self.captions[step]]

    def _lay_ground(self, canvas: FigureCanvasAgg, step: int, moving: Sequence[Artist]) -> Any:
        """Return the pixels of all that is there at a step and does not have to be drawn anew."""
        self.show(step)
        for artist in moving:
            artist.set_visible(False)
        canvas.draw()  # type: ignore[no-untyped-call]
        for artist in moving:
            artist.set_visible(True)
        return canvas.copy_from_bbox(self.figure.bbox)  # type: ignore[no-untyped-call]

    def save(self, path: Path | str) -> None:
        """Write .gif or .mp4; with any other ending, write the complete picture."""
        path, dpi = Path(path), min(100.0, MAXIMUM / max(self.figure.get_size_inches()))
        kind = path.suffix.lower()
        if kind == ".gif":
            write_gif(self.paint(dpi), path)
        elif kind == ".mp4":
            write_mp4(self.paint(dpi), path)
        else:
            save_figure(self.figure, path)


def ease(share: float) -> float:
    """Return how much of a way is done after a share of its time: fast at first, then slowly."""
    return 1 - (1 - share) ** 3


def _move(mark: Mark, artist: Artist, turns: float, late: float, figure: Figure) -> None:
    """Show a thing on its way to its place, or a sum of terms, when so many turns are over."""
    over = max(0.0, turns - mark.turn)
    share = ease(min(1.0, over))
    artist.set_alpha(mark.alpha * min(1.0, max(0.0, 2 * (share - late) / (1 - late))))
    if mark.start:
        shift = Affine2D().translate(*(part * (1 - share) for part in mark.start))
        artist.set_transform(shift + figure.axes[0].transData)
    if isinstance(mark, TextMark) and mark.terms:
        assert isinstance(artist, Text)
        artist.set_text(_tell_sum(mark, math.ceil(over)))


def _tell_sum(mark: TextMark, count: int) -> str:
    """Return the text of a number that is a sum, when so many of its terms are added."""
    if not 0 < count < len(mark.terms):
        return mark.text
    digits = len(mark.text.rpartition(".")[2]) if "." in mark.text else 0
    assert mark.value is not None
    number = spell(mark.value, digits)
    return mark.text.removesuffix(number) + spell(math.fsum(mark.terms[:count]), digits)


def as_array(canvas: FigureCanvasAgg) -> Any:
    """Return RGB values with an even height and width."""
    from PIL import Image

    pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    array = np.asarray(Image.fromarray(pixels).convert("RGB"))
    height, width = (size - size % 2 for size in array.shape[:2])
    return array[:height, :width]


def write_gif(painted: Iterator[tuple[Any, float]], path: Path) -> None:
    """Write a GIF in the colours of its first frame, which is the complete picture.

    All frames share one palette, so that each stores only what changed.
    """
    palette: Palette | None = None
    images, lengths = [], []
    for array, ticks in _count_ticks(painted, 100):
        palette = palette or Palette(array)
        images.append(palette.index(array))
        lengths.append(10 * ticks)
    buffer = io.BytesIO()
    rest = images[1:]
    images[0].save(
        buffer, "GIF", save_all=True, append_images=rest, duration=lengths, loop=0, disposal=1
    )
    write_picture(path, buffer.getvalue())


def _count_ticks(painted: Iterator[tuple[Any, float]], rate: int) -> Iterator[tuple[Any, int]]:
    """Yield frames and their lengths in ticks, of which a second has `rate`; none is lost."""
    over, done = 0.0, 0
    for array, seconds in painted:
        over += seconds
        yield array, round(over * rate) - done
        done = round(over * rate)


def write_mp4(painted: Iterator[tuple[Any, float]], path: Path) -> None:
    """Write an MP4 of frames that are all of one size. Raise ValueError without the extra."""
    try:
        import imageio_ffmpeg  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise ValueError(
            f"{path}: MP4 needs an extra: pip install 'glassformer[video]'; .gif needs none"
        ) from error
    part = path.with_name(f".{path.stem}.part.mp4")
    rate, writer = 20, None
    try:
        for array, ticks in _count_ticks(painted, rate):
            if writer is None:
                size = array.shape[1], array.shape[0]
                writer = imageio_ffmpeg.write_frames(
                    str(part), size, fps=rate, macro_block_size=1, quality=4
                )
                writer.send(None)
            for _ in range(ticks):
                writer.send(array.tobytes())
        if writer is not None:
            writer.close()
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def save_figure(figure: Figure, path: Path | str, *, dpi: float = 144) -> None:
    """Write .svg, .pdf or .png, by the ending; the file is complete or is not there."""
    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind in ("gif", "mp4"):
        raise ValueError(f"{path}: this picture does not move; write it as .svg, .pdf or .png")
    if kind not in ("svg", "pdf", "png"):
        raise ValueError(f"{path}: a picture is .svg, .pdf or .png, a moving one .gif or .mp4")
    if kind == "svg" and (scene := getattr(figure, "scene", None)):
        write_picture(path, write_svg(scene).encode())
        return
    buffer = io.BytesIO()
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    with rc_context(EXACT):
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=dates[kind])
    write_picture(path, buffer.getvalue())


def _to_png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    with rc_context(EXACT):
        figure.savefig(buffer, format="png", dpi=NOTEBOOK)
    return buffer.getvalue()


def write_picture(path: Path, data: bytes) -> None:
    """Write the bytes of a picture. Raise ValueError if there is no such folder."""
    check_folder(path)
    write_bytes(path, data)


def check_folder(path: Path) -> None:
    """Raise ValueError if there is no folder to write a file into."""
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")
