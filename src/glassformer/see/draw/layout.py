"""The layout of a picture: title above, steps and note below, the page cut to fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.text import Text

from . import theme
from .animate import LISTED
from .fonts import wrap

if TYPE_CHECKING:
    from .canvas import Page

MARGIN, NARROWEST = 24.0, 380.0


def lay_out(page: Page, title: str, note: str, width: float) -> list[Text]:
    """Write title, captions and note around the drawing; return the captions."""
    page.rest()
    width = max(page.right - page.left, width, NARROWEST)
    middle = (page.left + page.right) / 2
    page.left = min(page.left, middle - width / 2)
    left = page.left
    page.reach(left, page.top, width)
    bottom = page.bottom
    y = page.top - 14
    for line in reversed(wrap(title, width, theme.TITLE, bold=True)):
        page.text(left, y - 8, line, size=theme.TITLE, bold=True)
        y -= theme.TITLE * 1.4
    captions = _list_steps(page, [step.caption for step in page.steps], left, bottom, width)
    y = page.bottom + 18
    if note.startswith(("encoder", "decoder")):
        note = note[0].upper() + note[1:]
    for line in wrap(note, width, theme.SMALL) if note else ():
        page.text(left, y, line, size=theme.SMALL, color=theme.SOFT)
        y += theme.SMALL * 1.55
    _fit(page)
    return captions


def _list_steps(
    page: Page, captions: list[str], left: float, bottom: float, width: float
) -> list[Text]:
    """Write numbered captions below each other; return them.

    If there are more than `LISTED`, all stand in one place, hidden until the animation shows
    them.
    """
    y, made, listed = bottom + 22, [], len(captions) <= LISTED
    for number, caption in enumerate(captions, 1):
        lines = wrap(f"{number}  {caption}" if listed else caption, width, theme.TEXT)
        text = page.text(left, y, "\n".join(lines), size=theme.TEXT, va="top")
        text.set_visible(listed)
        if listed:
            y += theme.TEXT * 1.35 * len(lines) + 4
        made.append(text)
    return made


def _fit(page: Page) -> None:
    """Show exactly what is drawn; on axes of others, scale type and lines with the page."""
    left, right = page.left - MARGIN, page.right + MARGIN
    top, bottom = page.top - MARGIN, page.bottom + MARGIN
    page.ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", autoscale_on=False)
    if page.own:
        page.figure.set_size_inches((right - left) / 72, (bottom - top) / 72)
        return
    box = page.ax.get_window_extent()
    factor = min(box.width / (right - left), box.height / (bottom - top)) * 72
    factor /= page.figure.dpi
    for text in page.ax.texts:
        text.set_fontsize(float(text.get_fontsize()) * factor)
    for patch in page.ax.patches:
        patch.set_linewidth(patch.get_linewidth() * factor)
