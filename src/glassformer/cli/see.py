"""The command `glassformer see`: the numbers and pictures of one translation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Context

from ..foundation.extensions import need_addition
from . import decoding
from .effects import refuse
from .language import is_language_model
from .options import AS_JSON, DEVICE, EXACT, SEARCH, SEED, arg, check_choice, flag, opt
from .terminal import to_json, warn
from .verb import spell_typed, takes

if TYPE_CHECKING:
    from ..see import EditEffect, Trace
    from ..see.recording import RecordKeywords

FORMS = ("text", "latex", "numpy")
PICTURES = "Pictures"
HEAD = "trace.json"  # a folder with this file is a saved trace


@takes("decode")
def see(
    context: Context,
    model: Path = arg("MODEL", "The folder of a trained model, or of a saved trace.", default=...),
    text: str | None = arg("TEXT", "A text in the source language."),
    sentence: int | None = opt(
        "N", "Which sentence of the text; 0, the default, is the first, -1 the last."
    ),
    cell: str | None = opt(
        "NAME[i,j,k]", "Explain how one number was computed; an index of -1 is the last."
    ),
    form: str = opt(
        "text|latex|numpy", "The form of the explanation of --cell, if not --json.", default="text"
    ),
    layer: int | None = opt("N", "Draw this layer; 0 is the first, -1 the last."),
    head: int | None = opt("N", "Draw this head; 0 is the first, -1 the last."),
    top: int = opt("N", "How many alternative tokens to show at each step.", min=0, default=3),
    edit: list[str] | None = opt(
        "FILE|cut:WORD",
        "Change the network or the input: a file of edits in JSON, or cut:WORD, a source word "
        "that the decoder may not read. Repeatable.",
        "--edit",
    ),
    save: Path | None = opt("FOLDER", "Save the recording here, to open it again with `see`."),
    compact: bool = flag("Save fp16 rather than fp32.", "--compact"),
    parameters: bool = flag(
        "Save the model's weights with the recording, so that --cell works.", "--parameters"
    ),
    level: str = opt(
        "attention|states|everything", "How much of the network to record.", default="everything"
    ),
    target: str | None = opt("TEXT", "Look inside this translation, not the model's own."),
    prefix: str | None = opt(
        "TEXT", "The words with which the translation must begin.", panel=SEARCH
    ),
    hypothesis: int | None = opt(
        "N", "Look inside this finished hypothesis; 0 is the best.", panel=SEARCH, min=0
    ),
    seed: int | None = SEED,
    picture: str | None = opt("Vnn", "Draw this picture.", panel=PICTURES),
    gallery: Path | None = opt(
        "FOLDER", "Draw all pictures into this folder, with a page that shows them.", panel=PICTURES
    ),
    slides: Path | None = opt(
        "FILE", "Write a deck of the best pictures, with notes: .pptx, .pdf.", panel=PICTURES
    ),
    film: Path | None = opt(
        "FILE",
        "Write a film of twelve animations, from the text to the translation: .mp4, .gif.",
        panel=PICTURES,
    ),
    query: str | None = opt("TOKEN", "Draw what this token reads.", panel=PICTURES),
    option: list[str] | None = opt(
        "NAME=VALUE",
        "Set another option of the picture, like subject=rate. Repeatable.",
        panel=PICTURES,
    ),
    lang: str | None = opt("en|zh", "The language of the words in pictures.", panel=PICTURES),
    output: Path | None = opt(
        "FILE", "The file of the picture: .svg, .pdf, .png, .gif.", "--output", "-o", panel=PICTURES
    ),
    device: str = DEVICE,
    precision: str = EXACT,
    as_json: bool = AS_JSON,
) -> None:
    """Look inside one translation: explain its numbers, draw it, or change the network.

    \b
    glassformer see my-model "The cat is on the mat."
    glassformer see my-model "The cat is on the mat." --cell "memory[3,0]"
    glassformer see my-model "The cat is on the mat." --picture V49 -o cat.svg
    glassformer see my-model "The cat is on the mat." --picture V112 --cell "memory[3,0]"
    glassformer see my-model "The cat is on the mat." --film cat.mp4
    glassformer see my-model "The cat is on the mat." --edit cut:cat
    """
    options = context.params
    check_see_options(options, spell_typed(context))
    trace, changed = obtain(options)
    say_which(trace, changed, options)
    if save:
        trace.save(save, compact=compact, parameters=parameters)
        warn(f"saved in {save}")
    answer(trace, changed, options)


def answer(trace: Trace, changed: EditEffect | None, options: dict[str, Any]) -> None:
    """Print what was asked for: the cell, the pictures or the summary."""
    if options["cell"] is not None and not options["picture"]:
        print(tell_one_cell(trace, options["cell"], options["form"], options["as_json"]))
    elif is_picture_wanted(options):
        need_addition("draw_typed_pictures", "a picture")(trace, options)
    else:
        print(tell_trace(trace, changed, options))


def is_picture_wanted(options: dict[str, Any]) -> bool:
    return any(options[name] is not None for name in ("picture", "gallery", "slides", "film"))


def say_which(trace: Trace, changed: EditEffect | None, options: dict[str, Any]) -> None:
    """Warn which sentence of a longer text was recorded, unless the answer says it."""
    from ..see.summary import tell_sentence

    is_summary = not (
        changed or options["as_json"] or options["cell"] or is_picture_wanted(options)
    )
    if not is_summary and (sentence := tell_sentence(trace)):
        warn(sentence)


def check_see_options(options: dict[str, Any], typed: set[str]) -> None:
    """Raise ValueError for a wrong value, or an option that has no effect.

    typed: the options that the user gave, and the names of the arguments.
    """
    refuse("see", typed, "inside one translation")
    for name in ("text", "target", "prefix"):
        check_text_length(options[name], name)
    check_choice("form", options["form"], FORMS)
    if (options["model"] / HEAD).is_file():
        if options["text"] is not None or options["edit"]:
            folder = options["model"]
            raise ValueError(f"{folder} is a trace: it has its text, and no model to run again")
        refuse("see", typed, "on a saved trace")
    elif is_language_model(options["model"]):
        refuse("see", typed, "on a language model")
    if options["edit"] and not options["picture"]:
        refuse("see", typed, "on a comparison: add --picture")


def check_text_length(text: str | None, name: str) -> None:
    """Raise ValueError for bytes that are not UTF-8, which a shell may pass on."""
    try:
        (text or "").encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}: character {error.start} is no valid UTF-8") from None


def obtain(settings: dict[str, Any]) -> tuple[Trace, EditEffect | None]:
    """Return the recording and, with --edit, the effect of the edits; else None."""
    from ..see import Trace

    folder, text = settings["model"], settings["text"]
    if (folder / HEAD).is_file():
        return Trace.load(folder), None  # needs no torch, so it is fast
    if text is None:
        raise ValueError('there is no text to look into: glassformer see MODEL "A sentence."')
    if is_language_model(folder):
        return see_text(settings), None
    from ..see import compare_traces, record
    from ..translator import Translator

    edits = [edit for typed in settings["edit"] or () for edit in read_typed_edits(typed)]
    translator = Translator.load(folder, device=settings["device"], precision=settings["precision"])
    options: RecordKeywords = {"level": settings["level"], "target": settings["target"]}
    if settings["target"] is None:
        options["decode"] = decoding.choose_search(translator.config, settings)
        options["prefix"], options["seed"] = settings["prefix"] or "", settings["seed"] or 0
        options["hypothesis"] = settings["hypothesis"] or 0
        options["sentence"] = settings["sentence"] or 0
    if not settings["edit"]:
        return record(translator, text, **options), None
    changed = compare_traces(translator, text, edits, **dict(options))
    return changed.after, changed


def see_text(settings: dict[str, Any]) -> Trace:
    """Return the recording of one pass of a language model over the text."""
    from ..see.language import record_text
    from ..translate.language_model import LanguageModel

    options = {"device": settings["device"], "precision": settings["precision"]}
    reader = LanguageModel.load(settings["model"], **options)
    return record_text(reader, settings["text"], level=settings["level"])


def read_typed_edits(typed: str) -> list[dict[str, Any]]:
    """Return what one --edit says: a cut word, or the edits of a file."""
    from ..see.edit import read_edits

    kind, _, word = typed.partition(":")
    return [{"do": "cut", "word": word}] if kind == "cut" else read_edits(Path(typed))


def tell_trace(trace: Trace, changed: EditEffect | None, options: dict[str, Any]) -> str:
    """Return a summary of the recording, or the effect of the edits."""
    from ..see import summary

    if options["as_json"]:
        return to_json(changed.to_json() if changed else trace.to_json())
    if changed:
        return summary.tell_comparison(changed)
    return summary.summarise(trace, options["top"], options["layer"], options["head"])


def tell_one_cell(trace: Trace, cell: str, form: str, as_json: bool) -> str:
    from ..see.explain import read_cell
    from ..see.summary import tell_cell

    result = trace.explain(*read_cell(cell))
    if as_json:
        return to_json(result.to_json())
    if form == "text":
        return tell_cell(result)
    return result.to_latex() if form == "latex" else result.to_numpy()
