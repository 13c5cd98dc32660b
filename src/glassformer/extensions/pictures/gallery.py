"""A folder with all pictures of one recording, and a page that shows them offline."""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from glassformer.foundation.disk import write_text

from .chapters import ShownPicture, group_chapters, spell_command
from .parts.render import save_scene
from .pictures import Picture, find_picture, list_pictures, make_scene

FEW = 5  # pictures named of those left out for one reason
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#1f2733;background:#f5f6f9;margin:2rem auto;
  max-width:78rem;padding:0 1rem}
h1{font-size:1.8rem;margin-bottom:0}h2{font-size:1.25rem;margin:2.6rem 0 .8rem}
.text{color:#5c6673;font-size:1.1rem}
section{display:grid;grid-template-columns:repeat(auto-fill,minmax(22rem,1fr));gap:1.1rem}
figure{margin:0;border:1px solid #e4e7ec;border-radius:10px;padding:.8rem;background:#fff;
  display:flex;flex-direction:column}
figure img{width:100%;height:17rem;object-fit:contain}
figcaption{margin-top:auto;padding-top:.5rem;font-size:.95rem}
figcaption b{color:#2946d8;margin-right:.4rem}
code{display:block;margin-top:.35rem;font-size:.72rem;color:#5c6673;overflow-wrap:anywhere;
  white-space:pre-wrap;user-select:all}
.out{font-size:.9rem;color:#5c6673}
@media(prefers-color-scheme:dark){body{color:#dfe4ec;background:#101318}
  a{color:#9db4ff}.text,.out{color:#9aa5b4}figure,figure a{color:#1f2733}
  figure{border-color:#2c323d}}
"""


class NamedRecording(NamedTuple):
    """A recording, and how commands name it: its model, and what was typed after that."""

    model: str
    trace: Any
    typed: Sequence[str] | None = None

    def spell_command(self, id: str, lang: str) -> str:
        """Return the command that draws a picture; by default, of the recorded sentence."""
        typed = [self.trace.text.strip()] if self.typed is None else self.typed
        return spell_command(id, self.model, typed, lang)


def gallery(
    trace: Any,
    folder: Path | str,
    *,
    lang: str = "en",
    format: str = "svg",
    moving: bool = True,
    model: str = "MODEL",
    typed: Sequence[str] | None = None,
    ids: Iterable[str] | None = None,
    others: Mapping[str, NamedRecording] = MappingProxyType({}),
    progress: Callable[[str], object] = lambda id: None,
    **options: Any,
) -> list[Path]:
    """Draw all pictures (or `ids`) into a folder with an `index.html`; return the files.

    moving: write animations as .gif too. model: its name in the commands on the page. typed: the
    arguments after it, in place of the text. others: recordings of which single pictures are drawn
    instead, by their ids. options: options for the pictures that have them.
    Pictures that this recording cannot give are counted in a warning, and named on the page
    with the reason. Raise ValueError if none can be drawn.
    """
    folder = Path(folder)
    network = trace.settings.network
    pictures = [find_picture(id, network) for id in ids] if ids else list_pictures(network)
    _check_known(pictures, options)
    results: list[ShownPicture] = []
    left_out: list[tuple[Picture, str]] = []
    files: list[Path] = []
    for picture in pictures:
        chosen = {name: value for name, value in options.items() if name in picture.options}
        try:
            here = others[picture.id].trace if picture.id in others else trace
            scene = make_scene(here, picture.id, lang=lang, **chosen)
        except ValueError as error:
            left_out.append((picture, str(error)))
            progress(picture.id)
            continue
        folder.mkdir(parents=True, exist_ok=True)
        endings = [format, "gif"] if moving and scene.captions else [format]
        written = [folder / f"{picture.id}.{ending}" for ending in endings]
        for path in written:
            save_scene(scene, path)
        files += written
        results.append(ShownPicture(picture.id, scene.title, scene.description, written[-1]))
        progress(picture.id)
    warn_of_left_out(left_out, len(pictures))
    page, own = folder / "index.html", NamedRecording(model, trace, typed)
    named = {each.id: others.get(each.id, own) for each in results}
    write_text(page, _make_page(trace, results, left_out, lang, named))
    return [*files, page]


def _check_known(pictures: Sequence[Picture], options: dict[str, Any]) -> None:
    """Raise ValueError for an option that none of the pictures has."""
    for name in options:
        if not any(name in picture.options for picture in pictures):
            raise ValueError(f"no picture has an option {name}")


def warn_of_left_out(left_out: Sequence[tuple[Picture, str]], count: int) -> None:
    """Warn which of so many pictures are left out, and why. ValueError if all of them are."""
    if len(left_out) == count:
        raise ValueError(f"no picture could be drawn: {_group_reasons(left_out)}")
    if left_out:
        many = f"{len(left_out)} of {count} pictures are left out"
        warnings.warn(f"{many}: {_group_reasons(left_out)}", stacklevel=3)


def _group_reasons(left_out: Sequence[tuple[Picture, str]]) -> str:
    """Return each reason once, with the pictures for which it holds."""
    groups: dict[str, list[str]] = {}
    for picture, reason in left_out:
        what = re.sub(r"^\S+ is not in a recording", "more is shown than is in a recording", reason)
        what = what.removeprefix(f"{picture.id} ")
        groups.setdefault(what, []).append(picture.id)
    return "; ".join(f"{_join_ids(ids)}: {reason}" for reason, ids in groups.items())


def _join_ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - FEW} others" if len(ids) > FEW else ""
    return ", ".join(ids[:FEW]) + more


def _make_page(
    trace: Any,
    pictures_shown: list[ShownPicture],
    left_out: list[tuple[Picture, str]],
    lang: str,
    named: Mapping[str, NamedRecording],
) -> str:
    source, target = html.escape(trace.text), html.escape(trace.translation)
    chapters = "\n".join(
        f"<h2>{html.escape(title)}</h2>\n<section>\n"
        + "\n".join(_tell(each, named[each.id].spell_command(each.id, lang)) for each in shown)
        + "\n</section>"
        for title, shown in group_chapters(pictures_shown, lang)
    )
    missing = "\n".join(
        f"<li><b>{picture.id}</b> {html.escape(picture.title(lang))}: {html.escape(reason)}</li>"
        for picture, reason in left_out
    )
    heading = "一句译文的全部图画" if lang == "zh" else "One translation, looked into"
    return (
        f'<!doctype html>\n<html lang="{"zh-CN" if lang == "zh" else "en"}">\n'
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width">\n'
        f"<title>{heading}</title><style>{_STYLE}</style>\n<main><h1>{heading}</h1>\n"
        f'<p class="text"><bdi>{source}</bdi> → <bdi>{target}</bdi></p>\n'
        f'{chapters}\n<ul class="out">\n{missing}\n</ul></main>\n</html>\n'
    )


def _tell(each: ShownPicture, command: str) -> str:
    """Return one picture with what it finds, what it tells, and the command that draws it."""
    name, finding = each.path.name, html.escape(each.finding)
    return (
        f'<figure id="{each.id}"><a href="{name}"><img loading="lazy" src="{name}" '
        f'alt="{html.escape(each.told)}"></a><figcaption><b>{each.id}</b>{finding}'
        f"<code>{html.escape(command)}</code></figcaption></figure>"
    )
