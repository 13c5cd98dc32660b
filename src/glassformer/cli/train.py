"""glassformer train"""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Exit, Option

from ..sizes import SIZES
from .options import AsJson, Device, with_options
from .terminal import INTERRUPTED, to_json

if TYPE_CHECKING:
    from ..config import Config
    from ..train import Summary

ALL_SIZES = ("auto", *SIZES)
Recipe = Annotated[
    str | None,
    Argument(
        metavar="RECIPE",
        help=f"A size ({', '.join(ALL_SIZES)}) or a TOML file of settings; auto if not given.",
    ),
]
PAIRS = Option(
    metavar="PATH",
    help="Sentence pairs: a folder or prefix (DIR/train is DIR/train.en and DIR/train.de), a .tsv, "
    ".csv, .jsonl or .tmx file, a .zip of two text files, or two text files, --data twice, source "
    "first.",
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
        help="Start from this model: its weights, pieces and settings, but a new schedule.",
    ),
]
NewTokenizer = Annotated[
    bool,
    Option(
        "--new-tokenizer",
        help="With --from: learn pieces of these data; those that MODEL knows keep their vectors.",
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
    recipe: Recipe = None,
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

    The size auto chooses what is not set, from the data and this machine, and says why.

    \b
    glassformer train --source-lang en --target-lang de --data my-folder --out my-model
    glassformer train small --source-lang en --target-lang de --minutes 60 \\
        --data train.en --data train.de --out my-model
    glassformer train --from my-model --data my-other-folder --out my-other-model --minutes 10
    glassformer train --resume my-model
    """
    changes = [*(changes or ()), *([f"train.freeze={json.dumps(freeze)}"] if freeze else ())]
    asked = (source_lang, target_lang, minutes, changes)
    how: dict[str, Any] = {"device": device, "quiet": quiet}
    accepted: dict[str, Any] = {name: bool(context.params[name]) for name in RESUMING}
    if resume:
        _refuse(recipe, data, out, valid, source_lang, target_lang, minutes, parent, new_tokenizer)
        from .. import train as training

        summary = training.resume(resume, changes=changes, **accepted, **how)
    else:
        _refuse_without(parent, new_tokenizer, accepted)
        if not (data and out):
            raise ValueError("train needs --data and --out, or --resume alone")
        config = read_parent(parent, recipe, *asked) if parent else read_recipe(recipe, *asked)
        from .. import train as training

        how |= {"valid": valid or None, "parent": parent, "new_pieces": new_tokenizer}
        summary = training.train(config, data, out, **how)
    _tell(summary, as_json)


def _tell(summary: Summary, as_json: bool) -> None:
    if summary.is_first:  # of several processes, one speaks
        print(to_json(summary.to_json()) if as_json else summary.text)
    if not summary.is_finished:
        raise Exit(INTERRUPTED)  # what comes after "&&" does not want half a model


def _refuse(*settings: object) -> None:
    if any(settings):
        raise ValueError("--resume takes everything from the run itself: leave all out but --set")


def _refuse_without(parent: Path | None, new_tokenizer: bool, accepted: dict[str, Any]) -> None:
    """What only --from or --resume makes use of."""
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
) -> Config:
    """The settings of a size or a TOML file, with those given at the command line on top."""
    from ..config import Config

    changes = _lay_on_top(source_lang, target_lang, minutes, changes)
    recipe = recipe or "auto"
    if recipe in ALL_SIZES:
        config = Config.read({"size": recipe}, changes)
    elif Path(recipe).is_file():
        config = Config.load(recipe, changes)
    else:
        near = get_close_matches(recipe, ALL_SIZES, 1)
        hint = f"did you mean {near[0]}?" if near else f"the sizes are {', '.join(ALL_SIZES)}"
        raise ValueError(f"{recipe} is neither a size nor a TOML file that is there; {hint}")
    return _limit(config, minutes)


def read_parent(
    parent: Path,
    recipe: str | None,
    source_lang: str | None,
    target_lang: str | None,
    minutes: float | None,
    changes: Sequence[str],
) -> Config:
    """The settings of a model, with those given at the command line on top."""
    if recipe:
        raise ValueError(f"--from keeps the settings of {parent}: leave {recipe} out, use --set")
    from ..train.parent import inherit

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
