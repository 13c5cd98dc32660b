"""Draw the pictures of docs/gallery, and the pages that show them.

    python -m benchmarks gallery [--out docs/gallery]

README.md is what GitHub shows, index.html what a browser does: six pictures in full width, then
chapters with what each picture finds, and the commands that draw them. Stills are PNG of 256
colours; those that move are GIF too; readme.png is for the README of the project. A picture that
is there already is kept, so that a run which was stopped goes on. The film needs the extra `video`.
"""

from __future__ import annotations

import argparse
import html
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from glassformer.config import Decode
from glassformer.extensions.pictures import Animation, save_figure
from glassformer.extensions.pictures.chapters import ShownPicture, group_chapters, spell_command
from glassformer.extensions.pictures.examples import ELSEWHERE, EVERYDAY
from glassformer.extensions.pictures.film import write_film
from glassformer.extensions.pictures.parts import style
from glassformer.extensions.pictures.parts.animate import write_gif
from glassformer.extensions.pictures.parts.palette import shrink_file
from glassformer.extensions.pictures.parts.render import render_scene
from glassformer.extensions.pictures.parts.scene import Scene
from glassformer.extensions.pictures.pictures import list_pictures, make_scene
from glassformer.foundation.disk import write_text
from glassformer.see import Trace
from glassformer.translator import Translator

ENGLISH = "The animal didn't cross the street because it was too wide."
FRENCH = "L'animal n'a pas traversé la rue parce qu'elle était trop large."
TIRED = "The animal didn't cross the street because it was too tired."  # too much for one state
MOST = 12.5e6  # bytes of the whole gallery
DPI, GIF_DPI, README_DPI, POSTER_DPI = 100, 80, 144, 120  # pixels per inch
FILM, README = "film.mp4", "readme.png"
ACROSS, THUMB = 2, 430  # thumbnails in a row; pixels of one


class Collection(NamedTuple):
    """The pictures of one translation."""

    model: str
    text: str
    lang: str
    ids: tuple[str, ...]
    heading: str
    told: str = ""  # what to look for


