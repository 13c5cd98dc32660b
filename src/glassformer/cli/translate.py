"""The command `glassformer translate`: a line of output for each line of input."""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Context

from ..data.files import STANDARD, cut_chunks, read_lines, split_member
from ..foundation.extensions import need_addition
from ..text.context import PrecedingLines, list_contexts
from . import decoding
from .options import (
    AS_JSON,
    DEVICE,
    ENSEMBLE,
    GLOSSARY,
    LM,
    LM_WEIGHT,
    MACHINE,
    MODEL,
    NO_GUARD,
    NO_SPLIT,
    OUTPUT,
    PRECISION,
    SEARCH,
    SEED,
    THREADS,
    TO,
    WORKERS,
    arg,
    flag,
    opt,
)
from .resumable import describe_job, open_resumable, say_where
from .terminal import (
    CHUNK,
    count_if_file,
    keep_apart,
    name_lines,
    open_lines,
    show_progress,
    to_json,
    warn,
)
from .verb import takes

if TYPE_CHECKING:
    from ..translate.options import SearchOptions
    from ..translate.sentence import CheckedTranslation
    from ..translator import Translator


MANY_MACHINES = "Many machines"
# The ending of documents whose lines are no text; .txt and .xml may be either.
DOCUMENTS = (
    *(".arb", ".docx", ".epub", ".htm", ".html", ".json", ".odp", ".odt", ".po", ".pot"),
    *(".pptx", ".resx", ".srt", ".strings", ".vtt", ".xhtml", ".xlf", ".xliff"),
)


