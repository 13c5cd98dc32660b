"""The command `glassformer train`: train a model, or go on with a run."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Exit, Option

from ..data.files import STANDARD
from ..sizes import SIZES
from .options import AsJson, Device, with_options
from .terminal import INTERRUPTED, keep_apart, to_json

if TYPE_CHECKING:
    from ..config import Config
    from ..train import Summary

RECIPES = ("auto", "paper")
NAMES = (*RECIPES, *SIZES)
Words = Annotated[
    list[str] | None,
    Argument(
        metavar="RECIPE | PATH",
        help="auto chooses what is not set from the data and this machine, paper takes what the "
        "paper has; or a TOML file of settings; auto if not given. A size here is --size. Then the "
        "data, if without --data.",
    ),
]
Size = Annotated[
    str | None,
    Option(
        metavar="SIZE",
        help=f"{', '.join(SIZES)}; if not given, auto chooses one, and paper takes base.",
    ),
]
PAIRS = Option(
    metavar="PATH",
    help="Sentence pairs: a folder or prefix (DIR/train is DIR/train.en and DIR/train.de), a .tsv, "
    ".csv, .jsonl or .tmx file, a .zip of two text files, or two text files, --data twice, source "
    "first; - is the standard input.",
)
Data = Annotated[list[Path] | None, PAIRS]
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
From = Annotated[
    Path | None,
    Option(
        "--from",
        metavar="MODEL",
        help="Start from this model: its weights, tokens and settings, but a new schedule.",
    ),
]
NewTokenizer = Annotated[
    bool,
    Option(
        "--new-tokenizer",
        help="With --from: learn tokens of these data; those that MODEL knows keep their vectors.",
    ),
]
Freeze = Annotated[
    list[str] | None,
    Option(metavar="PART", help="Leave a part as it is, like encoder; again for each further one."),
]
Resume = Annotated[
    Path | None, Option(metavar="FOLDER", help="Go on where this run stopped; needs nothing else.")
]
RESUMING = {
    "accept_changed_data": Annotated[
        bool | None,
        Option(
            "--accept-changed-data",
            help="With --resume: learn from the data as they are now, though they were others.",
        ),
    ],
    "accept_changed_settings": Annotated[
        bool | None,
        Option(
            "--accept-changed-settings",
            help="With --resume: the settings that changed, in --set or the run, are meant.",
        ),
    ],
}
Quiet = Annotated[bool, Option("--quiet", "-q", help="Say nothing on the way.")]


@with_options(RESUMING)
def train(
    context: Context,
    words: Words = None,
    size: Size = None,
    data: Data = None,
    source_lang: SourceLang = None,
    target_lang: TargetLang = None,
    out: Out = None,
    valid: Valid = None,
    minutes: Minutes = None,
    changes: Changes = None,
    parent: From = None,
    new_tokenizer: NewTokenizer = False,
    freeze: Freeze = None,
    resume: Resume = None,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train a model on sentence pairs of your own. Ctrl-C saves it, --resume goes on.

    The recipe auto chooses what is not set, from the data and this machine, and says why.

    \b
    glassformer train my-folder --source-lang en --target-lang de --out my-model
    glassformer train train.en train.de --size small --source-lang en \\
        --target-lang de --minutes 60 --out my-model
    glassformer train paper my-folder --size tiny --out my-model
    glassformer train my-other-folder --from my-model --minutes 10 --out other
    glassformer train --resume my-model
    """
    began = time.perf_counter() - time.process_time()  # --minutes include the imports
    recipe, files = part_words(words or (), data)
    data = join_data(files, data)
    changes = [*(changes or ()), *([f"train.freeze={json.dumps(freeze)}"] if freeze else ())]
    asked = (source_lang, target_lang, minutes, changes)
    how: dict[str, Any] = {"device": device, "quiet": quiet, "began": began}
    accepted: dict[str, Any] = {name: bool(context.params[name]) for name in RESUMING}
    if resume:
        _refuse(recipe, size, data, out, valid, source_lang, target_lang, minutes, parent)
        _refuse(new_tokenizer)
        from .. import train as training

        summary = training.resume(resume, changes=changes, **accepted, **how)
    else:
        _refuse_without(parent, new_tokenizer, accepted)
        if not (data and out):
            raise ValueError("train needs --data and --out, or --resume alone")
        keep_apart(None, *data, *(valid or ()))
        if parent:
            config = read_parent(parent, size or recipe, *asked)
        else:
            config = read_recipe(recipe, *asked, size=size)
        from .. import train as training

        how |= {"valid": valid or None, "parent": parent, "new_tokens": new_tokenizer}
        summary = training.train(config, data, out, **how)
    _tell(summary, as_json)