LENGTHS = ("V102", "V117")  # of every network, but measured of recurrent ones
LOOKS = ("V97", "V98", "V99", "V100", "V101")  # which need attention
READS = tuple(
    each.id
    for each in list_pictures("rnn")
    if each.id not in LOOKS and (each.network == "rnn" or each.id in LENGTHS)
)
MOVING = ("demo", "rnn", "rnn-attention")  # whose animations are written as .gif too
SETS = {
    "demo": Collection(
        "demo", ENGLISH, "en", tuple(p.id for p in list_pictures() if p.id not in LENGTHS), ""
    ),
    "fr-en": Collection(
        "demo-fr-en", FRENCH, "en", ("V77", "V79", "V80"), "From French to English"
    ),
    "en-zh": Collection(
        "demo-en-zh", ENGLISH, "zh", ("V10", "V16", "V74", "V77", "V79", "V80"), "In Chinese"
    ),
    "rnn": Collection(
        "demo-rnn",
        TIRED,
        "en",
        READS,
        "Before the Transformer",
        "Its translation goes wrong in one place: the state that had to hold the whole sentence "
        "lost “tired”, and instead of “fatigué” it writes “en colère”, angry (V92).",
    ),
    "rnn-attention": Collection(
        "demo-rnn-attention", TIRED, "en", LOOKS, "Before the Transformer: attention arrives"
    ),
}
GREAT = (  # a file, and two sentences
    (
        "demo/V49.png",
        "Everybody draws an arrow from “it” to the noun. Cut it, and nothing happens; cut the "
        "glance at the adjective, and the model can no longer tell.",
    ),
    (
        "demo/V64.png",
        "Between two linear maps stands one bend: what is negative becomes 0. Without it, the two "
        "maps would be one.",
    ),
    (
        "fr-en/V79.png",
        "What would each layer say if it were the last one? The words are often there some layers "
        "before the end.",
    ),
    (
        "demo/V87.png",
        "A model of five words learns. At first its bets are scattered; at the end only one "
        "cell in each row is dark.",
    ),
    (
        "demo/V74.gif",
        "The encoder has read, and its memory becomes keys and values in every decoder layer. Then "
        "the first word comes out.",
    ),
    (
        "demo/V62.png",
        "Three masks, and why each cell is closed: padding says nothing to anybody, and what "
        "comes later must not be known yet.",
    ),
)
STYLE = """
body{font:17px/1.55 system-ui,sans-serif;color:#1f2733;background:#f5f6f9;margin:0 auto;
  max-width:76rem;padding:1rem 1.2rem}
h1{font-size:2.1rem;margin:1rem 0 0}h2{margin:3rem 0 .8rem}
img{max-width:100%;height:auto}
figure{margin:0 0 1.2rem;background:#fff;border:1px solid #e4e7ec;border-radius:10px;padding:1rem}
.great img{display:block;margin:0 auto;max-height:80vh;object-fit:contain}
section{display:grid;grid-template-columns:repeat(auto-fill,minmax(22rem,1fr));gap:1rem}
section img{height:16rem;width:100%;object-fit:contain}
figcaption b{color:#2946d8;margin-right:.4rem}
code{display:block;font-size:.75rem;color:#5c6673;overflow:auto;white-space:pre;
  user-select:all;margin:.4rem 0}
@media(prefers-color-scheme:dark){body{color:#dfe4ec;background:#101318}
  a{color:#9db4ff}figure,figure a{color:#1f2733}figure{border-color:#2c323d}}
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    default = Path(__file__).parents[1] / "docs" / "gallery"
    parser.add_argument("--out", type=Path, default=default)


def main(options: argparse.Namespace) -> None:
    if not (options.out / FILM).exists() and find_spec("imageio_ffmpeg"):
        write_film(record("demo", ENGLISH), options.out / FILM)
    shown = {name: paint(each, options.out / name) for name, each in SETS.items()}
    if not (options.out / README).exists():
        save_small(make_scene(record("demo", ENGLISH), "V49"), options.out / README, README_DPI)
    write_text(options.out / "README.md", "".join(tell_markdown(shown, options.out)))
    write_text(options.out / "index.html", "".join(tell_html(shown, options.out)))
    size = sum(path.stat().st_size for path in options.out.rglob("*") if path.is_file())
    print(f"{options.out}: {size / 1e6:.1f} MB")
    if size > MOST:
        raise SystemExit(f"that is more than {MOST / 1e6:.1f} MB")


@cache
def record(model: str, text: str) -> Trace:
    translator = Translator.load(model, device="cpu")
    return translator.see(text, decode=Decode(search="beam", beam=4))


def paint(each: Collection, folder: Path) -> list[ShownPicture]:
    """Draw what is missing of a set; return what its pictures find."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for id in each.ids:
        scene = make_scene(record(*name_recording(folder.name, id)), id, lang=each.lang)
        still, moving = folder / f"{id}.png", folder / f"{id}.gif"
        if not still.exists():
            save_small(scene, still, DPI if scene.width <= style.WIDEST else POSTER_DPI)
        if scene.captions and folder.name in MOVING and not moving.exists():
            drawn = render_scene(scene)
            assert isinstance(drawn, Animation)
            write_gif(drawn.paint(GIF_DPI), moving)
        found.append(ShownPicture(id, scene.title, scene.description, still))
    return found


def save_small(scene: Scene, path: Path, dpi: int) -> None:
    """Write a PNG with a palette of its own."""
    figure = render_scene(scene)
    figure = figure.figure if isinstance(figure, Animation) else figure
    save_figure(figure, path, dpi=dpi)
    shrink_file(path)


def list_chapters(
    shown: dict[str, list[ShownPicture]],
) -> Iterator[tuple[str, str, list[ShownPicture]]]:
    """Yield each chapter: its title, the name of its set, its pictures."""
    for title, here in group_chapters(shown["demo"]):
        yield title, "demo", here
    for name, each in SETS.items():
        if each.heading:
            yield each.heading, name, shown[name]


def find_great(shown: dict[str, list[ShownPicture]]) -> Iterator[tuple[str, str, ShownPicture]]:
    """Yield the file and the sentences of each great picture, and what it finds."""
    for file, told in GREAT:
        name, _, rest = file.partition("/")
        yield file, told, next(each for each in shown[name] if each.id == rest.partition(".")[0])


def name_recording(name: str, id: str) -> tuple[str, str]:
    """Return the model and the text of one picture of a set."""
    if name == "demo" and id in ELSEWHERE:
        return EVERYDAY, ELSEWHERE[id]
    return SETS[name].model, SETS[name].text


def spell(name: str, id: str) -> str:
    return spell_command(id, *name_recording(name, id))


def list_commands(name: str, here: list[ShownPicture]) -> Iterator[str]:
    """Yield a command for each recording of a chapter, and all its pictures behind the first."""
    recordings: dict[tuple[str, str], list[str]] = {}
    for each in here:
        recordings.setdefault(name_recording(name, each.id), []).append(each.id)
    for (model, text), ids in recordings.items():
        more = f"  # or {', '.join(ids[1:])}" if ids[1:] else ""
        yield f"{spell_command(ids[0], model, text)}{more}"


