"""The command `glassformer demo`: translate with a shipped model, then train one and test it."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Exit

from glassformer.cli.options import DEVICE, flag, opt
from glassformer.cli.terminal import INTERRUPTED
from glassformer.foundation.extensions import need_addition
from glassformer.foundation.machine.extras import need

if TYPE_CHECKING:
    from glassformer.translator import Translator

    from ..corpus import ExamMark

NAME = "demo"
SETTINGS = {
    "size": "tiny",
    "model": {"norm": "pre", "encoder_layers": 3, "decoder_layers": 3, "dropout": 0.0},
    "text": {"vocabulary": 2000, "split_above": 64},  # no sentence has more tokens
    "data": {"source_lang": "en", "target_lang": "fr"},
    "train": {
        "steps": 1800,  # with seeds 1 to 3 the exam was passed after 1,440, 1,328 and 1,440
        "batch_tokens": 1024,
        "optimizer": "muon",
        "learning_rate": 0.008,
        "warmup": 100,
        "schedule": "linear",
        "ema": 0.98,
        "best_by": "loss",
    },
    "decode": {"search": "greedy"},
}
MORE = 400  # updates, each time that the exam is not passed
ABOUT_IT = """
The first two differ in one adjective, and it alone says whether `it` is the animal, il, or the
street, elle. The model never saw either of them."""

PLACE = "glassformer-demo"


def demo(
    out: Path | None = opt(
        "FOLDER",
        f"Where the pairs and the model go; {PLACE}, or {PLACE}-2 and so on, if not given.",
    ),
    minutes: float = opt("N", "Train no longer than this many minutes.", min=0, default=30.0),
    train: bool = flag(
        "Train a model too, or only use the shipped one.", "--train/--no-train", default=True
    ),
    look: bool | None = flag(
        "Open the app in a browser at the end; if not given, only on a screen that has a browser.",
        "--open/--no-open",
        default=None,
    ),
    device: str = DEVICE,
) -> None:
    """Translate with a shipped model, then train one on built-in sentences.

    It trains until the model passes an exam, a few minutes; it soon says how many.

    \b
    glassformer demo
    """
    out = out or find_free()
    if train and out.exists():
        raise ValueError(f"{out} is there already: delete it, or choose another --out")
    from glassformer.model.files.directory import SHIPPED
    from glassformer.translator import Translator

    print(f"The model that comes with glassformer, {NAME}, translates English to French:\n")
    show_notes(Translator.load(SHIPPED / NAME, device=device))
    print(ABOUT_IT)
    if train:
        train_own(out, minutes, device)
        print(f"\nThe sentences are in {out / 'pairs'}, the model is {out / 'model'}.")
    say_what_is_next(out / "model" if train else None)
    if can_open_browser() if look is None else look:
        show_app([*([out / "model"] if train else []), NAME], out / "model" if train else None)


def find_free() -> Path:
    """Return the first of PLACE, PLACE-2 and so on that does not exist."""
    places = (Path(PLACE if number == 1 else f"{PLACE}-{number}") for number in count(1))
    return next(place for place in places if not place.exists())


def show_notes(translator: Translator, *, with_sources: bool = True) -> None:
    """Print the example sentences about the Transformer, and the model's translations."""
    from ..corpus import read_corpus

    notes = read_corpus().notes
    for source, translation in zip(notes, translator.translate(list(notes)), strict=True):
        if with_sources:
            print(source)
        print(
            f"    {translation}"
            if translation in notes[source]
            else f"    {translation}    (wrong)",
            flush=True,
        )


def train_own(out: Path, minutes: float, device: str) -> None:
    """Train a model and print what it can translate then."""
    from ..corpus import has_passed, read_corpus, write_pairs

    pairs = read_corpus().pairs
    count = len(pairs["train"])
    print(f"\nNow one of your own, of {count:,} other pairs: {tell_goal()}", flush=True)
    write_pairs(out / "pairs", ("en", "fr"), pairs)
    own, marks = learn(out, minutes, device)
    print("\nYour own model says:\n")
    show_notes(own, with_sources=False)
    print(f"\n{tell_exam(*marks)}")
    if not has_passed(*marks):
        print(
            f"The {minutes:g} minutes are over, and there is more to learn. To go on:\n"
            f"  {find_program()} train --resume {out / 'model'}"
        )


def learn(out: Path, minutes: float, device: str) -> tuple[Translator, tuple[ExamMark, ExamMark]]:
    """Train until the exam is passed or time is up; return the model and its marks."""
    from glassformer import train as training
    from glassformer.config import Config
    from glassformer.translator import Translator

    from ..corpus import has_passed, rehearse, take_exam

    model = out / "model"
    goal = training.Goal(lambda own: rehearse(own.translate), minutes)
    config = Config.read(SETTINGS)
    summary = training.train(config, [out / "pairs"], model, device=device, goal=goal)
    while summary.is_finished:
        own = Translator.load(model, device=device)
        marks = take_exam(own.translate)
        if has_passed(*marks) or goal.is_out_of_time:
            return own, marks
        print(f"{tell_exam(*marks)}\nNot quite yet: {MORE} more updates.", flush=True)
        goal.is_reached = False
        summary = training.resume(
            model,
            changes=[f"train.steps={summary.progress.step + MORE}"],
            accept_changed_settings=True,
            device=device,
            goal=goal,
        )
    print(summary.text)
    raise Exit(INTERRUPTED)


def tell_goal() -> str:
    """Return a sentence that says when the training ends."""
    from ..corpus import GOAL

    exact, resolved = (f"{100 * share:g} %" for share in GOAL)
    return f"it learns until {exact} of new sentences and {resolved} of new riddles are right"


def tell_exam(exact: ExamMark, resolved: ExamMark) -> str:
    return (
        f"New sentences translated right, letter by letter:  {exact}\n"
        f"New riddles of `it` with the right il or elle:     {resolved}"
    )


def say_what_is_next(own: Path | None) -> None:
    program = find_program()
    print("\nGo on with sentences of your own:\n")
    for model in (own, NAME) if own else (NAME,):
        print(f'  echo "The dog is tired." | {program} translate {model}')
    print(f"  {program} info {NAME}")
    print(f"  {program} serve {NAME}")
    print("\nFor everyday English there is everyday-en-fr; demo-fr-en and demo-en-zh are here too.")
    print(f"Your own language: {program} train --help")


def find_program() -> str:
    """Return how the user can call this command line from the current folder."""
    if shutil.which("glassformer"):
        return "glassformer"
    python = Path(sys.executable)
    near = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    return f"{near} -m glassformer"


def can_open_browser() -> bool:
    """Return whether a user at a terminal has a browser, and the server is installed."""
    if os.environ.get("CI") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    import webbrowser

    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return find_spec("fastapi") is not None


def show_app(models: list[Path | str], runs: Path | None) -> None:
    """Serve the models and open the page in a browser; return when the server ends."""
    import webbrowser
    from threading import Timer

    need("fastapi")
    open_app = need_addition("open_app", "the app")

    def show(address: str) -> None:
        print(f"\nSee inside at {address}\nCtrl-C ends.", flush=True)
        Timer(0.5, webbrowser.open, [address]).start()

    open_app(models, runs, show)
