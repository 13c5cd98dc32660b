"""The design system of all figures: sizes of type, spaces, inks, scales of colour.

Colours by role (query, key, value, ...) are those of `draw.theme`, which the app shares.
"""

from __future__ import annotations

from matplotlib import colormaps

from .theme import HEADS, POSITIVE, ROLES, SHARE, SIGNED, Role, ink_on, role

__all__ = ["HEADS", "ROLES", "SCALES", "Role", "ink_on", "role"]

SCALES = {"signed": SIGNED, "share": SHARE, "wave": colormaps[POSITIVE]}  # by what they show

INK, SOFT, FAINT, HAIR, GROUND, PAPER = (
    "#1f2733",
    "#5c6673",
    "#c3c9d2",
    "#e4e7ec",
    "#f5f6f9",
    "#ffffff",
)
LIT, TOPIC = "#c8400a", "#2946d8"  # what to look at; the topic above a title

TITLE, HEADING, BODY, SMALL, TINY = 18.0, 12.0, 10.5, 9.0, 8.0  # sizes of type, in points
LEADING = 1.36  # height of a line, in sizes of its type
RISE = 0.36  # from the middle of a line down to its baseline, in sizes of its type

CLOSE, NEAR, APART, FAR = 8.0, 14.0, 24.0, 40.0  # spaces between things
MARGIN, NARROWEST, WIDEST = 36.0, 400.0, 720.0  # of a page; WIDEST includes the margins

CELL = (38.0, 22.0)  # a cell with a number in it


def head_ink(head: int) -> str:
    """Return the colour of a head, of which there are as many as `HEADS`."""
    return HEADS[head % len(HEADS)]
