"""The command `glassformer night`: all that helps with few pairs, within given minutes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from typer import Exit

from glassformer.cli.options import AS_JSON, DEVICE, arg, flag, opt
from glassformer.cli.terminal import INTERRUPTED, to_json, warn
from glassformer.cli.train import DATA
from glassformer.foundation.sizes import SIZES
from glassformer.text.spacing import name_base, read_language_names

if TYPE_CHECKING:
    from ...cluster.ray_calls import Cluster
    from ..state import NightRequest, NightState


def night(
    files: list[str] | None = arg(
        "SOURCE TARGET", f"The pairs: two text files, source first, or one path. {DATA.help}"
    ),
    out: Path = opt(
        "FOLDER",
        "Where everything goes; the model is in FOLDER/model.",
        "--out",
        "-o",
        default=...,
    ),
    source_lang: str | None = opt(
        "CODE", "The language to translate from; if not given, the ending of SOURCE: train.en."
    ),
    target_lang: str | None = opt("CODE", "The language to translate to, likewise."),
    minutes: float | None = opt("N", "The time for all of it, by the clock.", min=0.05),
    until: str | None = opt("HH:MM", "Instead: the time of day at which it is done, as 07:00."),
    mono_source: Path | None = opt("FILE", "Text in the source language, a sentence a line."),
    mono_target: Path | None = opt(
        "FILE", "Text in the target language, a sentence a line: back-translations are made of it."
    ),
    parent: Path | None = opt(
        "MODEL",
        "A model to start from; if not given, a shipped one of the same source or target language "
        "and script, if there is one; none: the pairs alone.",
        "--from",
    ),
    valid: list[str] | None = opt("PATH", "Pairs to validate on; if not given, some are held out."),
    test: list[str] | None = opt(
        "PATH", "Pairs for the scores at the end, which nothing is chosen on; likewise."
    ),
    size: str | None = opt("SIZE", f"The size of the model: {', '.join(SIZES)}; else auto's."),
    seed: int = opt("N", "The seed of the first training; the others have the next.", default=1),
    changes: list[str] | None = opt(
        "KEY=VALUE", "A setting of each training, like text.vocabulary=4000.", "--set"
    ),
    remove_steps: bool = flag(
        "Remove the models and pairs of the single steps at the end.", "--remove-steps"
    ),
    workers: int | None = opt(
        "N", "Train up to so many models at a time with Ray, here or on a cluster.", min=1
    ),
    ray_address: str | None = opt(
        "ADDRESS", "The address of a Ray cluster whose machines all see these files."
    ),
    device: str = DEVICE,
    quiet: bool = flag("Do not print progress.", "--quiet", "-q"),
    as_json: bool = AS_JSON,
) -> None:
    """Train through a night: everything that helps with few pairs, as far as the time allows.

    It checks and splits the pairs, trains a model as `train` does, one of the other direction, and
    further ones on the pairs that these make; several teach one. What does not help on the
    validation text is left out, and each choice is said with its reason. After a stop or a kill,
    the same command goes on.

    \b
    glassformer night train.en train.de --out my-night --until 07:00
    glassformer night train.en train.de --out my-night --minutes 60 --mono-target more.de
    """
    from ..night import drop_steps
    from ..state import NightRequest, read_state

    if minutes is not None and until:
        raise ValueError("--minutes and --until both say how long it may take: give one of them")
    if not files and read_state(out) is None:
        raise ValueError(f"{out} holds no night to go on with: name the pairs, source first")
    if "-" in (files or ()):
        raise ValueError("a night reads its pairs again after a stop: name files, not -")
    langs = (
        (source_lang, target_lang) if not files else find_languages(files, source_lang, target_lang)
    )
    request = NightRequest(
        data=place(files),
        source_lang=langs[0] or "",
        target_lang=langs[1] or "",
        valid=place(valid),
        test=place(test),
        mono_source=str(mono_source.resolve()) if mono_source else None,
        mono_target=str(mono_target.resolve()) if mono_target else None,
        parent=name_model(parent) if parent else None,
        size=size,
        seed=seed,
        changes=changes or [],
    )
    if ray_address and not workers:
        raise ValueError("--ray-address needs --workers: how many trainings are made at a time")
    cluster = None
    if workers:
        from ...cluster.ray_calls import Cluster

        cluster = Cluster(workers, ray_address)
    state, model = run_night(out, request, minutes, until, device, quiet, cluster)
    if remove_steps:
        drop_steps(out, state)
    print_outcome(out, state, model, as_json)


def run_night(
    out: Path,
    request: NightRequest,
    minutes: float | None,
    until: str | None,
    device: str,
    quiet: bool,
    cluster: Cluster | None,
) -> tuple[NightState, Path]:
    """Begin a night or go on with it, to its end; return its state and its model."""
    from glassformer.foundation.progress import Reporter
    from glassformer.train.run.process import hold_lock

    from ..night import Night, StoppedNight
    from ..state import STEPS, begin_state, write_state

    with hold_lock(out / STEPS):
        state = begin_state(out, request, minutes, until)
        out.mkdir(parents=True, exist_ok=True)
        write_state(out, state)
        try:  # other machines, and a night that goes on from elsewhere, have the same paths
            return state, Night(out.resolve(), state, Reporter(quiet), device, cluster).run()
        except StoppedNight as error:
            print(error)
            raise Exit(INTERRUPTED) from None


def print_outcome(out: Path, state: NightState, model: Path, as_json: bool) -> None:
    """Print the scores and where the model is; or all that was done, as JSON."""
    from ..night import describe_state

    if as_json:
        print(to_json(describe_state(state) | {"model": str(model)}))
        return
    for each in state.outcome:
        print(f"{each[0].upper()}{each[1:]}")
    if state.unused:
        print(state.unused)
    print(f"The model is in {model}; {out / 'report.md'} says what was done, and why")


def place(paths: list[str] | None) -> list[str]:
    """Return paths as they are in any folder."""
    return [str(Path(each).resolve()) for each in paths or ()]


def name_model(model: Path) -> str:
    """Return a model as it is named in any folder: a path, or the name of an installed one."""
    return str(model.resolve() if model.exists() else model)


def find_languages(
    files: list[str], source_lang: str | None, target_lang: str | None
) -> tuple[str, str]:
    """Return the languages: as given, else the endings of two files. ValueError if unknown.

    Of a code that was given and is not known, warn.
    """
    if len(files) == 2 and Path(files[0]).resolve() == Path(files[1]).resolve():
        raise ValueError(f"{files[0]} is named twice: name the file of each language")
    ends = [Path(each.removesuffix(".gz")).suffix[1:] for each in files]
    if len(files) != 2:
        ends = ["", ""]
    known, options = read_language_names(), ("--source-lang", "--target-lang")
    languages, unknown = list[str](), list[str]()
    for option, code, end in zip(options, (source_lang, target_lang), ends, strict=True):
        languages.append(code or end)
        if code and name_base(code) not in known:
            warn(f"{option} {code} is no code that we know: the model is named by it all the same")
        elif not code and end not in known:
            unknown.append(f".{end} is no language code that we know" if end else "")
    if unknown:
        raise ValueError(
            "; ".join(
                [*dict.fromkeys(filter(None, unknown)), "say the two languages by their codes"]
            )
            + ": --source-lang az --target-lang en"
        )
    if len({known.get(each, (each,))[0] for each in languages}) == 1:
        raise ValueError(
            f"both languages are {' and '.join(dict.fromkeys(languages))}: name two, as by "
            "--source-lang az --target-lang en"
        )
    return languages[0], languages[1]
