"""Animations: steps that appear one after the other, each with a sentence before and a pause after.

One step appears at a time, within `APPEARING` seconds, ever more slowly. Then the picture stays as
it is for as long as the step's sentence takes to read.
"""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from . import theme

APPEARING, FRAMES = 0.3, 4  # seconds and frames in which a step fades in
SHORTEST, READING = 1.2, 0.055  # seconds that a step stays at least, and seconds for each character
LAST = 4.0  # seconds that the complete picture stays
LISTED = 8  # with more steps than this, captions are shown one at a time
EXACT: dict[Any, Any] = {"text.hinting": "none"}  # else letters are wider at few pixels per inch
NOTEBOOK = 110  # pixels per inch
MAXIMUM, COLOURS = 1600, 256  # pixels of the longer side; colours of a .gif


@dataclass
class AnimationStep:
    """The artists that appear together, and the caption that explains them."""

    caption: str
    artists: list[Artist]


class Drawing(Figure):
    """A figure that shows itself in a notebook and can be saved."""

    def save(self, path: Path | str) -> None:
        """Write the figure as .svg, .pdf or .png, by the ending of the path."""
        save_figure(self, path)

    def _repr_png_(self) -> bytes:
        return _to_png(self)


class Animation:
    """The steps of one figure; the figure itself is complete while no frame is shown."""

    def __init__(self, figure: Figure, steps: Sequence[AnimationStep], captions: Sequence[Text]):
        self.figure, self.steps, self.captions = figure, steps, captions

    def __len__(self) -> int:
        return len(self.steps)

    def _repr_png_(self) -> bytes:
        return _to_png(self.figure)

    @property
    def is_listed(self) -> bool:
        """Return whether all captions stand below the complete picture.

        If there are more than `LISTED`, each is shown only with its step.
        """
        return len(self.captions) <= LISTED

    def show(self, step: int, share: float = 1.0) -> None:
        """Show the figure at a step (0 is the first), of which this share has appeared."""
        for number, each in enumerate(self.steps):
            for artist in each.artists:
                artist.set_visible(number <= step)
                if number == step:
                    _fade(artist, share)
        for number, caption in enumerate(self.captions):
            caption.set_visible(number <= step if self.is_listed else number == step)
            caption.set_color(theme.INK if number == step else theme.SOFT)

    def complete(self) -> None:
        """Show the complete figure again."""
        if self.steps:
            self.show(len(self.steps) - 1)
            for caption in self.captions:
                caption.set_color(theme.INK)
                caption.set_visible(self.is_listed)

    def frames(self) -> Iterator[float]:
        """Show one frame after the other, and yield the seconds that each stays."""
        for number, step in enumerate(self.steps):
            self.show(number, 0.0)
            yield 0.5  # the caption, before anything appears
            for frame in range(1, FRAMES + 1):
                self.show(number, 1 - (1 - frame / FRAMES) ** 2)
                rest = max(SHORTEST, READING * len(step.caption))
                yield APPEARING / FRAMES if frame < FRAMES else rest
        self.complete()
        yield LAST

    def save(self, path: Path | str) -> None:
        """Write .gif or .mp4; with any other ending, write the complete picture."""
        path = Path(path)
        if path.suffix == ".gif":
            self._write_gif(path)
        elif path.suffix == ".mp4":
            self._write_mp4(path)
        else:
            save_figure(self.figure, path)

    def _paint(self) -> Iterator[tuple[Any, float]]:
        """Yield frames and their seconds, the complete picture first with 0 s.

        A frame is an array of bytes, height × width × 3, with even height and width.
        """
        canvas, before = FigureCanvasAgg(self.figure), self.figure.dpi
        self.figure.set_dpi(min(100.0, MAXIMUM / max(self.figure.get_size_inches())))
        try:
            for seconds in itertools.chain([0.0], self.frames()):
                with rc_context(EXACT):
                    canvas.draw()  # type: ignore[no-untyped-call]
                yield _as_array(canvas.buffer_rgba()), seconds  # type: ignore[no-untyped-call]
        finally:
            self.figure.set_dpi(before)

    def _write_gif(self, path: Path) -> None:
        """Write a GIF in the colours of the complete picture.

        All frames share one palette, so that each stores only what changed. `MAXCOVERAGE`
        keeps rare colours too, such as that of a frame line.
        """
        from PIL import Image

        painted = self._paint()
        method = Image.Quantize.MAXCOVERAGE
        palette = Image.fromarray(next(painted)[0]).quantize(COLOURS, method)
        images, lengths = [], []
        for array, seconds in painted:
            frame = Image.fromarray(array).quantize(palette=palette, dither=Image.Dither.NONE)
            images.append(frame)
            lengths.append(round(seconds * 100) * 10)
        buffer = io.BytesIO()
        rest = images[1:]
        images[0].save(
            buffer, "GIF", save_all=True, append_images=rest, duration=lengths, loop=0, disposal=1
        )
        write_animation(path, buffer.getvalue())

    def _write_mp4(self, path: Path) -> None:
        try:
            import imageio_ffmpeg  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError as error:
            raise ValueError(
                f"{path}: MP4 needs an extra: pip install 'glassformer[video]'; .gif needs none"
            ) from error
        part = path.with_name(f".{path.stem}.part.mp4")
        rate, writer = 20, None
        try:
            for array, seconds in self._paint():
                if writer is None:
                    size = array.shape[1], array.shape[0]
                    writer = imageio_ffmpeg.write_frames(
                        str(part), size, fps=rate, macro_block_size=1
                    )
                    writer.send(None)
                for _ in range(round(seconds * rate)):
                    writer.send(array.tobytes())
            if writer is not None:
                writer.close()
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


def _fade(artist: Artist, share: float) -> None:
    if not hasattr(artist, "whole_alpha"):
        alpha = artist.get_alpha()
        artist.whole_alpha = 1.0 if alpha is None else alpha  # type: ignore[attr-defined]
    artist.set_alpha(artist.whole_alpha * share)  # type: ignore[attr-defined]


def _as_array(pixels: Any) -> Any:
    """Return RGB values with an even height and width, as video encoders need them."""
    import numpy as np

    array = np.asarray(pixels)[..., :3]
    height, width = (size - size % 2 for size in array.shape[:2])
    return np.ascontiguousarray(array[:height, :width])


def save_figure(figure: Figure, path: Path | str, *, dpi: float = 144) -> None:
    """Write .svg, .pdf or .png, by the ending; the file is complete or is not there."""
    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind in ("gif", "mp4"):
        raise ValueError(f"{path}: this picture does not move; write it as .svg, .pdf or .png")
    if kind not in ("svg", "pdf", "png"):
        raise ValueError(f"{path}: a picture is .svg, .pdf or .png, a moving one .gif or .mp4")
    if kind == "svg" and (scene := getattr(figure, "scene", None)):
        from .svg import write_svg

        write_animation(path, write_svg(scene).encode())
        return
    buffer = io.BytesIO()
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    with rc_context(EXACT):
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=dates[kind])
    write_animation(path, buffer.getvalue())


def _to_png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    with rc_context(EXACT):
        figure.savefig(buffer, format="png", dpi=NOTEBOOK)
    return buffer.getvalue()


def write_animation(path: Path, data: bytes) -> None:
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    os.replace(part, path)