def part_words(words: Sequence[str], data: Sequence[Path] | None) -> tuple[str | None, list[Path]]:
    """Return the recipe, None if there is none, and the files after it."""
    first, rest = (words[0] if words else None), words[1:]
    is_recipe = first in NAMES or Path(first or "").suffix == ".toml" or len(rest) > 1
    if first is None or is_recipe or data or not is_data(Path(first)):
        return first, [Path(word) for word in rest]
    return None, [Path(word) for word in words]


def is_data(path: Path) -> bool:
    """Return whether a file, a folder or a prefix of files exists."""
    beginning = f"{path.name}."
    return (
        path == STANDARD
        or path.exists()
        or (
            path.parent.is_dir()
            and any(p.name.startswith(beginning) for p in path.parent.iterdir())
        )
    )


def join_data(files: Sequence[Path] | None, data: Sequence[Path] | None) -> list[Path]:
    """Return the data, given as files or with --data; ValueError if both are given."""
    if files and data:
        raise ValueError(f"{files[0]} and --data {data[0]}: give the data in one of these ways")
    return [*(files or data or ())]


def _tell(summary: Summary, as_json: bool) -> None:
    if summary.is_first:  # of several processes, only the first prints
        print(to_json(summary.to_json()) if as_json else summary.text)
    if not summary.is_finished:
        raise Exit(INTERRUPTED)  # so that a command after "&&" does not get an unfinished model


def _refuse(*settings: object) -> None:
    if any(settings):
        raise ValueError("--resume takes everything from the run itself: leave all out but --set")


def _refuse_without(parent: Path | None, new_tokenizer: bool, accepted: dict[str, Any]) -> None:
    """Raise ValueError for options that have no effect without --from or --resume."""
    if new_tokenizer and not parent:
        raise ValueError("--new-tokenizer has no effect without --from")
    for name, given in accepted.items():
        if given:
            raise ValueError(f"--{name.replace('_', '-')} has no effect without --resume")


def read_recipe(
    recipe: str | None,
    source_lang: str | None,
    target_lang: str | None,
    minutes: float | None,
    changes: Sequence[str],
    size: str | None = None,
) -> Config:
    """Return the settings of a recipe or a TOML file, overridden by those of the command line.

    A size in the place of `recipe` is that size of the recipe auto.
    """
    from ..config import Config

    changes = _lay_on_top(source_lang, target_lang, minutes, changes)
    if size and size not in SIZES:
        raise ValueError(f"--size {size}: {_suggest(size, SIZES)}")
    if recipe in SIZES:
        if size:
            raise ValueError(f"{recipe} and --size {size} both say how large: give one of them")
        recipe, size = "auto", recipe
    if recipe and Path(recipe).is_file() and recipe not in RECIPES:
        config = Config.load(recipe, [*([f"size={size}"] if size else ()), *changes])
    elif recipe is None or recipe in RECIPES:
        chosen = recipe or "auto"
        fallback = "base" if chosen == "paper" else "auto"
        config = Config.read({"recipe": chosen, "size": size or fallback}, changes)
    else:
        hint = _suggest(recipe, NAMES)
        raise ValueError(f"{recipe} is no recipe, no size, and no TOML file that is there; {hint}")
    return _limit(config, minutes)


def _suggest(name: str, names: Collection[str]) -> str:
    near = get_close_matches(name, names, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"


def read_parent(
    parent: Path,
    recipe: str | None,
    source_lang: str | None,
    target_lang: str | None,
    minutes: float | None,
    changes: Sequence[str],
) -> Config:
    """Return the settings of a model, overridden by those of the command line."""
    if recipe:
        raise ValueError(f"--from keeps the settings of {parent}: leave {recipe} out, use --set")
    from ..train.init_from import inherit

    config = inherit(parent, _lay_on_top(source_lang, target_lang, minutes, changes))
    return _limit(config, minutes)


def _lay_on_top(
    source_lang: str | None, target_lang: str | None, minutes: float | None, changes: Sequence[str]
) -> list[str]:
    if minutes is not None and any(change.startswith("train.steps") for change in changes):
        raise ValueError("--minutes and --set train.steps both say when to stop: give one of them")
    langs = {"source_lang": source_lang, "target_lang": target_lang}
    return [*(f"data.{name}={lang}" for name, lang in langs.items() if lang), *changes]


def _limit(config: Config, minutes: float | None) -> Config:
    return config.changed(train={"minutes": minutes, "steps": None}) if minutes else config
