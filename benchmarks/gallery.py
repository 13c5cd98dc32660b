"""Draw every picture of the shipped model's translation, and of a larger model's, for docs/gallery.

    python -m benchmarks gallery [--base MODEL] [--out docs/gallery]

Stills are PNG of 256 colours; those that move are GIF, of the shipped model alone. One page,
index.html, shows them all. MODEL is one that `recipe` trained: its score is stated.
A picture that is there already is kept, so that a run which was stopped goes on.
"""

from __future__ import annotations

import argparse
import html
import io
import json
from collections.abc import Iterator
from pathlib import Path

from glassformer.config import Decode
from glassformer.directory import write_text
from glassformer.see import Trace
from glassformer.see.draw import PICTURES, Animation, draw
from glassformer.see.draw.animate import save_figure, write_animation
from glassformer.translator import Translator

SHORT = "The animal didn't cross the street because it was too tired."
LONG = (
    "Although nobody had expected it, the old man who lived beside the river opened his door, "
    "looked at the children for a long time, and told them to come in out of the rain at once."
)
MOST = 12e6  # bytes of the whole gallery
COLOURS, DPI = 256, 100
GROUPS = {
    "The whole model": 9,
    "Words become numbers": 18,
    "Positions": 29,
    "Self-attention, step by step": 38,
    "As matrices": 41,
    "Many heads": 48,
    "Attention on a sentence": 55,
    "Masks and padding": 62,
    "Feed-forward, residual, norm": 69,
    "Stacks and what they cost": 73,
    "The decoder writes": 83,
    "Training": 91,
    "The code": 105,
}
TOY = ("V84", "V85", "V86", "V87", "V90", "V91")  # of a training, so the same for every model
STYLE = """
body{font:17px/1.55 system-ui,sans-serif;color:#2f3640;background:#f3f4f6;margin:0}
main,header{max-width:76rem;margin:0 auto;padding:0 1.2rem}
header{padding-top:2.5rem}h1{font-size:2.1rem;margin:0}h2{margin:3rem 0 .6rem}
nav a{margin-right:1rem;color:#2946d8;text-decoration:none;white-space:nowrap}
figure{margin:0 0 1.4rem;background:#fff;border:1px solid #dfe3e8;border-radius:10px;padding:1rem}
figcaption{color:#515b67;font-size:.95rem;margin-bottom:.4rem}
figcaption b{color:#2946d8;margin-right:.5rem}
img{max-width:100%;height:auto;display:block;margin:0 auto}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:1rem}
.pair small{display:block;color:#68717d;text-align:center}
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base", type=Path, help="a model of the paper's base size")
    default = Path(__file__).parents[1] / "docs" / "gallery"
    parser.add_argument("--out", type=Path, default=default)


def main(options: argparse.Namespace) -> None:
    sets = {"demo": record("demo", SHORT)}
    if options.base:
        sets["base"] = record(options.base, LONG)
    for name, trace in sets.items():
        paint(trace, options.out / name, first=name == "demo")
    score = read_score(options.base) if options.base else ""
    write_text(options.out / "index.html", "".join(tell(sets, options.out, score)))
    size = sum(path.stat().st_size for path in options.out.rglob("*") if path.is_file())
    print(f"{options.out}: {size / 1e6:.1f} MB")
    if size > MOST:
        raise SystemExit(f"that is more than {MOST / 1e6:.0f} MB")


def record(model: Path | str, text: str) -> Trace:
    translator = Translator.load(model, device="cpu")
    return translator.see(text, decode=Decode(search="beam", beam=4))


def paint(trace: Trace, folder: Path, first: bool) -> None:
    """Stills of one recording; of the first also what moves, and what needs no recording."""
    folder.mkdir(parents=True, exist_ok=True)
    for id, picture in PICTURES.items():
        moves = first and picture.kind == "animated"
        still, moving = folder / f"{id}.png", folder / f"{id}.gif"
        if (still.exists() and (moving.exists() or not moves)) or (id in TOY and not first):
            continue
        drawn = draw(trace, id)
        save_small(drawn.figure if isinstance(drawn, Animation) else drawn, still)
        if isinstance(drawn, Animation) and moves:
            drawn.save(moving)


def save_small(figure: object, path: Path) -> None:
    """PNG with a palette of its own, in which rare colours keep their place."""
    from PIL import Image

    save_figure(figure, path, dpi=DPI)  # type: ignore[arg-type]
    buffer, method = io.BytesIO(), Image.Quantize.MAXCOVERAGE
    Image.open(path).convert("RGB").quantize(COLOURS, method).save(buffer, "PNG", optimize=True)
    write_animation(path, buffer.getvalue())


def read_score(model: Path) -> str:
    """BLEU on each test set, from the result.json that `recipe.py` left beside the model."""
    found = json.loads((model / "result.json").read_text(encoding="utf-8"))
    scores = {name: test["scores"]["BLEU"] for name, test in found["tests"].items()}
    said = [f"BLEU {bleu['value']:.1f} on {name}" for name, bleu in scores.items()]
    signature = next(iter(scores.values()))["signature"]
    return f"{', '.join(said)} ({signature}) after {found['updates']:,} updates"


def tell(sets: dict[str, Trace], folder: Path, score: str) -> Iterator[str]:
    """The page."""
    yield '<!doctype html>\n<html lang="en"><meta charset="utf-8">\n'
    yield '<meta name="viewport" content="width=device-width"><title>All pictures</title>\n'
    yield f"<style>{STYLE}</style>\n<header><h1>All pictures</h1>\n<p>Each is drawn from the "
    yield "recording of one translation; <code>glassformer see MODEL TEXT --gallery FOLDER</code> "
    yield "draws them for any model and sentence. A ▶ moves.</p>\n<ul>\n"
    for name, trace in sets.items():
        yield describe(name, trace, score if name == "base" else "")
    yield "</ul>\n<nav>"
    yield " ".join(f'<a href="#{last}">{title}</a>' for title, last in GROUPS.items())
    yield "</nav></header>\n<main>\n"
    ids = list(PICTURES)
    for title, last in GROUPS.items():
        yield f'<h2 id="{last}">{title}</h2>\n'
        while ids and int(ids[0][1:]) <= last:
            yield show(ids.pop(0), list(sets), folder)
    yield "</main></html>\n"


def describe(name: str, trace: Trace, score: str) -> str:
    shape = trace.settings
    said = f"“{trace.text}” → “{trace.translation}”"
    return (
        f"<li><b>{name}</b>: {shape.encoder_layers} + {shape.decoder_layers} layers, d_model "
        f"{shape.d_model}, {shape.heads} heads. {html.escape(said)}"
        f"{f' Score: {html.escape(score)}.' if score else ''}</li>\n"
    )


def show(id: str, names: list[str], folder: Path) -> str:
    """A picture of each recording that has it; what moves starts where it is clicked."""
    shown = [name for name in names if (folder / name / f"{id}.png").exists()]
    gif = f"{names[0]}/{id}.gif"
    moves = f' <a href="{gif}">▶</a>' if (folder / gif).exists() else ""
    title = html.escape(PICTURES[id].en)
    images = "".join(
        f'<div><a href="{name}/{id}.png"><img loading="lazy" src="{name}/{id}.png" '
        f'alt="{id}, {title}: {name}"></a>{f"<small>{name}</small>" if len(shown) > 1 else ""}'
        "</div>"
        for name in shown
    )
    return (
        f'<figure id="{id}"><figcaption><b>{id}</b>{title}{moves}</figcaption>'
        f'<div class="pair">{images}</div></figure>\n'
    )
