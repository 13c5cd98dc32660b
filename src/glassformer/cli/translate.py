"""glassformer translate"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ..data.files import read_lines
from . import search as s
from .options import AsJson, Device, Model, Output, Precision
from .terminal import (
    CHUNK,
    STANDARD,
    count_if_file,
    cut,
    open_lines,
    open_output,
    show_progress,
    to_json,
)

if TYPE_CHECKING:
    from ..translator import Translation

File = Annotated[
    Path, Argument(metavar="FILE", help="Text, one sentence a line; - is the standard input.")
]
NBest = Annotated[
    int,
    Option(
        metavar="N",
        min=1,
        help="Print the N best: number of the line, score, translation, with tabs between.",
        rich_help_panel=s.SEARCH,
    ),
]
PrefixFile = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="How each translation has to begin, one a line.",
        rich_help_panel=s.SEARCH,
    ),
]
Chunk = Annotated[
    int | None,
    Option(
        metavar="N",
        min=1,
        help="Lines translated together; 1 answers each at once. 1000, or 1 for a keyboard.",
        rich_help_panel="Machine",
    ),
]


def translate(
    model: Model,
    file: File = STANDARD,
    output: Output = None,
    n_best: NBest = 1,
    search: s.Search = None,
    beam: s.Beam = None,
    penalty: s.Penalty = None,
    alpha: s.Alpha = None,
    stop: s.Stop = None,
    min_length: s.MinLength = None,
    max_ratio: s.MaxRatio = None,
    max_extra: s.MaxExtra = None,
    no_repeat: s.NoRepeat = None,
    prefix_file: PrefixFile = None,
    temperature: s.Temperature = None,
    top_k: s.TopK = None,
    top_p: s.TopP = None,
    seed: s.Seed = None,
    device: Device = "auto",
    precision: Precision = "auto",
    chunk: Chunk = None,
    as_json: AsJson = False,
) -> None:
    """Translate text: a line out for each line in, in order.

    \b
    echo "The cat is on the mat." | glassformer translate my-model
    glassformer translate my-model book.en -o book.de --beam 8
    """
    given = {
        "search": search, "beam": beam, "penalty": penalty, "alpha": alpha, "stop": stop,
        "min_length": min_length, "max_ratio": max_ratio, "max_extra": max_extra,
        "no_repeat": no_repeat, "temperature": temperature, "top_k": top_k, "top_p": top_p,
        "seed": seed, "n_best": n_best if n_best > 1 else None,
    }  # fmt: skip
    from ..translator import Translator

    size = chunk or (1 if file == STANDARD and sys.stdin.isatty() else CHUNK)
    with open_lines(file) as lines:
        translator = Translator.load(model, device=device, precision=precision)
        decode = s.choose_search(translator.config, given)
        write = write_json(translator.precision, n_best) if as_json else write_text(n_best)
        total, line = count_if_file(file), 0
        with open_output(output) as out, show_progress("translating", total, beside=out) as tell:
            for pairs in cut(join_prefixes(lines, prefix_file), size):
                texts, prefixes = map(list, zip(*pairs, strict=True))
                found = translator.search(
                    texts, decode=decode, n_best=n_best, prefixes=prefixes, seed=seed or 0,
                    first_line=line, progress=tell,
                )  # fmt: skip
                for text, best in zip(texts, found, strict=True):
                    line += 1
                    out.write(write(line, text, best))
                out.flush()


def join_prefixes(lines: Iterator[str], file: Path | None) -> Iterator[tuple[str, str]]:
    """Each line, and how its translation has to begin: "" is anyhow."""
    if file is None:
        yield from ((line, "") for line in lines)
        return
    for line, prefix in zip_longest(lines, read_lines(file)):
        if line is None or prefix is None:
            count = "more" if line is None else "fewer"
            raise ValueError(f"{file} has {count} lines than the text; it needs one for each")
        yield line, prefix


Writer = Callable[[int, str, "list[Translation]"], str]  # number of the line, source, best


def write_text(n_best: int) -> Writer:
    """The translation and nothing else; or, of several, which line and how good."""
    if n_best == 1:
        return lambda number, source, best: f"{best[0].text}\n"
    return lambda number, source, best: "".join(
        f"{number}\t{each.score:.4f}\t{each.text}\n" for each in best
    )


def write_json(precision: str, n_best: int) -> Writer:
    """A line of JSON: the best translation and, if several were asked for, all of them."""

    def write(number: int, source: str, best: list[Translation]) -> str:
        shown = {"source": source, **name(best[0]), "precision": precision}
        if n_best > 1:
            shown["n_best"] = [name(each) for each in best]
        return to_json(shown) + "\n"

    def name(found: Translation) -> dict[str, Any]:
        fields = asdict(found)
        return {"translation": fields.pop("text"), **fields}

    return write
