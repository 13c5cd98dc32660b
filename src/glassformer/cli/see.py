"""The command `glassformer see`: the numbers and pictures of one translation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Option

from . import decoding, drawing
from .options import AsJson, Device, Exact, check_exact, with_options
from .terminal import to_json, warn

if TYPE_CHECKING:
    from ..see import EditEffect, Trace

Seen = Annotated[
    Path, Argument(metavar="MODEL", help="The folder of a trained model, or of a saved trace.")
]
Text = Annotated[str | None, Argument(metavar="TEXT", help="A text in the source language.")]
Sentence = Annotated[
    int | None,
    Option(
        metavar="N", help="Which sentence of the text; 0 (if none is given) the first, -1 the last."
    ),
]
Cell = Annotated[
    str | None,
    Option(metavar="NAME[i,j,k]", help="Say how one number was made; -1 is the last."),
]
Form = Annotated[
    str, Option(metavar="text|latex|numpy", help="How --cell says it, if not as --json.")
]
Layer = Annotated[int | None, Option(metavar="N", help="Of this layer; 0 the first, -1 the last.")]
Head = Annotated[int | None, Option(metavar="N", help="Of this head; 0 the first, -1 the last.")]
Top = Annotated[int, Option(metavar="N", min=0, help="How many other tokens to show a step.")]
WhatIf = Annotated[
    Path | None, Option("--edit", metavar="FILE", help="What if: edits in JSON, before and after.")
]
Save = Annotated[
    Path | None, Option(metavar="FOLDER", help="Keep the recording, to be seen again.")
]
Compact = Annotated[bool, Option("--compact", help="Save fp16 rather than fp32.")]
Weights = Annotated[
    bool, Option("--parameters", help="Save the model's weights with it, so that --cell works.")
]
Target = Annotated[
    str | None, Option(metavar="TEXT", help="Look at this translation, not at the model's own.")
]
Prefix = Annotated[
    str | None,
    Option(
        metavar="TEXT", help="How the translation has to begin.", rich_help_panel=decoding.SEARCH
    ),
]
Hypothesis = Annotated[
    int | None,
    Option(
        metavar="N",
        min=0,
        help="Look at another hypothesis that ended; 0 the best.",
        rich_help_panel=decoding.SEARCH,
    ),
]
Level = Annotated[
    str,
    Option(metavar="attention|states|everything", help="How much of the network to record."),
]
FORMS = ("text", "latex", "numpy")
HEAD = "trace.json"  # a folder with this file is a saved trace
# RUNNING: options that only a new recording uses. IN_VAIN: those that an option makes void.
RUNNING = {
    "sentence",
    "level",
    "target",
    "prefix",
    "hypothesis",
    "device",
    "precision",
    *decoding.OPTIONS,
}
IN_VAIN = {
    "cell": {"picture", "gallery", "layer", "head", "top"},
    "picture": {"as_json", "top"},
    "gallery": {"as_json", "top", "layer", "head"},
    "as_json": {"layer", "head", "top", "form"},
    "edit": {"top"},
}


@with_options(decoding.OPTIONS | drawing.OPTIONS)
def see(
    context: Context,
    model: Seen,
    text: Text = None,
    sentence: Sentence = None,
    cell: Cell = None,
    form: Form = "text",
    layer: Layer = None,
    head: Head = None,
    top: Top = 3,
    edit: WhatIf = None,
    save: Save = None,
    compact: Compact = False,
    parameters: Weights = False,
    level: Level = "everything",
    target: Target = None,
    prefix: Prefix = None,
    hypothesis: Hypothesis = None,
    device: Device = "auto",
    precision: Exact = "fp32",
    as_json: AsJson = False,
) -> None:
    """Look inside one translation: every number of it, and what if.

    \b
    glassformer see my-model "The cat is on the mat."
    glassformer see my-model "The cat is on the mat." --cell "memory[3,0]"
    glassformer see my-model "The cat is on the mat." --picture V49 -o cat.svg
    glassformer see my-model "The cat is on the mat." --edit silence-a-head.json
    """
    given = context.params
    check_see_options(given, {name for name in given if _is_typed(context, name)})
    trace, changed = obtain(given)
    tell_which(trace, changed, given)
    if save:
        trace.save(save, compact=compact, parameters=parameters)
        warn(f"saved in {save}")
    answer(trace, changed, given)


def _is_typed(context: Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def answer(trace: Trace, changed: EditEffect | None, given: dict[str, Any]) -> None:
    """Print what was asked for: the cell, the pictures or the summary."""
    if given["cell"] is not None:
        print(show_cell(trace, given["cell"], given["form"], given["as_json"]))
    elif drawing.is_picture_wanted(given):
        drawing.draw_what_is_wanted(trace, given)
    else:
        print(show_trace(trace, changed, given))


def tell_which(trace: Trace, changed: EditEffect | None, given: dict[str, Any]) -> None:
    """Warn which sentence of a longer text was recorded, unless the answer says it."""
    from ..see.summary import tell_sentence

    is_summary = not (
        changed or given["as_json"] or given["cell"] or drawing.is_picture_wanted(given)
    )
    if not is_summary and (told := tell_sentence(trace)):
        warn(told)


def check_see_options(given: dict[str, Any], typed: set[str]) -> None:
    """Raise ValueError for a wrong value, or an option that has no effect.

    typed: the names of the options that the user gave.
    """
    for name in ("text", "target", "prefix"):
        check_text_length(given[name], name)
    if given["form"] not in FORMS:
        raise ValueError(f"--form {given['form']}: one of {', '.join(FORMS)}")
    if given["form"] != "text" and given["cell"] is None:
        raise ValueError("--form has no effect without --cell")
    for name in ("compact", "parameters"):
        if given[name] and not given["save"]:
            raise ValueError(f"--{name} has no effect without --save")
    drawing.check_pictures(given)
    if (given["model"] / HEAD).is_file():
        if "text" in typed or "edit" in typed:
            folder = given["model"]
            raise ValueError(f"{folder} is a trace: it has its text, and no model to run again")
        _refuse(typed & RUNNING, "on a saved trace")
    for asked, in_vain in IN_VAIN.items():
        if asked in typed:
            _refuse(typed & in_vain, f"with {_spell(asked)}")
    if "edit" in typed and not given["picture"]:
        _refuse(typed & {"layer", "head"}, "on a comparison: add --picture")


def check_text_length(text: str | None, name: str) -> None:
    """Raise ValueError for bytes that are not UTF-8, which a shell may pass on."""
    try:
        (text or "").encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}: character {error.start} is no valid UTF-8") from None


def _refuse(names: set[str], where: str) -> None:
    """Raise ValueError that names the first of these options, if there is any."""
    for name in sorted(names):
        raise ValueError(f"{_spell(name)} has no effect {where}")


def _spell(name: str) -> str:
    """Return an option as it is typed."""
    return "--json" if name == "as_json" else "--" + name.replace("_", "-")


def obtain(given: dict[str, Any]) -> tuple[Trace, EditEffect | None]:
    """Return the recording and, with --edit, the effect of the edits; else None."""
    from ..see import Trace

    folder, text = given["model"], given["text"]
    if (folder / HEAD).is_file():
        return Trace.load(folder), None  # needs no torch, so it is fast
    if text is None:
        raise ValueError('there is no text to look into: glassformer see MODEL "A sentence."')
    if given["target"] is not None:
        _check_unsought(given)
    from ..see import compare_traces, record
    from ..see.edit import read_edits
    from ..translator import Translator

    edits = read_edits(given["edit"]) if given["edit"] else None

    translator = Translator.load(
        folder, device=given["device"], precision=check_exact(given["precision"])
    )
    how: dict[str, Any] = {"level": given["level"], "target": given["target"]}
    if given["target"] is None:
        how["decode"] = decoding.choose_search(translator.config, given)
        how |= {"prefix": given["prefix"] or "", "seed": given["seed"] or 0}
        how |= {name: given[name] or 0 for name in ("hypothesis", "sentence")}
    if edits is None:
        return record(translator, text, **how), None
    changed = compare_traces(translator, text, edits, **how)
    return changed.after, changed


def _check_unsought(given: dict[str, Any]) -> None:
    """Raise ValueError for an option of the search, since --target makes none."""
    from ..config import Decode

    searching = (*Decode.model_fields, "prefix", "hypothesis", "seed", "sentence")
    if vain := [name for name in searching if given.get(name) is not None]:
        raise ValueError(f"--{vain[0].replace('_', '-')} has no effect with --target")


def show_trace(trace: Trace, changed: EditEffect | None, given: dict[str, Any]) -> str:
    """Return a summary of the recording, or the effect of the edits."""
    from ..see import summary

    if given["as_json"]:
        return to_json(changed.to_json() if changed else trace.to_json())
    if changed:
        return summary.tell_comparison(changed)
    return summary.summarise(trace, given["top"], given["layer"], given["head"])


def show_cell(trace: Trace, cell: str, form: str, as_json: bool) -> str:
    from ..see.summary import tell_cell

    found = trace.explain(*read_cell(cell))
    if as_json:
        return to_json(found.to_json())
    if form == "text":
        return tell_cell(found)
    return found.to_latex() if form == "latex" else found.to_numpy()


def read_cell(cell: str) -> tuple[str, tuple[int, ...]]:
    """Return name and index of a cell, which is written `NAME[i,j,k]`."""
    found = re.fullmatch(r"\s*([^\[\]]+)\[\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]\s*", cell)
    if not found:
        raise ValueError(f"--cell {cell}: write it as NAME[i,j,k], such as memory[0,3]")
    return found[1], tuple(map(int, found[2].split(",")))
