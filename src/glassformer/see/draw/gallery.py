"""A folder with all pictures of one recording, and a page that shows them offline."""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from .animate import Animation, save_figure, write_animation
from .pictures import PICTURES, Picture, draw, find_picture

FEW = 5  # pictures named of those left out for one reason
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#2f3640;margin:2rem auto;
  max-width:75rem;padding:0 1rem}
h1{font-size:1.7rem;margin-bottom:0}.text{color:#68717d}
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(22rem,1fr));gap:1.25rem}
figure{margin:0;border:1px solid #dfe3e8;border-radius:8px;padding:.75rem;background:#fff}
figure img{width:100%;height:18rem;object-fit:contain}
figcaption{border-top:1px solid #eef0f3;padding-top:.4rem;font-size:.9rem}
figcaption b{color:#2946d8;margin-right:.4rem}.out{font-size:.9rem;color:#68717d}
"""


def gallery(
    trace: Any,
    folder: Path | str,
    *,
    lang: str = "en",
    format: str = "svg",
    moving: bool = True,
    ids: Iterable[str] | None = None,
    progress: Callable[[str], object] = lambda id: None,
    **options: Any,
) -> list[Path]:
    """Draw all pictures (or `ids`) into a folder with an `index.html`; return the files.

    moving: write animations as .gif too. options: options for the pictures that have them.
    Pictures that this recording cannot give are counted in a warning, and named on the page
    with the reason. Raise ValueError if none can be drawn.
    """
    folder = Path(folder)
    pictures = [find_picture(id) for id in ids or PICTURES]
    _check_known(pictures, options)
    made: list[tuple[Picture, Path]] = []
    left_out: list[tuple[Picture, str]] = []
    files: list[Path] = []
    for picture in pictures:
        chosen = {name: value for name, value in options.items() if name in picture.options}
        try:
            drawn = draw(trace, picture.id, lang=lang, **chosen)
        except ValueError as error:
            left_out.append((picture, str(error)))
            progress(picture.id)
            continue
        folder.mkdir(parents=True, exist_ok=True)
        written = _write(drawn, folder / f"{picture.id}.{format}", moving)
        files += written
        made.append((picture, written[-1]))
        progress(picture.id)
    if not made:
        raise ValueError(f"no picture could be drawn: {_group_reasons(left_out)}")
    if left_out:
        count = f"{len(left_out)} of {len(pictures)} pictures are left out"
        warnings.warn(f"{count}: {_group_reasons(left_out)}", stacklevel=2)
    page = folder / "index.html"
    write_animation(page, _make_page(trace, made, left_out, lang).encode())
    return [*files, page]


def _check_known(pictures: Sequence[Picture], options: dict[str, Any]) -> None:
    """Raise ValueError for an option that none of the pictures has."""
    for name in options:
        if not any(name in picture.options for picture in pictures):
            raise ValueError(f"no picture has an option {name}")


def _group_reasons(left_out: Sequence[tuple[Picture, str]]) -> str:
    """Return each reason once, with the pictures for which it holds."""
    groups: dict[str, list[str]] = {}
    for picture, reason in left_out:
        what = re.sub(r"^\S+ is not in a recording", "more is shown than is in a recording", reason)
        groups.setdefault(what, []).append(picture.id)
    return "; ".join(f"{_join_ids(ids)}: {reason}" for reason, ids in groups.items())


def _join_ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - FEW} others" if len(ids) > FEW else ""
    return ", ".join(ids[:FEW]) + more


def _write(drawn: Figure | Animation, path: Path, moving: bool) -> list[Path]:
    if isinstance(drawn, Figure):
        save_figure(drawn, path)
        return [path]
    drawn.save(path)
    if not moving:
        return [path]
    drawn.save(path.with_suffix(".gif"))
    return [path, path.with_suffix(".gif")]


def _make_page(
    trace: Any, made: list[tuple[Picture, Path]], left_out: list[tuple[Picture, str]], lang: str
) -> str:
    source, target = html.escape(trace.text), html.escape(trace.translation)
    figures = "\n".join(
        f'<figure id="{picture.id}"><a href="{path.name}"><img loading="lazy" src="{path.name}" '
        f'alt="{html.escape(picture.title(lang))}"></a><figcaption><b>{picture.id}</b>'
        f"{html.escape(picture.title(lang))}</figcaption></figure>"
        for picture, path in made
    )
    missing = "\n".join(
        f"<li><b>{picture.id}</b> {html.escape(picture.title(lang))}: {html.escape(reason)}</li>"
        for picture, reason in left_out
    )
    heading = "一句译文的全部图画" if lang == "zh" else "One translation, looked into"
    return (
        f'<!doctype html>\n<html lang="{"zh-CN" if lang == "zh" else "en"}">\n'
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width">\n'
        f"<title>{heading}</title><style>{_STYLE}</style>\n<h1>{heading}</h1>\n"
        f'<p class="text"><bdi>{source}</bdi> → <bdi>{target}</bdi></p>\n'
        f'<main>\n{figures}\n</main>\n<ul class="out">\n{missing}\n</ul>\n</html>\n'
    )