@takes("decode")
def translate(
    context: Context,
    model: Path = MODEL,
    file: Path = arg(
        "FILE",
        "A text file with lines of any length, or a document, as with --file, if its ending is one "
        "such as .docx or .html; - is the standard input.",
        default=STANDARD,
    ),
    document: Path | None = opt(
        "FILE",
        "Translate a document and keep its markup: .docx, .html, .json, .po, .pptx, .srt, .txt, "
        ".vtt, .xliff and others; --output gets the same format.",
        "--file",
    ),
    output: Path | None = OUTPUT,
    overwrite: bool = flag(
        "Begin anew where a run that was stopped left an unfinished output. Without it, the same "
        "command goes on from there.",
        "--overwrite",
    ),
    to: str | None = TO,
    ensemble: list[Path] | None = ENSEMBLE,
    lm: Path | None = LM,
    lm_weight: float | None = LM_WEIGHT,
    glossary: Path | None = GLOSSARY,
    n_best: int | None = opt(
        "N",
        "Print the N best: number of the line, score and translation, separated by tabs.",
        panel=SEARCH,
        min=1,
    ),
    prefix_file: Path | None = opt(
        "FILE",
        "A file with the words with which the translation of each line must begin.",
        panel=SEARCH,
    ),
    alignment: bool = flag(
        "Print after each translation a tab and its alignment: 2-1 links source word 2 and target "
        "word 1, counted from 0; punctuation marks count as words.",
        "--alignment",
        panel=SEARCH,
    ),
    confidence: bool = flag(
        "Print after each translation a tab and how sure the model is, 0 to 1.",
        "--confidence",
        panel=SEARCH,
    ),
    no_split: bool = NO_SPLIT,
    no_guard: bool = NO_GUARD,
    device: str = DEVICE,
    precision: str = PRECISION,
    threads: int | None = THREADS,
    workers: int | None = WORKERS,
    engine: str | None = opt(
        "ray",
        "Distribute shards of a file to workers, here or on a Ray cluster; a run that was stopped "
        "continues with the missing shards.",
        panel=MANY_MACHINES,
    ),
    ray_address: str | None = opt(
        "ADDRESS",
        "The address of a running cluster, or auto; without it, a cluster is started here.",
        panel=MANY_MACHINES,
    ),
    shard_lines: int | None = opt(
        "N", "Lines in a shard; 10,000 if not given.", panel=MANY_MACHINES, min=1
    ),
    seed: int | None = SEED,
    chunk: int | None = opt(
        "N",
        "Lines translated together; 1 answers each line at once. If not given, 1000, or 1 for "
        "input from a keyboard.",
        panel=MACHINE,
        min=1,
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Translate text: each line of input gives one line of output, in order.

    A line is translated sentence by sentence; a sentence that is longer than those of the
    training is translated clause by clause. White space stays. A model with
    a context also reads the lines before a line, up to an empty one.

    \b
    echo "The cat is on the mat." | glassformer translate my-model
    glassformer translate my-model book.en -o book.de --beam 8
    glassformer translate my-model --file letter.docx -o brief.docx
    """
    keep_apart(output, file, document, prefix_file)
    from ..model.files.directory import name_pair

    fields = {**context.params, "model": name_pair(model, to)}
    if document is None and file.suffix.lower() in DOCUMENTS:
        document, fields["file"] = file, STANDARD
    if document:
        need_addition("translate_file", "a document")(document, output, fields)
    elif is_cluster_wanted(fields):
        need_addition("translate_shards", "--engine ray")(fields)
    else:
        translate_lines(fields)


def is_cluster_wanted(options: Mapping[str, Any]) -> bool:
    """Return whether --engine ray is given; ValueError for another engine."""
    if options["engine"] not in (None, "ray"):
        raise ValueError(f"--engine {options['engine']}: the only engine to name is ray")
    return options["engine"] == "ray"


def translate_lines(settings: Mapping[str, Any]) -> None:
    """Translate a file or the standard input as the options say, chunk by chunk."""
    check_is_no_text(settings["file"])
    file, form = settings["file"], {name: settings[name] for name in ("n_best", "as_json")}
    size = settings["chunk"] or (1 if file == STANDARD and sys.stdin.isatty() else CHUNK)
    with open_lines(file) as lines:
        translator = decoding.load_translator(settings["model"], settings)
        options = decoding.choose_options(translator.config, settings)
        is_native = not options.decode.beyond_native
        if settings["precision"] == "auto" and is_native and translator.precision != "fp32":
            print(f"precision {translator.precision}", file=sys.stderr)
        total, job = count_if_file(file), describe_job(settings)
        with (
            open_resumable(settings["output"], job, settings["overwrite"]) as out,
            show_progress("translating", total, beside=out.file) as progress,
        ):
            say_where(out.lines)
            progress(out.lines)
            options = options._replace(progress=progress)
            pairs = join_prefixes(lines, settings["prefix_file"])
            most = translator.reader.context
            before = [text for text, _ in deque(islice(pairs, out.lines), most)]
            extend = choose_extras(translator, settings)
            in_parts: list[int] = []
            flagged = decoding.FlagCounts()
            for line, text, checked in translate_chunks(
                translator, cut_chunks(pairs, size), options, done=out.lines, before=before
            ):
                flagged.add(checked)
                in_parts += [line] if any(each.kind == "parts" for each in checked.problems) else []
                shown = tell_line(line, text, checked, translator.precision, **form)
                print(extend(shown, text, checked), file=out.file)
                if line % size == 0 or line == total:
                    out.keep(line)
        if in_parts:
            warn(f"{name_lines(in_parts)} is too long to be translated whole: it was split")
        if flagged.said and not settings["as_json"]:
            warn(f"{flagged.said}: --json says which")


def check_is_no_text(file: Path) -> None:
    """Raise ValueError for what looks like a text, where the name of a file belongs."""
    if " " in str(file) and not os.path.exists(file) and not split_member(file):
        raise ValueError(
            f"there is no file “{file}”; if it is a text, pass it on: "
            f'echo "{file}" | glassformer translate MODEL'
        )


def join_prefixes(lines: Iterator[str], file: Path | None) -> Iterator[tuple[str, str]]:
    """Yield each line with the prefix of its translation; "" leaves it free.

    Raise ValueError if the file of prefixes has not one line for each.
    """
    if file is None:
        yield from ((line, "") for line in lines)
        return
    for line, prefix in zip_longest(lines, read_lines(file)):
        if line is None or prefix is None:
            which = "more" if line is None else "fewer"
            raise ValueError(f"{file} has {which} lines than the text; it needs one for each")
        yield line, prefix


def translate_chunks(
    translator: Translator,
    chunks: Iterable[list[tuple[str, str]]],
    options: SearchOptions,
    *,
    done: int = 0,
    before: Iterable[str] = (),
) -> Iterator[tuple[int, str, CheckedTranslation]]:
    """Yield the number of each line, the line, and its checked translations, chunk by chunk.

    For a model with a context, lines in a row are one document. done: the number of lines
    before the first; before: the last of these.
    """
    document = PrecedingLines(translator.reader.context)
    for text in before:
        document.add(text)
    for chunk in chunks:
        texts, prefixes = map(list, zip(*chunk, strict=True))
        checked = translator.checker.translate_texts(
            texts,
            options,
            prefixes=prefixes,
            contexts=[*list_contexts(texts, document)],
            first_line=done,
        )
        yield from zip(count(done + 1), texts, checked, strict=False)
        done += len(chunk)


def choose_extras(
    translator: Translator, options: Mapping[str, Any]
) -> Callable[[str, str, CheckedTranslation], str]:
    """Return a function that adds the alignment, and the confidence, to a line of output.

    It is called with the line, the source and its translations. JSON has the confidence anyway.
    """
    if not (options["alignment"] or options["confidence"]):
        return lambda shown, text, checked: shown
    from ..model.files.directory import locate
    from ..translate.align.alignments import Alignments
    from ..translate.writing import as_text

    alignments, folder = Alignments(), locate(options["model"])

    def extend(shown: str, text: str, checked: CheckedTranslation) -> str:
        columns: dict[str, object] = {}
        if options["confidence"] and not options["as_json"]:
            columns["confidence"] = f"{checked.confidence:.4f}"
        if options["alignment"]:
            (links,) = translator.writer.align(alignments, folder, [as_text(text, checked)])
            columns["alignment"] = " ".join(f"{s}-{t}" for s, t, _ in sorted(links))
        if options["as_json"]:
            return to_json({**json.loads(shown), **columns})
        return "\t".join([shown, *map(str, columns.values())])

    return extend


def tell_line(
    line: int,
    text: str,
    checked: CheckedTranslation,
    precision: str,
    *,
    n_best: int | None,
    as_json: bool,
) -> str:
    """Return the translation only; with n_best, lines with number, score and text; or JSON."""
    if as_json:
        return spell_translation(text, checked, n_best, precision)
    if n_best is None:
        return checked.best[0].text
    return "\n".join(f"{line}\t{each.score:.4f}\t{each.text}" for each in checked.best)


def spell_translation(
    text: str, checked: CheckedTranslation, n_best: int | None, precision: str
) -> str:
    """Return the best translation and its problems; with n_best, also all translations.

    It is JSON; spans are [start, end].
    """
    named = [{"translation": each.text, **each._asdict()} for each in checked.best]
    for each in named:
        del each["text"]
        each["parts"] = [part._asdict() for part in each["parts"]]
    several = {"n_best": named} if n_best else {}
    about = {"precision": precision, **checked.to_json(), **several}
    return to_json({"source": text, **named[0], **about})
