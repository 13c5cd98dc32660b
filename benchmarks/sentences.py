"""Count the wrong cuts of the sentence splitter on treebanks of Universal Dependencies.

    python -m benchmarks sentences UD_French-GSD/fr_gsd-ud-test.conllu [FILE ...]

The language is the start of a file's name. Sentences of a paragraph, or eight in a row where there
are none, are one text. A false cut is one within a sentence; a missed one is not made behind a
sentence that ends with a mark. Sentences without a mark, as titles are, count for neither.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from glassformer.text.sentences import split_sentences

from .tables import tell_table

MOST = 1_500  # sentences of a file
TOGETHER = 8
UNSPACED = ("ja", "zh")
TEXT, BREAK = re.compile(r"^# text = (.+)$", re.MULTILINE), re.compile(r"^# new(?:par|doc)\b", re.M)
ENDED = re.compile(r"[.!?…。！？؟।॥։;·][\"'”’»)\]』」]*$")


class Sentence(NamedTuple):
    """A sentence of a treebank: its text, and whether a paragraph begins with it."""

    text: str
    is_first: bool


class Cuts(NamedTuple):
    """How many sentences, false cuts, ends with a mark, and missed ones of these there are."""

    sentences: int
    false: int
    ends: int
    missed: int


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")


def main(options: argparse.Namespace) -> None:
    rows = []
    for path in options.files:
        language = re.split(r"[_-]", path.name)[0]
        cuts = count_cuts([*read_treebank(path)][:MOST], language)
        if not cuts.sentences:
            raise ValueError(f"{path} has no sentences with a line like # text = ...")
        false, missed = cuts.false / cuts.sentences, cuts.missed / max(1, cuts.ends)
        rows.append([path.stem, f"{cuts.sentences:,}", f"{1000 * false:.0f}", f"{missed:.1%}"])
    print(tell_table(["treebank", "sentences", "false cuts in 1,000", "missed"], rows))


def read_treebank(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of a file in CoNLL-U."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        if match := TEXT.search(block):
            yield Sentence(match[1].strip(), bool(BREAK.search(block)))


def group(sentences: Sequence[Sentence]) -> Iterator[list[str]]:
    """Yield the sentences that stand in one text."""
    texts = list[str]()
    for text, is_first in sentences:
        if texts and (is_first or len(texts) == TOGETHER):
            yield texts
            texts = []
        texts.append(text)
    if texts:
        yield texts


def count_cuts(sentences: Sequence[Sentence], language: str) -> Cuts:
    """Return what the splitter does with sentences that are written one behind the other."""
    false = ends = missed = 0
    for texts in group(sentences):
        text, bounds, gap = "", dict[int, str](), "" if language in UNSPACED else " "
        for each in texts:
            text += each
            bounds[len(text)] = each
            text += gap
        found = {end for _, end in split_sentences(text.rstrip(), language)}
        marked = {end for end, each in bounds.items() if ENDED.search(each)} - {max(bounds)}
        false += len(found - bounds.keys())
        ends += len(marked)
        missed += len(marked - found)
    return Cuts(len(sentences), false, ends, missed)
