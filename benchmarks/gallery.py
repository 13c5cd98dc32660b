"""Draw every picture of the shipped model's translation, and of a larger model's, for docs/gallery.

    python benchmarks/gallery.py [--base MODEL] [--out docs/gallery]

Stills are PNG in few colours; those that move are GIF, of the shipped model alone. One page,
README.md, shows them all.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from pathlib import Path

from glassformer.config import Decode
from glassformer.directory import write_text
from glassformer.see import Trace
from glassformer.see.draw import PICTURES, Animation, draw
from glassformer.see.draw.animate import save_figure, write_bytes
from glassformer.translator import Translator

SHORT = "The animal didn't cross the street because it was too tired."
LONG = (
    "Although nobody had expected it, the old man who lived beside the river opened his door, "
    "looked at the children for a long time, and told them to come in out of the rain at once."
)
MOST = 12e6  # bytes of the whole gallery
COLOURS, DPI = 96, 100
GROUPS = {
    "The whole model": 9, "Words become numbers": 18, "Positions": 29,
    "Self-attention, step by step": 38, "As matrices": 41, "Many heads": 48,
    "Attention on a sentence": 55, "Masks and padding": 62, "Feed-forward, residual, norm": 69,
    "Stacks and what they cost": 73, "The decoder writes": 83, "Training": 91, "The code": 105,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base", type=Path, help="a model of the paper's base size")
    default = Path(__file__).parents[1] / "docs" / "gallery"
    parser.add_argument("--out", type=Path, default=default)
    options = parser.parse_args()
    sets = {"demo": record("demo", SHORT)}
    if options.base:
        sets["base"] = record(options.base, LONG)
    for name, trace in sets.items():
        paint(trace, options.out / name, moving=name == "demo")
    write_text(options.out / "README.md", "".join(tell(sets, options.out)))
    size = sum(path.stat().st_size for path in options.out.rglob("*") if path.is_file())
    print(f"{options.out}: {size / 1e6:.1f} MB")
    if size > MOST:
        raise SystemExit(f"that is more than {MOST / 1e6:.0f} MB")


def record(model: Path | str, text: str) -> Trace:
    translator = Translator.load(model, device="cpu")
    return translator.see(text, decode=Decode(search="beam", beam=4))


def paint(trace: Trace, folder: Path, moving: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for id in PICTURES:
        drawn = draw(trace, id)
        if isinstance(drawn, Animation) and moving:
            drawn.save(folder / f"{id}.gif")
        save_small(drawn.figure if isinstance(drawn, Animation) else drawn, folder / f"{id}.png")


def save_small(figure: object, path: Path) -> None:
    """PNG with a palette of its own."""
    from PIL import Image

    save_figure(figure, path, dpi=DPI)  # type: ignore[arg-type]
    buffer = io.BytesIO()
    Image.open(path).convert("RGB").quantize(COLOURS).save(buffer, "PNG", optimize=True)
    write_bytes(path, buffer.getvalue())


def tell(sets: dict[str, Trace], folder: Path) -> Iterator[str]:
    yield "# All pictures\n\nEach is drawn from the recording of one translation, as "
    yield "`glassformer see MODEL TEXT --gallery FOLDER` does it for any model and sentence; this "
    yield "page is made by `python benchmarks/gallery.py`. A ▶ moves.\n"
    for name, trace in sets.items():
        shape = trace.settings
        yield (
            f"\n* **{name}**: {shape.encoder_layers} + {shape.decoder_layers} layers, d_model "
            f"{shape.d_model}, {shape.heads} heads. “{trace.text}” → “{trace.translation}”\n"
        )
    ids = list(PICTURES)
    for title, last in GROUPS.items():
        yield f"\n## {title}\n"
        while ids and int(ids[0][1:]) <= last:
            yield from show(ids.pop(0), list(sets), folder)


def show(id: str, names: list[str], folder: Path) -> Iterator[str]:
    gif = folder / names[0] / f"{id}.gif"
    moves = f" [▶]({names[0]}/{id}.gif)" if gif.exists() else ""
    yield f"\n### {id} {PICTURES[id].en}{moves}\n\n"
    yield f"![{id}, {names[0]}]({names[0]}/{id}.png)\n"
    for name in names[1:]:
        picture = f"![{id}, {name}]({name}/{id}.png)"
        yield f"\n<details><summary>{name}</summary>\n\n{picture}\n\n</details>\n"


if __name__ == "__main__":
    main()
