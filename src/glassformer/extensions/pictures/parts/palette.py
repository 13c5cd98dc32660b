"""The 256 colours of a picture that is stored with a palette.

A colour of a heat map is a statement, so what fills a part of a picture keeps its colour, and so
does what is thin but unlike all else, such as a frame. What is off are the rims of letters.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.foundation.disk import write_bytes

from .selection import Array

COLOURS, BITS = 256, 24  # of a palette; of a colour: red, green and blue


class Palette:
    """The colours of one picture, by which it and others like it are stored."""

    def __init__(self, pixels: Array):
        """Choose the colours of an image, height x width x 3 bytes.

        The first is the commonest; each of the others is the one whose pixels are furthest, all
        together, from the nearest of those before it.
        """
        every, counts = np.unique(_pack(pixels), return_counts=True)
        colours, chosen = _unpack(every), [int(counts.argmax())]
        apart = _measure(colours, colours[chosen[0]])
        while len(chosen) < min(COLOURS, len(every)):
            chosen.append(int((counts * apart).argmax()))
            apart = np.minimum(apart, _measure(colours, colours[chosen[-1]]))
        self.colours = colours[chosen]
        self.places = np.full(1 << BITS, -1, np.int16)  # of each colour that was met: the nearest

    def index(self, pixels: Array) -> Any:
        """Return the picture with each pixel in the nearest of the colours."""
        from PIL import Image

        packed = _pack(pixels)
        for each in np.unique(packed[self.places[packed] < 0]):
            self.places[each] = _measure(self.colours, _unpack(each)).argmin()
        image = Image.fromarray(self.places[packed].astype(np.uint8))
        image.putpalette(self.colours.astype(np.uint8).tobytes())
        return image


def shrink_file(path: Path) -> None:
    """Store a picture on disk with a palette of its own, as PNG."""
    from PIL import Image

    buffer, pixels = io.BytesIO(), np.asarray(Image.open(path).convert("RGB"))
    Palette(pixels).index(pixels).save(buffer, "PNG", optimize=True)
    write_bytes(path, buffer.getvalue())


def _pack(pixels: Array) -> Array:
    """Return one number for each pixel."""
    red, green, blue = np.moveaxis(pixels.astype(np.int32), -1, 0)
    return np.asarray(red << 16 | green << 8 | blue)


def _unpack(packed: Array) -> Array:
    return np.stack((packed >> 16, packed >> 8 & 255, packed & 255), -1)


def _measure(colours: Array, colour: Array) -> Array:
    """Return how far colours are from another one, squared."""
    return np.asarray(((colours - colour) ** 2).sum(-1))
