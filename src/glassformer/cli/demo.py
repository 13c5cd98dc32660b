"""glassformer demo"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Exit, Option

from ..config import Config
from .options import Device
from .terminal import INTERRUPTED, warn

if TYPE_CHECKING:
    from ..data.demo import Split

SETTINGS = {
    "size": "tiny",
    "model": {"norm": "pre", "encoder_layers": 3, "decoder_layers": 3},
    "text": {"vocabulary": 2000},
    "data": {"source_lang": "en", "target_lang": "fr"},
    "train": {
        "batch_tokens": 1024,
        "learning_rate": 0.004,
        "warmup": 200,
        "schedule": "linear",
    },
    "decode": {"search": "greedy"},
}
PAIRS: dict[Split, int] = {"train": 40_000, "valid": 500}

Out = Annotated[Path, Option(metavar="FOLDER", help="Where the pairs and the model go.")]
Minutes = Annotated[float, Option(metavar="N", help="How long to train.")]


def demo(
    out: Out = Path("glassformer-demo"), minutes: Minutes = 2.0, device: Device = "auto"
) -> None:
    """Train English to French on built-in sentences, then translate some: minutes in all.

    \b
    glassformer demo
    """
    if out.exists():
        raise ValueError(f"{out} is there already: delete it, or choose another --out")
    from .. import train as training
    from ..data.demo import NOTES
    from ..translator import Translator

    config = Config.read(SETTINGS).changed(train={"minutes": minutes})
    write_pairs(out / "pairs")
    summary = training.train(config, [out / "pairs"], out / "model", device=device)
    print(summary.text)
    if not summary.is_finished:
        raise Exit(INTERRUPTED)
    sources = [note.en for note in NOTES]
    translations = Translator.load(out / "model", device=device).translate(sources)
    print()
    for source, translation in zip(sources, translations, strict=True):
        print(f"{source}\n    {translation}")
    print(f'\nNow your own: echo "The dog is tired." | glassformer translate {out / "model"}')


def write_pairs(folder: Path) -> None:
    """The built-in corpus as anybody's data: two files that go line by line, for each split."""
    from ..data.demo import pairs

    folder.mkdir(parents=True)
    for split, count in PAIRS.items():
        warn(f"writing {count:,} pairs of sentences to {folder / split}.en and .fr")
        sides = zip(*pairs("en", "fr", count, seed=1, split=split), strict=True)
        for language, lines in zip(("en", "fr"), sides, strict=True):
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8", newline="\n")
