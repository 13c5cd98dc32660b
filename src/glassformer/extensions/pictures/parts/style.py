"""The design system of all figures: sizes of type, spaces, inks, colours by role, scales.

The app shares the roles and scales. A role has a pale fill for cells, a dark ink for words
(contrast of at least 4.5:1 on white) and a letter, so that colour is never the only sign.
"""

from __future__ import annotations

from typing import NamedTuple

from matplotlib import colormaps
from matplotlib.colors import Colormap, LinearSegmentedColormap

INK, SOFT, FAINT, HAIR = "#1f2733", "#5c6673", "#c3c9d2", "#e4e7ec"
GROUND, PAPER, CELL_INK = "#f5f6f9", "#ffffff", "#2f3640"
LIT, TOPIC = "#c8400a", "#2946d8"  # what to look at; the topic above a title

TITLE, HEADING, BODY, SMALL, TINY = 18.0, 12.0, 10.5, 9.0, 8.0  # sizes of type, in points
LEADING = 1.36  # height of a line, in sizes of its type
RISE = 0.36  # from the middle of a line down to its baseline, in sizes of its type

CLOSE, NEAR, APART, FAR = 8.0, 14.0, 24.0, 40.0  # spaces between things
MARGIN, NARROWEST, WIDEST = 36.0, 400.0, 720.0  # of a page; WIDEST includes the margins

CELL = (38.0, 22.0)  # a cell with a number in it


class Role(NamedTuple):
    """The fill, ink and letter of one kind of tensor or part of the network."""

    fill: str
    ink: str
    letter: str


ROLES = {
    "embedded": Role("#c9efc4", "#2a7d25", "x"),
    "positions": Role("#fcf3bd", "#806800", "p"),
    "sum": Role("#e6f7bf", "#557300", "x"),
    "query": Role("#ecd0f5", "#9224b0", "q"),
    "key": Role("#ffdcb3", "#a65a00", "k"),
    "value": Role("#cbe5fe", "#0f68b8", "v"),
    "scores": Role("#ebecb0", "#676800", "s"),
    "weights": Role("#ded3ef", "#5b3696", "a"),
    "heads": Role("#ffd3e6", "#b8256f", "z"),
    "residual": Role("#e3e6ea", "#515b67", "r"),
    "norm": Role("#ecffd9", "#4c7800", "n"),
    "feed_forward": Role("#dcecfd", "#25659f", "f"),
    "attention": Role("#fff0e0", "#9c5510", "A"),
    "memory": Role("#c4dcf4", "#1d5a96", "m"),
    "encoder": Role("#eef9ee", "#3b7a48", "E"),
    "decoder": Role("#fff0f6", "#b23a74", "D"),
    "model": Role("#eef0ff", "#2946d8", "T"),
    "linear": Role("#f5e4fa", "#82379b", "L"),
    "softmax": Role("#ffe1e1", "#b03030", "S"),
    "logits": Role("#d9f0ee", "#1d716a", "l"),
    "plain": Role("#f6f7f9", CELL_INK, ""),
}

SIGNED: Colormap = LinearSegmentedColormap.from_list(
    "signed", ["#134b8a", "#3f83c1", "#a3c9e8", "#fbfaf8", "#fbc48d", "#dd7a22", "#8a3d05"]
)
SHARE: Colormap = LinearSegmentedColormap.from_list(
    "share", ["#fbfaff", "#ddd0f0", "#ab8bd6", "#7045ad", "#3f1a78", "#1e0742"]
)
SCALES = {"signed": SIGNED, "share": SHARE, "wave": colormaps["viridis"]}  # by what they show
HEADS = (  # one colour for each head, in this order; each is also numbered
    *("#4477aa", "#ee7733", "#228833", "#aa3377", "#998811", "#33aaaa", "#cc3311", "#775544"),
    *("#6655cc", "#559911", "#dd5599", "#117788", "#bb7700", "#555566", "#8844aa", "#2277dd"),
)


def role(name: str) -> Role:
    return ROLES[name]


def ink_on(colour: tuple[float, ...]) -> str:
    """Return dark or white ink, whichever is readable on an RGB colour."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return CELL_INK if light > 0.3 else PAPER


def head_ink(head: int) -> str:
    """Return the colour of a head, of which there are as many as `HEADS`."""
    return HEADS[head % len(HEADS)]