def tell_markdown(shown: dict[str, list[ShownPicture]], folder: Path) -> Iterator[str]:
    """Yield the page that GitHub shows."""
    yield "# Gallery\n\nMost pictures are drawn from the recording of one translation by a model "
    yield "that comes with the package: their numbers are those that the network computed. Worked "
    yield "examples, a model of five words that learns, and measurements on other sentences say so "
    yield "in their notes. The commands above a group draw its pictures; with another model or "
    yield "text, of yours, where they are drawn from a recording. Beside this file lies "
    yield "[index.html](index.html), the same for a browser, with larger pictures. "
    yield f"[A film of three minutes]({FILM}), text in, translation out; "
    yield "[the whole translation on one page](demo/V113.png), a poster of size A1.\n"
    for file, told, each in find_great(shown):
        alt = each.told.replace("[", "(").replace("]", ")").replace("\n", " ")
        yield f"\n## {each.finding}\n\n![{alt}]({file})\n\n{told}\n\n"
        yield f"```\n{spell(file.partition('/')[0], each.id)}\n```\n"
    for title, name, here in list_chapters(shown):
        yield f"\n## {title}\n"
        if told := SETS[name].told:
            yield f"\n{told}\n"
        yield "\n```\n{}\n```\n".format("\n".join(list_commands(name, here)))
        yield "\n<table>\n"
        for n in range(0, len(here), ACROSS):
            yield "<tr>\n"
            for each in here[n : n + ACROSS]:
                file = f"{name}/{each.id}"
                moves = (folder / f"{file}.gif").exists()
                more = f' <a href="{file}.gif">moves</a>' if moves else ""
                yield (
                    f'<td width="{100 // ACROSS}%" valign="top"><a href="{file}.png">'
                    f'<img src="{file}.png" '
                    f'width="{THUMB}" alt="{html.escape(each.told)}"></a><br>'
                    f"<b>{each.id}</b> {html.escape(each.finding)}{more}</td>\n"
                )
            yield "</tr>\n"
        yield "</table>\n"


def spell_size(path: Path) -> str:
    """Return the size of a picture as HTML has it, so that nothing moves when it comes."""
    from PIL import Image

    with Image.open(path) as picture:
        return f'width="{picture.width}" height="{picture.height}"'


def tell_html(shown: dict[str, list[ShownPicture]], folder: Path) -> Iterator[str]:
    """Yield the page for a browser, which works without a network."""
    yield '<!doctype html>\n<html lang="en"><meta charset="utf-8">\n'
    yield '<meta name="viewport" content="width=device-width"><title>Gallery</title>\n'
    yield '<link rel="icon" href="data:,">\n'
    yield f"<style>{STYLE}</style>\n<h1>What a translation looks like inside</h1>\n"
    yield "<p>Every number is one that the network computed, unless the note of its picture says "
    yield "otherwise. The commands above a group draw its pictures; "
    yield f'with another model or text, of yours. <a href="{FILM}">A film of three minutes</a>; '
    yield '<a href="demo/V113.png">the whole translation on one page</a>, of size A1.</p>\n'
    for place, (file, told, each) in enumerate(find_great(shown)):
        soon = 'loading="lazy"' if place else 'fetchpriority="high"'  # the first is in sight
        yield (
            f'<figure class="great"><img {soon} src="{file}" {spell_size(folder / file)} '
            f'alt="{html.escape(each.told)}">'
            f"<p>{html.escape(told)}</p>"
            f"<code>{html.escape(spell(file.partition('/')[0], each.id))}</code></figure>\n"
        )
    for title, name, here in list_chapters(shown):
        told = SETS[name].told and f"<p>{SETS[name].told}</p>\n"
        commands = html.escape("\n".join(list_commands(name, here)))
        yield f"<h2>{html.escape(title)}</h2>\n{told}<code>{commands}</code>\n<section>\n"
        for each in here:
            file = f"{name}/{each.id}"
            moves = f' <a href="{file}.gif">▶</a>' if (folder / f"{file}.gif").exists() else ""
            yield (
                f'<figure id="{name}-{each.id}"><a href="{file}.png"><img loading="lazy" '
                f'src="{file}.png" alt="{html.escape(each.told)}"></a><figcaption><b>{each.id}</b>'
                f"{html.escape(each.finding)}{moves}</figcaption></figure>\n"
            )
        yield "</section>\n"
    yield "</html>\n"
