"""The command `glassformer why`: what makes a word likelier than another, as few edges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.options import AS_JSON, MODEL, TO, arg, check_choice, flag, opt
from glassformer.cli.terminal import show_progress, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from glassformer.see.trace import Trace
    from glassformer.translator import Translator

    from ..edges import WordContrast
    from ..methods import MethodTable
    from ..paths import Heads, PathTable
    from ..transfer import Measured
    from ..why import Why
    from ..words import OtherStep, WordChoice

BY = ("block", "head")


def why(
    model: Path = MODEL,
    text: str = arg("TEXT", "A sentence in the source language.", default=...),
    word: str = opt("WORD", "A word of the translation.", default=...),
    rival: str | None = opt(
        "WORD", "What it is compared with; if not given, the likeliest other token there."
    ),
    occurrence: int = opt(
        "N", "Which of several such words; 0 is the first, -1 the last.", default=0
    ),
    counterpart: str | None = opt(
        "TEXT",
        "A sentence with as many tokens whose right word is the rival; the edges outside the "
        "circuit carry what they carry in it.",
    ),
    sentences: Path | None = opt(
        "FILE",
        "Sentences in the source language, one a line, whose mean the edges outside carry; if not "
        "given, the model's own examples. With --methods: those on which a tuned lens is fitted.",
    ),
    contrast: str | None = opt(
        "TEXT",
        "With --methods: another translation, in which the rival stands at a place of its own.",
    ),
    pairs: Path | None = opt(
        "FILE",
        "Other sentences with right and wrong translations, like those of evaluate --contrastive, "
        "on which the circuit is measured; a column counterpart has a sentence with the other "
        "answer.",
    ),
    target: str | None = opt("TEXT", "Ask about this translation, not the model's own."),
    by: str = opt(
        "block|head",
        "What a node is: a block of attention, or a head, which reads by query, key and value.",
        default="block",
    ),
    keep: float = opt(
        "SHARE", "The share of the lead that a circuit keeps.", default=0.9, min=0.01, max=1.0
    ),
    methods: bool = flag(
        "Instead of a circuit, list which source word other methods name, and what is written "
        "with that word cut."
    ),
    path: str | None = opt(
        "'FROM -> TO'|all",
        "Instead of a circuit, measure what goes from one head to another directly, by its query, "
        "key and value: head 3 of a block is decoder.1.cross_attention.3; all lists the strongest.",
    ),
    picture: Path | None = opt("FILE", "Draw the first circuit here: .svg, .pdf, .png."),
    lang: str = opt("en|zh", "The language of the words in the picture.", default="en"),
    output: Path | None = opt("FILE", "Write all numbers here, as JSON.", "--output", "-o"),
    to: str | None = TO,
    as_json: bool = AS_JSON,
) -> None:
    """Say why a word of a translation is likelier than another: few edges that make it so.

    It adds up exactly what each word, position, neuron and bias does to the word's lead while
    attention, norms and gates stay as they are, and says what that hides. Then it searches for the
    fewest edges that keep 90 % of the lead, with all others replaced, and compares random ones.

    \b
    glassformer why my-model "The animal is tired." --word fatigué
    glassformer why my-model "The cat sleeps." --word Le --rival La --counterpart "The cow sleeps."
    glassformer why my-model "The cat sleeps." --word chat --methods
    glassformer why my-model "The cat sleeps." --word Le --counterpart "The cow sleeps." --path all
    """
    from glassformer.foundation.extensions import need_addition
    from glassformer.foundation.messages import LANGUAGES
    from glassformer.translator import Translator

    from ..report import tell_why
    from ..why import explain_word
    from ..words import ask_apart, ask_word

    check_choice("by", by, BY)
    check_choice("lang", lang, LANGUAGES)
    of_circuit = any((pairs, picture, by == "head", path and sentences))
    check_together(methods, path, contrast, rival, counterpart, of_circuit)
    translator = Translator.load(model, to, device="cpu", precision="fp32")
    trace = translator.see(text, level="attention", target=target)
    if contrast and rival:
        rivals = translator.see(text, level="attention", target=contrast)
        asked, other = ask_apart(trace, rivals, word, rival, occurrence)
        print_answer(*list_methods(translator, trace, asked, sentences, other), output, as_json)
        return
    asked = ask_word(trace, word, rival, occurrence, read_target_ids(translator, trace.text))
    if methods:
        print_answer(*list_methods(translator, trace, asked, sentences), output, as_json)
        return
    if path and counterpart:
        print_answer(*list_paths(translator, trace, asked, counterpart, path), output, as_json)
        return
    measured, left_out = read_pairs(translator, pairs) if pairs else (None, 0)
    with show_progress("searching", None) as tell:
        result = explain_word(
            trace,
            asked,
            counterpart=read_ids(translator, counterpart) if counterpart is not None else None,
            counterpart_text=counterpart,
            sentences=read_questions(translator, sentences),
            pairs=measured,
            left_out=left_out,
            by_head=by == "head",
            keep=keep,
            tick=tell,
        )
    print_answer(result, tell_why(result), output, as_json)
    if picture:
        need_addition("draw_circuit", "a picture")(result, picture, lang)


def check_together(
    methods: bool,
    path: str | None,
    contrast: str | None,
    rival: str | None,
    counterpart: str | None,
    of_circuit: bool,
) -> None:
    """Raise ValueError for options that do not belong together."""
    if methods and any((counterpart, path)):
        raise ValueError("--methods needs no counterpart: leave out --counterpart and --path")
    if contrast and not (methods and rival):
        raise ValueError("--contrast is for --methods, and needs a --rival that stands in it")
    if (methods or path) and of_circuit:
        name = "--methods" if methods else "--path"
        raise ValueError(f"{name} searches no circuit: leave out what is said of one")
    if path and not counterpart:
        raise ValueError("--path needs a --counterpart: what a head writes in that one is patched")


def list_methods(
    translator: Translator,
    trace: Trace,
    asked: WordChoice,
    sentences: Path | None,
    other: OtherStep | None = None,
) -> tuple[MethodTable, str]:
    """Return what methods name, and the same as text."""
    from ..lenses import fit_lens
    from ..methods import compare_methods, load_precise
    from ..report import tell_methods

    lens = None
    if sentences:
        lens = fit_lens(load_precise(trace), read_questions(translator, sentences))
    table = compare_methods(trace, asked, lens, other)
    return table, tell_methods(table)


def list_paths(
    translator: Translator, trace: Trace, asked: WordChoice, counterpart: str, path: str
) -> tuple[PathTable, str]:
    """Return what goes from one head to another, and the same as text."""
    from ..paths import patch_paths
    from ..report import tell_paths

    ids, heads = read_ids(translator, counterpart), read_path(path)
    table = patch_paths(trace, asked, ids, counterpart, heads)
    return table, tell_paths(table)


def read_path(written: str) -> list[Heads]:
    """Return the two heads of a path; none for "all". ValueError if there is no arrow."""
    if written == "all":
        return []
    sender, arrow, receiver = (each.strip() for each in written.partition("->"))
    if not (sender and arrow and receiver):
        raise ValueError(
            f"--path {written}: all, or two heads, like "
            "'encoder.1.self_attention.2 -> decoder.3.cross_attention.0'"
        )
    return [(sender, receiver)]


def print_answer(
    answer: Why | MethodTable | PathTable, text: str, output: Path | None, as_json: bool
) -> None:
    """Print an answer as text or as JSON, and write it to a file if one is given."""
    from glassformer.foundation.disk import write_json

    if output:
        write_json(output, answer.to_json())
    print(to_json(answer.to_json()) if as_json else text)


def read_pairs(translator: Translator, path: Path) -> tuple[list[Measured], int]:
    """Return the sentences of a file with their counterparts, and how many have none."""
    from ...lab.contrastive import read_contrastive
    from ..transfer import pair_up

    items = read_contrastive(path)
    measured = pair_up(translator, items)
    return measured, len(items) - len(measured)


def read_target_ids(translator: Translator, source: str) -> Callable[[str], list[int]]:
    """Return what makes the ids of a translation of this source, as the network writes them."""
    reader = translator.reader
    return lambda text: [*reader.begin, *reader.tokenize_target(source, text).ids]


def read_ids(translator: Translator, text: str) -> list[int]:
    """Return the ids of a sentence as the encoder reads it."""
    from glassformer.see.tokens import read_source

    source = read_source(translator, text)
    if len(source) < 2:
        raise ValueError("the counterpart has no words")
    return [each.id for each in source]


def read_questions(translator: Translator, path: Path | None) -> list[WordContrast]:
    """Return sentences of a file with their translations, or the model's own examples."""
    from glassformer.foundation.disk import read_text

    from ..examples import list_examples, record_questions

    if path is None:
        return record_questions(translator, list_examples(translator.weights.folder))
    texts = [line for line in read_text(path).split("\n") if line.strip()]
    if not texts:
        raise ValueError(f"{path}: there is no sentence in it")
    return record_questions(translator, texts)
