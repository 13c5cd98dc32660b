"""A deck of slides: the best pictures of one recording, with notes for who speaks."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from .chapters import ShownPicture
from .gallery import NamedRecording, warn_of_left_out
from .parts.animate import Animation, check_folder, write_picture
from .parts.fonts import check_language
from .parts.render import render_scene
from .pictures import Picture, find_picture, make_scene

BEST: tuple[str, ...] = (
    *("V01", "V04", "V10", "V16", "V19", "V32", "V33", "V37", "V38"),
    *("V44", "V49", "V57", "V65", "V74", "V79", "V80", "V82", "V87"),
)
WIDE, TALL, EDGE, DPI = 13.333, 7.5, 0.25, 200  # of a slide, in inches; pixels per inch


def write_slides(
    trace: Any,
    path: Path | str,
    *,
    lang: str = "en",
    ids: Iterable[str] = BEST,
    model: str = "MODEL",
    typed: Sequence[str] | None = None,
    progress: Callable[[str], object] = lambda id: None,
) -> int:
    """Write a deck as .pptx or .pdf, one picture a slide; return the number of slides.

    Each slide has notes: what the picture tells, and the command that draws it; model, typed: as of
    `gallery`. What this recording cannot give is left out, with a warning. Raise ValueError for
    another ending or language, if there is no such folder, or if nothing is left.
    """
    path = Path(path)
    writers = {".pptx": _write_pptx, ".pdf": _write_pdf}
    kind = path.suffix.lower()
    if kind not in writers:
        raise ValueError(f"{path}: slides are written as .pptx or .pdf")
    check_language(lang)
    check_folder(path)
    own, slides = NamedRecording(model, trace, typed), list[tuple[ShownPicture, Any]]()
    pictures = [find_picture(id, trace.settings.network) for id in ids]
    left_out = list[tuple[Picture, str]]()
    for each in pictures:
        try:
            scene = make_scene(trace, each.id, lang=lang)
        except ValueError as error:
            left_out.append((each, str(error)))
            continue
        finally:
            progress(each.id)
        drawn = render_scene(scene)
        figure = drawn.figure if isinstance(drawn, Animation) else drawn
        slides.append((ShownPicture(each.id, scene.title, scene.description, path), figure))
    warn_of_left_out(left_out, len(pictures))
    notes = [f"{each.told}\n\n{own.spell_command(each.id, lang)}" for each, _ in slides]
    deck = io.BytesIO()
    writers[kind](deck, path, slides, notes)
    write_picture(path, deck.getvalue())
    return len(slides)


def _write_pdf(
    deck: io.BytesIO, path: Path, slides: list[tuple[ShownPicture, Any]], notes: list[str]
) -> None:
    """Write a page of its own size for each picture, with its note as an annotation."""
    from matplotlib.backends.backend_pdf import PdfPages

    with PdfPages(deck) as pages:
        for (_, figure), note in zip(slides, notes, strict=True):
            pages.attach_note(note, positionRect=[6, 6, 26, 26])
            pages.savefig(figure)


def _write_pptx(
    file: io.BytesIO, path: Path, slides: list[tuple[ShownPicture, Any]], notes: list[str]
) -> None:
    """Write slides of 16 to 9, each picture as large as it can be, with a text for who is blind."""
    try:
        from pptx import Presentation  # type: ignore[import-not-found, unused-ignore]
        from pptx.util import Inches  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ValueError(
            f"{path}: .pptx needs an extra: pip install 'glassformer[slides]'; .pdf needs none"
        ) from error
    deck = Presentation()
    deck.slide_width, deck.slide_height = Inches(WIDE), Inches(TALL)
    for (each, figure), note in zip(slides, notes, strict=True):
        slide = deck.slides.add_slide(deck.slide_layouts[6])  # the empty one
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=DPI)
        width, height = figure.get_size_inches()
        factor = min((WIDE - 2 * EDGE) / width, (TALL - 2 * EDGE) / height)
        left, top = (WIDE - width * factor) / 2, (TALL - height * factor) / 2
        place = [Inches(v) for v in (left, top, width * factor, height * factor)]
        picture = slide.shapes.add_picture(buffer, *place)
        picture.name, picture._element.nvPicPr.cNvPr.attrib["descr"] = each.finding, each.told
        slide.notes_slide.notes_text_frame.text = note
    deck.save(file)
