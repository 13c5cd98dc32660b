"""The sentences of a file on which a model is measured."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.terminal import name_lines, warn

if TYPE_CHECKING:
    from glassformer.translator import Translator


def read_sentences(source: Path, most: int, translator: Translator) -> list[str]:
    """Return the first lines of a file, without empty ones and those too long for the model.

    The latter are warned of. ValueError if none is left.
    """
    from glassformer.foundation.disk import read_text
    from glassformer.see.tokens import read_source

    numbered = enumerate(read_text(source).split("\n"), 1)
    lines = {number: line for number, line in numbered if line.strip()}
    lines = dict(islice(lines.items(), most))
    if not lines:
        raise ValueError(f"{source}: there is no sentence in it")
    longest = translator.reader.longest
    too_long = [n for n, line in lines.items() if len(read_source(translator, line)) > longest]
    if too_long:
        message = f"{source}: {name_lines(too_long)} is too long for this model"
        if len(too_long) == len(lines):
            raise ValueError(message)
        warn(f"{message}: left out")
    return [line for number, line in lines.items() if number not in too_long]
