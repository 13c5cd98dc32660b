"""Animations of scenes: things arrive from where they come from, and numbers count up.

One step arrives at a time, ever more slowly. Then the picture stays as it is for as long as the
caption of the step takes to read. An animation begins and ends with the complete picture.
"""

from __future__ import annotations

import io
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

from ...disk import write_bytes
from .nodes import spell
from .scene import Mark, TextMark, bound
from .svg import write_svg

LONGEST = 15.0  # seconds of an animation
FIRST, LAST = 1.5, 3.0  # seconds that the complete picture stays at the beginning and at the end
ARRIVING, FRAMES = 0.5, 8  # seconds and frames in which a step arrives
SHORTEST, READING = 1.2, 0.05  # seconds that a step stays at least, and seconds for each character
EXACT: dict[Any, Any] = {"text.hinting": "none"}  # else letters are wider at few pixels per inch
NOTEBOOK = 110  # pixels per inch
MAXIMUM, COLOURS, NEARLY_WHITE = 1600, 256, 247  # pixels of the longer side; of a .gif


class Drawn(NamedTuple):
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

    def __init__(self, figure: Figure, drawn: Sequence[Drawn], captions: Sequence[Text]):
        self.figure, self.captions = figure, captions
        self.steps: list[list[Drawn]] = [[] for _ in captions]
        self.still: list[Drawn] = []
        self.notes: list[Drawn] = []
        for each in drawn:
            if each.mark.step:
                self.steps[each.mark.step - 1].append(each)
            else:
                (self.notes if each.mark.id == "note" else self.still).append(each)

    def __len__(self) -> int:
        return len(self.steps)

    def _repr_png_(self) -> bytes:
        return _to_png(self.figure)

    def show(self, step: int, share: float = 1.0) -> None:
        """Show the figure at a step (0 is the first), of which this share has arrived."""
        for number, each in enumerate(self.steps):
            for mark, artist in each:
                artist.set_visible(number <= step and not 0 < mark.until <= step + 1)
                _move(mark, artist, share if number == step else 1.0, self.figure)
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
        yield Moment(None, 1.0, FIRST)
        rests = [max(SHORTEST, READING * len(text.get_text())) for text in self.captions]
        left, count = LONGEST - FIRST - LAST, max(1, len(rests))
        arriving = min(ARRIVING, left / 2 / count)
        factor = min(1.0, (left - arriving * count) / max(1.0, sum(rests)))
        for number, rest in enumerate(rests):
            for frame in range(1, FRAMES + 1):
                stays = rest * factor if frame == FRAMES else 0.0
                yield Moment(number, 1 - (1 - frame / FRAMES) ** 3, arriving / FRAMES + stays)
        yield Moment(None, 1.0, LAST)

    def frames(self) -> Iterator[float]:
        """Show one frame after the other, and yield the seconds that each stays."""
        for step, share, seconds in self.list_moments():
            self.complete() if step is None else self.show(step, share)
            yield seconds
        self.complete()

    def paint(self, dpi: float = 100.0) -> Iterator[tuple[Any, float]]:
        """Yield frames as arrays of bytes, height × width × 3, and their seconds.

        Height and width are even, as video encoders need them. Only what moves is drawn anew: it
        is put on a ground of all else, and below what covers it.
        """
        before, canvas = self.figure.dpi, FigureCanvasAgg(self.figure)
        self.figure.set_dpi(min(dpi, MAXIMUM / max(self.figure.get_size_inches())))
        try:
            with rc_context(EXACT):
                yield from self._paint(canvas)
        finally:
            self.figure.set_dpi(before)
            self.complete()

    def _paint(self, canvas: FigureCanvasAgg) -> Iterator[tuple[Any, float]]:
        self.complete()
        canvas.draw()  # type: ignore[no-untyped-call]
        whole, at, ground = _as_array(canvas), -1, None
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
            yield _as_array(canvas), seconds

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
        covers = [
            each
            for each in there
            if each.mark.layer > lowest and any(each.mark.area.meets(area) for area in areas)
        ]
        found = [artist for _, artist in (*covers, *moving)]
        return [*sorted(found, key=Artist.get_zorder), self.captions[step]]

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
        path = Path(path)
        if path.suffix == ".gif":
            write_gif(self.paint(), path)
        elif path.suffix == ".mp4":
            write_mp4(self.paint(), path)
        else:
            save_figure(self.figure, path)


def _move(mark: Mark, artist: Artist, share: float, figure: Figure) -> None:
    """Show this share of the way of a thing to its place, and of a number on its way from zero."""
    artist.set_alpha(mark.alpha * min(1.0, 2 * share))
    if mark.start:
        shift = Affine2D().translate(*(part * (1 - share) for part in mark.start))
        artist.set_transform(shift + figure.axes[0].transData)
    if isinstance(mark, TextMark) and mark.value is not None and np.isfinite(mark.value):
        assert isinstance(artist, Text)
        artist.set_text(mark.text if share >= 1 else _count(mark, share))


def _count(mark: TextMark, share: float) -> str:
    """Return the text of a number on its way from zero."""
    assert mark.value is not None
    digits = len(mark.text.rpartition(".")[2]) if "." in mark.text else 0
    full = spell(mark.value, digits)
    before = mark.text.removesuffix(full) if mark.text.endswith(full) else None
    way = mark.since + (mark.value - mark.since) * share
    return mark.text if before is None else before + spell(way, digits)


def _as_array(canvas: FigureCanvasAgg) -> Any:
    """Return RGB values with an even height and width."""
    from PIL import Image

    pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    array = np.asarray(Image.fromarray(pixels).convert("RGB"))
    height, width = (size - size % 2 for size in array.shape[:2])
    return array[:height, :width]


def write_gif(painted: Iterator[tuple[Any, float]], path: Path) -> None:
    """Write a GIF in the colours of its first frame, which is the complete picture.

    All frames share one palette, so that each stores only what changed. `MAXCOVERAGE` keeps rare
    colours too, such as that of a frame line.
    """
    from PIL import Image

    images: list[Image.Image] = []
    lengths: list[int] = []
    palette: Image.Image | None = None
    for array, seconds in painted:
        frame = Image.fromarray(array)
        palette = palette or _keep_white(frame.quantize(COLOURS, Image.Quantize.MAXCOVERAGE))
        images.append(frame.quantize(palette=palette, dither=Image.Dither.NONE))
        lengths.append(round(seconds * 100) * 10)
    buffer = io.BytesIO()
    rest = images[1:]
    images[0].save(
        buffer, "GIF", save_all=True, append_images=rest, duration=lengths, loop=0, disposal=1
    )
    write_picture(path, buffer.getvalue())


def _keep_white(image: Any) -> Any:
    """Return an image whose lightest colours are white, as the ground of a page is.

    All of them, since Pillow finds the nearest colour of a palette only nearly.
    """
    colours = np.array(image.getpalette()).reshape(-1, 3)
    colours[colours.min(1) >= NEARLY_WHITE] = 255
    image.putpalette(colours.ravel().tolist())
    return image


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
        for array, seconds in painted:
            if writer is None:
                size = array.shape[1], array.shape[0]
                writer = imageio_ffmpeg.write_frames(
                    str(part), size, fps=rate, macro_block_size=1, quality=4
                )
                writer.send(None)
            for _ in range(round(seconds * rate)):
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
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")
    write_bytes(path, data)
