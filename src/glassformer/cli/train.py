"""The command `glassformer train`: train a model, or go on with a run."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from typer import Context, Exit

from ..data.files import STANDARD
from ..foundation.extensions import need_addition
from ..foundation.sizes import SIZES
from ..model.files.directory import RUN
from .options import AS_JSON, CHANGES, DEVICE, arg, flag, opt
from .terminal import INTERRUPTED, keep_apart, to_json, warn
from .verb import find_typed, takes

if TYPE_CHECKING:
    from ..config import Config
    from ..train import Summary
    from ..train.seeds import SeedsSummary

T = TypeVar("T")
# The codes of ISO 639-1, which files of text end in.
LANGUAGES = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de
dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id
ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu
lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu
rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr
ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
RECIPES = ("auto", "paper")
NAMES = (*RECIPES, *SIZES)

DATA = opt(
    "PATH",
    "Sentence pairs: a folder or prefix (DIR/train is DIR/train.en and DIR/train.de), a .tsv, "
    ".csv, .jsonl or .tmx file, a .zip of two text files, or two text files (--data twice, source "
    "first); - is the standard input.",
)
# What may be given besides --resume, and what says when a training stops.
RESUMING = {"resume", "changes", "accept_changed_data", "accept_changed_settings"}
RESUMING |= {"forget", "device", "quiet", "as_json", "plugin"}
ENDS = ("minutes", "steps", "epochs")


@takes("data", "train", "text", "model")
def train(
    context: Context,
    words: list[str] | None = arg(
        "RECIPE | PATH",
        "First the recipe: auto chooses what you do not set, from the data and this machine; "
        "paper takes the defaults; or a TOML file of settings. If not given, auto. A size "
        "here means --size. Then the data, unless --data gives them.",
    ),
    size: str | None = opt(
        "SIZE", f"{', '.join(SIZES)}; if not given, auto chooses one, and paper takes base."
    ),
    data: list[str] | None = opt(
        "PATH",
        f"{DATA.help} Several are mixed: --data news --data web:3 has each pair of web 3 times an "
        "epoch; --data bt,weight=0.5,tag=bt,langs=de-en,name=made shows all options.",
    ),
    out: Path | None = opt("FOLDER", "Where the model goes."),
    valid: list[str] | None = opt(
        "PATH",
        "Pairs to validate on, given like --data; if not given, some of the data are held out.",
    ),
    changes: list[str] | None = CHANGES,
    parent: Path | None = opt(
        "MODEL",
        "Start from this model: its weights, tokens and settings, but a new schedule.",
        "--from",
    ),
    new_tokenizer: bool = flag(
        "With --from: learn a new vocabulary from these data; tokens that MODEL knows keep their "
        "vectors.",
        "--new-tokenizer",
    ),
    init_from: list[Path] | None = opt(
        "MODEL",
        "Start from the parts that this model also has (the encoder, the decoder or the tables of "
        "a language model), and from its tokens; give it again for each further model.",
        "--init-from",
    ),
    alignments: Path | None = opt(
        "FILE",
        "Word alignments of the data, a line for each pair, as `align` writes them: with "
        "--alignment-weight, one head learns them.",
    ),
    lm_prior: Path | None = opt(
        "MODEL",
        "With --prior-weight: a language model of the target language, under which translations "
        "should be likely; the new model uses its tokens.",
    ),
    teacher: list[Path] | None = opt(
        "MODEL",
        "Learn from this model's translations of the sources instead of the targets: distillation; "
        "again for each further one, and they translate together, as an ensemble.",
    ),
    subwords: list[Path] | None = opt(
        "FILE",
        "The vocabulary: a SentencePiece model, or the BPE codes of subword-nmt or fastBPE; twice, "
        "with --no-shared: source, then target.",
    ),
    seeds: int | None = opt(
        "N",
        "Train N models, with consecutive seeds from --seed on, in OUT/seed-1 and so on, and "
        "print the mean and the spread of their scores.",
        min=1,
    ),
    test: list[str] | None = opt(
        "PATH", "With --seeds: pairs on which each model is scored at the end, given like --data."
    ),
    resume: Path | None = opt("FOLDER", "Continue where this run stopped; needs no other option."),
    accept_changed_data: bool = flag(
        "With --resume: train on the data as they are now, even if they have changed.",
        "--accept-changed-data",
    ),
    accept_changed_settings: bool = flag(
        "With --resume: accept that settings have changed, in --set or in the run.",
        "--accept-changed-settings",
    ),
    forget: bool = flag(
        "When it has ended, remove what the training keeps beside the model, the text among it: "
        "--resume and taught then no longer work.",
        "--forget",
    ),
    device: str = DEVICE,
    quiet: bool = flag("Do not print progress.", "--quiet", "-q"),
    as_json: bool = AS_JSON,
) -> None:
    """Train a model on sentence pairs of your own. Ctrl-C saves it, --resume continues.

    The recipe auto chooses what you do not set, from the data and this machine, and says why.

    \b
    glassformer train my-folder --source-lang en --target-lang de --out my-model
    glassformer train train.en train.de --size small --source-lang en \\
        --target-lang de --minutes 60 --out my-model
    glassformer train paper train.en train.de --size tiny --out my-model
    glassformer train my-other-folder --from my-model --minutes 10 --out other
    glassformer train text.en --network decoder --out my-language-model
    glassformer train --resume my-model
    """
    began = time.perf_counter() - time.process_time()  # --minutes include the imports
    now: dict[str, Any] = {"device": device, "quiet": quiet, "began": began}
    now |= {"hooks": context.obj} if context.obj else {}
    go = _resume if resume else _begin
    summary = go(context.params, find_typed(context), now)
    if summary.is_first:  # of several processes, only the first prints
        print(to_json(summary.to_json()) if as_json else summary.text)
    if not summary.is_finished:
        raise Exit(INTERRUPTED)  # so that a command after "&&" does not get an unfinished model
    if forget and summary.is_first:
        clear = need_addition("forget_training", "--forget")
        for folder in (summary.out, *sorted(summary.out.glob("seed-*"))):
            if (folder / RUN).is_dir():
                warn(f"{folder / RUN} is removed: it had {clear(folder)}")


def _begin(
    settings: Mapping[str, Any], typed: Mapping[str, Any], now: Mapping[str, Any]
) -> Summary | SeedsSummary:
    """Begin a training, or those of several seeds; `now` is what is not stored of the options."""
    changes, init_from, out = (
        settings["changes"] or (),
        settings["init_from"] or (),
        settings["out"],
    )
    recipe, files = part_words(settings["words"] or (), settings["data"])
    texts = join_data([str(path) for path in files], settings["data"])
    if recipe and not texts and not (recipe in NAMES or Path(recipe).suffix == ".toml"):
        raise ValueError(f"{recipe}: no file, folder or recipe of that name is there")
    config = choose_config(recipe, settings["size"], settings["parent"], typed, changes, init_from)
    config = name_languages(config, texts)
    has_data = texts or any(each.paths for each in config.data.corpus)
    if missing := [*(["--data"] * (not has_data)), *(["--out"] * (not out))]:
        alone = ", or --resume alone" if len(missing) > 1 else ""
        raise ValueError(f"train needs {' and '.join(missing)}{alone}")
    keep_apart(None, *map(Path, (*texts, *(settings["valid"] or ()))))
    if settings["parent"] and init_from:
        raise ValueError("--from takes a model whole, --init-from takes parts: give one")
    from .. import train as training

    valid = settings["valid"] or None
    options = {name: settings[name] for name in ("parent", "alignments", "lm_prior")}
    options |= {"new_tokens": settings["new_tokenizer"], "init_from": init_from}
    options |= {"subwords": settings["subwords"] or (), "teachers": settings["teacher"] or ()}
    if not settings["seeds"]:
        return training.train(config, texts, out, valid=valid, **options, **now)
    tests = {"valid": valid, "test": settings["test"], "how": options}
    return training.train_seeds(config, texts, out, settings["seeds"], **tests, **now)


def _resume(
    options: Mapping[str, Any], typed: Mapping[str, Any], now: Mapping[str, Any]
) -> Summary | SeedsSummary:
    """Resume a training, or those of several seeds, which take no changes."""
    if typed.keys() - RESUMING:
        raise ValueError(
            "--resume takes everything from the run itself: leave all out, and change settings "
            "with --set, as in --set train.steps=9000"
        )
    from .. import train as training
    from ..train.seeds import has_seeds

    out, changes = options["resume"], options["changes"] or ()
    accepted = {name: options[name] for name in ("accept_changed_data", "accept_changed_settings")}
    if not has_seeds(out):
        return training.resume(out, changes=changes, **accepted, **now)
    if changes:
        raise ValueError(
            f"{out} holds several seeds: --set is for one, as in --resume {out}/seed-1"
        )
    return training.resume_seeds(out, **accepted, **now)


def part_words(
    words: Sequence[str], data: Sequence[Path | str] | None
) -> tuple[str | None, list[Path]]:
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


def join_data(files: Sequence[T] | None, data: Sequence[T] | None) -> list[T]:
    """Return the data, given as files or with --data; ValueError if both are given."""
    if files and data:
        raise ValueError(f"{files[0]} and --data {data[0]}: give the data in one of these ways")
    return [*(files or data or ())]


def name_languages(config: Config, files: Sequence[str]) -> Config:
    """Return settings with the languages that two files end in, if no setting names one.

    So the validation text may be a prefix, and sentences are split and marks written as in these
    languages.
    """
    data = config.data
    if len(files) != 2 or data.source_lang or data.target_lang:
        return config
    codes = [Path(file.removesuffix(".gz")).suffix[1:] for file in files]
    if codes[0] == codes[1] or not {*LANGUAGES.split()} >= {*codes}:
        return config
    return config.changed(data=dict(zip(("source_lang", "target_lang"), codes, strict=True)))


def choose_config(
    recipe: str | None,
    size: str | None,
    parent: Path | None,
    typed: Mapping[str, Any],
    changes: Sequence[str],
    init_from: Sequence[Path] = (),
) -> Config:
    """Return the settings of a recipe or of a parent, overridden by those that the user typed.

    --minutes or --steps replaces what the recipe or the parent says of the end.
    """
    ends = {name: typed[name] for name in ENDS if name in typed}
    ends_named = [*(f"--{name}" for name in ends)]
    ends_named += [
        f"--set train.{name}"
        for name in ENDS
        if any(change.startswith(f"train.{name}=") for change in changes)
    ]
    if ends and len(ends_named) > 1:
        raise ValueError(
            f"{ends_named[0]} and {ends_named[1]} both say when to stop: give one of them"
        )
    from .settings import write_changes

    changes = [*write_changes(typed, but=ENDS), *changes]
    if parent:
        config = read_parent(parent, size or recipe, changes)
    else:
        config = read_recipe(recipe, changes, size, init_from)
    return config.changed(train={**dict.fromkeys(ENDS), **ends}) if ends else config


def read_recipe(
    recipe: str | None,
    changes: Sequence[str],
    size: str | None = None,
    init_from: Sequence[Path] = (),
) -> Config:
    """Return the settings of a recipe or a TOML file, overridden by those of the command line.

    A size in the place of `recipe` is that size of the recipe auto. What is not given is as in the
    models that the training is to begin with.
    """
    from ..config import Config

    if size and size not in SIZES:
        raise ValueError(f"--size {size}: {_suggest(size, SIZES)}")
    if recipe in SIZES:
        if size:
            raise ValueError(f"{recipe} and --size {size} both say how large: give one of them")
        recipe, size = "auto", recipe
    if recipe and Path(recipe).is_file() and recipe not in RECIPES:
        if Path(recipe).suffix not in ("", ".toml"):
            data = "data are a folder, a table or two text files, and others go with --data"
            raise ValueError(f"{recipe} is no file of settings, whose name ends in .toml; {data}")
        return Config.load(recipe, [*([f"size={size}"] if size else ()), *changes])
    if recipe is None or recipe in RECIPES:
        chosen = recipe or "auto"
        fallback = "base" if chosen == "paper" else "auto"
        raw = {"recipe": chosen, "size": size or fallback}
        if init_from:
            from ..train.plan.init_from import inherit_shape

            raw = inherit_shape(init_from, raw, changes)
        return Config.read(raw, changes)
    if Path(recipe).suffix not in ("", ".toml"):
        from ..data.corpus import require_file

        require_file(Path(recipe))
    hint = _suggest(recipe, NAMES)
    raise ValueError(f"{recipe} is no recipe, no size, and no TOML file that is there; {hint}")


def _suggest(name: str, names: Collection[str]) -> str:
    near = get_close_matches(name, names, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"


def read_parent(parent: Path, recipe: str | None, changes: Sequence[str]) -> Config:
    """Return the settings of a model, overridden by those of the command line."""
    if recipe:
        raise ValueError(f"--from keeps the settings of {parent}: leave {recipe} out, use --set")
    from ..train.plan.init_from import inherit

    return inherit(parent, changes)
