"""glassformer train"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from ..config import SIZES, Config
from .options import AsJson, Device
from .terminal import INTERRUPTED, to_json

Recipe = Annotated[
    str | None,
    Argument(
        metavar="RECIPE",
        help=f"A size ({', '.join(SIZES)}) or a TOML file of settings.",
    ),
]
Data = Annotated[
    list[Path] | None,
    Option(
        metavar="PATH",
        help="Sentence pairs: a folder or prefix (DIR/train is DIR/train.en and DIR/train.de), a "
        ".tsv, .csv or .jsonl file, or two text files, --data twice, source first.",
    ),
]
Valid = Annotated[
    list[Path] | None,
    Option(
        metavar="PATH",
        help="Pairs to validate on, likewise; if not given, some of the data are held out.",
    ),
]
SourceLang = Annotated[
    str | None, Option(metavar="CODE", help="The language to translate from, like en.")
]
TargetLang = Annotated[str | None, Option(metavar="CODE", help="The language to translate to.")]
Out = Annotated[Path | None, Option(metavar="FOLDER", help="Where the model goes.")]
Minutes = Annotated[
    float | None, Option(metavar="N", help="Train so long, instead of a number of steps.")
]
Changes = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting, like train.batch_tokens=2048; again for each further one.",
    ),
]
Resume = Annotated[
    Path | None, Option(metavar="FOLDER", help="Go on where this run stopped; needs nothing else.")
]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Say nothing on the way.")]


def train(
    recipe: Recipe = None,
    data: Data = None,
    source_lang: SourceLang = None,
    target_lang: TargetLang = None,
    out: Out = None,
    valid: Valid = None,
    minutes: Minutes = None,
    changes: Changes = None,
    resume: Resume = None,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train a model on sentence pairs of your own. Ctrl-C saves it, --resume goes on.

    \b
    glassformer train small --source-lang en --target-lang de --minutes 60 \\
        --data train.en --data train.de --out my-model
    glassformer train --resume my-model
    """
    if resume:
        _refuse(recipe, data, source_lang, target_lang, out, valid, minutes, changes)
        from .. import train as training

        summary = training.resume(resume, device=device, quiet=quiet)
    else:
        if not (recipe and data and out):
            raise ValueError("train needs RECIPE, --data and --out, or --resume alone")
        config = read_recipe(recipe, source_lang, target_lang, minutes, changes or ())
        from .. import train as training

        summary = training.train(config, data, out, valid=valid or None, device=device, quiet=quiet)
    print(to_json(summary.to_json()) if as_json else summary.text)
    if not summary.is_finished:
        raise Exit(INTERRUPTED)  # what comes after "&&" does not want half a model


def _refuse(*settings: object) -> None:
    if any(settings):
        raise ValueError("--resume takes everything from the run itself: leave the rest out")


def read_recipe(
    recipe: str,
    source_lang: str | None,
    target_lang: str | None,
    minutes: float | None,
    changes: Sequence[str],
) -> Config:
    """The settings of a size or a TOML file, with those given at the command line on top."""
    langs = {"source_lang": source_lang, "target_lang": target_lang}
    changes = [f"data.{name}={lang}" for name, lang in langs.items() if lang] + list(changes)
    if recipe in SIZES:
        config = Config.read({"size": recipe}, changes)
    elif Path(recipe).is_file():
        config = Config.load(recipe, changes)
    else:
        near = get_close_matches(recipe, SIZES, 1)
        hint = f"did you mean {near[0]}?" if near else f"the sizes are {', '.join(SIZES)}"
        raise ValueError(f"{recipe} is neither a size nor a TOML file that is there; {hint}")
    if minutes is None:
        return config
    if any(change.startswith("train.steps") for change in changes):
        raise ValueError("--minutes and --set train.steps both say when to stop: give one of them")
    return config.changed(train={"minutes": minutes, "steps": None})
