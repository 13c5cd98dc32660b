"""Pictures of one recorded translation, drawn from its numbers; this package imports no torch.

A figure says what it consists of, not where each line goes:

quantity      numbers with the expressions that give them
typesetting   text and formulas, measured; fonts for every script
nodes, links  rows, columns, strips, panels, bars; arrows and callouts between named things
plan          the words of a figure, its numbers, and the page around it
scene         what comes of it: marks with places, as JSON; `svg` and `render` draw them
style         inks, colours by role, sizes of type, spaces

pictures            the table of all pictures by number; `draw` draws one
animate, gallery    animations; all pictures in a folder, with a page that shows them
selection           which layer, head and tokens a picture shows

Every other file draws pictures, one function for each picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.foundation.lazy import import_lazily

if TYPE_CHECKING:
    from .parts.animate import Animation, save_figure
    from .pictures import PICTURES, Picture, draw

ADDS = {
    "draw_circuit": "circuits.draw_circuit",
    "draw_picture": "pictures.draw",
    "draw_typed_pictures": "cli.drawing.draw_what_is_wanted",
}

__all__ = ["PICTURES", "Animation", "Picture", "draw", "save_figure"]

_HOMES = {
    "parts.animate": ("Animation", "save_figure"),
    "pictures": ("PICTURES", "Picture", "draw"),
}

__getattr__ = import_lazily(__name__, _HOMES)
