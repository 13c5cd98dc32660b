"""Scenes as SVG: text that can be searched, read aloud and restyled, with each number's source.

The fonts are inside, cut to what is written. A text has `textLength`, the width that was measured,
so that the layout holds in other fonts too.
A number has `data-of`, the expression that gives it, and `data-value`, unrounded.
"""

from __future__ import annotations

import re
from html import escape

from . import style
from .embedding import embed_fonts
from .nodes import colour_of, to_hex
from .scene import BoxMark, GridMark, Mark, PathMark, Scene, TextMark

FONTS = {False: "Inter,'Noto Sans','Noto Sans CJK SC','Helvetica Neue',Arial,sans-serif"}
FONTS[True] = "'JetBrains Mono',Inter,Menlo,Consolas,monospace"
HATCHES = {"/": "M0 0V4", "x": "M0 0V4M0 0H4"}  # and their names in the document
NAMES = {"/": "hidden", "x": "crossed"}
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML
SPACING = 12  # letters below which a text is not stretched to its measured width


def write_svg(scene: Scene) -> str:
    """Return a scene as an SVG document, whose size is in points."""
    width, height = f"{scene.width:.2f}", f"{scene.height:.2f}"
    stay = (mark for mark in scene.marks if not mark.until)
    drawn = sorted(stay, key=lambda mark: mark.layer)
    fonts = embed_fonts(mark for mark in drawn if isinstance(mark, TextMark))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}pt" height="{height}pt" '
        f'viewBox="0 0 {width} {height}" role="img" lang="{scene.lang}">',
        f"<title>{_escape(scene.title)}</title>",
        f"<desc>{_escape(scene.description)}</desc>",
        f"<style>text{{white-space:pre}}{fonts}</style>",
        f"<defs>{''.join(_define_hatch(*each) for each in HATCHES.items())}</defs>",
        f'<rect width="100%" height="100%" fill="{style.PAPER}"/>',
        f'<g font-family="{FONTS[False]}" xml:space="preserve">',
        *map(_write_mark, drawn),
        "</g>",
        "</svg>\n",
    ]
    return "\n".join(parts)


def _define_hatch(hatch: str, path: str) -> str:
    return (
        f'<pattern id="{NAMES[hatch]}" width="4" height="4" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(-45)"><path d="{path}" stroke="{style.FAINT}"/></pattern>'
    )


def _write_mark(mark: Mark) -> str:
    common = f' opacity="{mark.alpha:g}"' if mark.alpha < 1 else ""
    common += f' data-step="{mark.step}"' if mark.step else ""
    common += f' data-of="{_escape(mark.of)}"' if mark.of else ""
    match mark:
        case TextMark():
            return _write_text(mark, common)
        case BoxMark():
            over = f'<rect{_place(mark)} fill="url(#{NAMES[mark.hatch]})"/>' if mark.hatch else ""
            return f"<rect{_place(mark)}{_write_round(mark)}{_paint(mark)}{common}/>{over}"
        case PathMark():
            return f'<path d="{_trace(mark)}"{_paint(mark)}{common}/>'
        case GridMark():
            return f"<g{common}>{_fill(mark)}</g>"
    raise TypeError(f"{mark} cannot be drawn")


def _write_text(mark: TextMark, common: str) -> str:
    look = f' font-size="{mark.size:g}" fill="{mark.ink}"'
    look += ' font-weight="640"' if mark.bold else ""
    look += ' font-style="italic"' if mark.italic else ""
    look += f' font-family="{FONTS[True]}"' if mark.mono else ""
    look += f' text-anchor="{mark.anchor}"' if mark.anchor != "start" else ""
    long = len(mark.text) >= SPACING
    look += f' textLength="{mark.width:.1f}" lengthAdjust="spacingAndGlyphs"' if long else ""
    value = f' data-value="{mark.value:.9g}"' if mark.value is not None else ""
    at = f'x="{mark.x:.2f}" y="{mark.y:.2f}"'
    at += f' transform="rotate(-90 {mark.x:.2f} {mark.y:.2f})"' if mark.upright else ""
    return f"<text {at}{look}{common}{value}>{_escape(mark.text)}</text>"


def _escape(text: str) -> str:
    """Return a text as XML has it: what XML cannot have is U+FFFD."""
    return escape(FORBIDDEN.sub("\ufffd", text))


def _place(mark: BoxMark | GridMark) -> str:
    numbers = {"x": mark.x, "y": mark.y, "width": mark.width, "height": mark.height}
    return "".join(f' {name}="{value:.2f}"' for name, value in numbers.items())


def _write_round(mark: BoxMark) -> str:
    return f' rx="{min(mark.round, mark.width / 2, mark.height / 2):.2f}"' if mark.round else ""


def _paint(mark: BoxMark | PathMark) -> str:
    stroke = mark.edge if isinstance(mark, BoxMark) else mark.ink
    result = f' fill="{mark.fill or "none"}"'
    result += f' stroke="{stroke}" stroke-width="{mark.line:g}"' if stroke else ""
    return result + (' stroke-dasharray="4 3"' if mark.dashed else "")


def _trace(mark: PathMark) -> str:
    (x, y), *rest = mark.points
    ways = " ".join(f"{a:.2f} {b:.2f}" for a, b in rest)
    return f"M{x:.2f} {y:.2f}{'C' if mark.curved else 'L'}{ways}"


def _fill(mark: GridMark) -> str:
    """Return a rectangle for each run of cells of one colour."""
    wide, high = mark.width / len(mark.values[0]), mark.height / len(mark.values)
    hidden, results = set(mark.hidden), []
    for i, row in enumerate(mark.values):
        colours = [
            "url(#hidden)" if (i, j) in hidden else to_hex(colour_of(v, mark.scale, mark.limit))
            for j, v in enumerate(row)
        ]
        j = 0
        while j < len(colours):
            end = next(
                (n for n in range(j, len(colours)) if colours[n] != colours[j]), len(colours)
            )
            results.append(
                f'<rect x="{mark.x + j * wide:.2f}" y="{mark.y + i * high:.2f}" '
                f'width="{(end - j) * wide:.2f}" height="{high:.2f}" fill="{colours[j]}"/>'
            )
            j = end
    return f'<g shape-rendering="crispEdges">{"".join(results)}</g>'
