"""Comparison of the two sides line by line, by their words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from glassformer.data.files import cut_chunks
from glassformer.foundation.plurals import tell_count

from .lengths import correlate
from .lexicon import Lexicon, LexiconSide, Measures
from .offsets import (
    FEWEST,
    SMALL,
    choose_reach,
    drop_chance,
    find_offset_path,
    list_misalignments,
    weigh_lexicon,
    weigh_surface,
)
from .order import Misalignment, find_misalignments, guess_offsets
from .ragged import Array, Block, RaggedArray
from .words import Sample, Texts, Vocabulary, split_words

BLOCK = 5_000  # lines at a time
ENOUGH, COMPARED = 100, 5_000  # lines of a sample: with fewer, any result may be chance; the most
RELATED = 0.25  # lengths of partners correlate by 0.6 and more in 100 lines, others by 0 +- 0.1
LAST, SURE = 20, 40.0  # lines at the end; the nats that they need together to be partners


class SideWords:
    """The words of one side as numbers, collected block by block."""

    def __init__(self, sample: Sequence[Sequence[str]]) -> None:
        self.vocabulary = Vocabulary(sample)
        self.known: list[RaggedArray] = []
        self.rare: list[RaggedArray] = []
        self.lengths: list[Array] = []

    def add(self, texts: Sequence[str], words: Sequence[Sequence[str]]) -> None:
        known, rare = self.vocabulary.look_up(words)
        self.known.append(known)
        self.rare.append(rare)
        self.lengths.append(np.fromiter(map(len, texts), np.int32, len(texts)))

    def side(self) -> LexiconSide:
        """Return all lines that were collected, and forget them here to save memory."""
        side = LexiconSide(
            RaggedArray.stack(self.known),
            RaggedArray.stack(self.rare),
            np.concatenate(self.lengths),
        )
        self.known, self.rare, self.lengths = [], [], []
        return side


class PartnerComparison(NamedTuple):
    """The comparison of two sides: misalignments, and measures of lines of the same number."""

    misalignments: list[Misalignment]
    measures: Measures
    lexicon: Lexicon


def compare_partners(source: SideWords, target: SideWords) -> PartnerComparison:
    """Return the misalignments of two sides, and measures of the lines of the same number."""
    sides = source.side(), target.side()
    vocabularies = source.vocabulary, target.vocabulary
    sizes = len(vocabularies[0]), len(vocabularies[1])
    lines = np.arange(min(map(len, sides)))
    if not len(lines) >= FEWEST or len(sides[0]) > SMALL:
        lexicon = Lexicon(*sides, sizes, guess_offsets(sides[0].lengths, sides[1].lengths))
        straight = lexicon.measure(lines, lines)
        misalignments = find_misalignments(lexicon, straight.evidence)
        return PartnerComparison(misalignments, straight, lexicon)
    reach = choose_reach(*sides)
    surface = weigh_surface(*sides, vocabularies, reach)
    path = find_offset_path(surface)
    lexicon = Lexicon(*sides, sizes, path)
    if path.any():  # repetitive text may fit as well at any offset, by lengths and shared words
        unshifted = Lexicon(*sides, sizes, np.zeros_like(path))
        if unshifted.judge(lines, lines).sum() >= _judge_path(lexicon, path):
            lexicon = unshifted
    evidence = weigh_lexicon(lexicon, surface, path, reach)
    path = drop_chance(find_offset_path(evidence), surface, evidence)
    measures = lexicon.measure(lines, lines)
    return PartnerComparison(list_misalignments(path, evidence), measures, lexicon)


def are_unrelated(sample: Sample) -> bool:
    """Return whether neither the lengths nor the words of the two sides fit line by line.

    The words are compared only if the lengths do not fit, so this takes no time in good text.
    """
    lengths = [block.lengths for block in sample.blocks]
    if len(lengths[0]) < ENOUGH or correlate(*lengths) > RELATED:
        return False
    chosen = slice(None, None, -(-len(lengths[0]) // COMPARED))
    sides = [SideWords(words[chosen]) for words in sample.words]
    for side, texts, words in zip(sides, sample.texts, sample.words, strict=True):
        side.add(texts[chosen], words[chosen])
    sizes = len(sides[0].vocabulary), len(sides[1].vocabulary)
    source, target = (side.side() for side in sides)
    lines = np.arange(len(source))
    lexicon = Lexicon(source, target, sizes, np.zeros(len(lines), np.int64))
    return float(np.median(lexicon.judge(lines, lines))) <= 0


def fit_at_offsets(source: Array, target: Array, misalignments: Sequence[Misalignment]) -> bool:
    """Return whether the lengths of two sides fit where these misalignments say partners are."""
    partners = np.arange(len(source))
    for each in misalignments:
        partners[each.line :] = np.arange(each.line, len(source)) + each.offset
    inside = (partners >= 0) & (partners < len(target))
    return bool(misalignments) and correlate(source[inside], target[partners[inside]]) > RELATED


def explain_inequality(
    source: Texts, target: Texts, names: tuple[str, str] = ("the source", "the target")
) -> ValueError:
    """Return the error for sides of unequal length: both counts and the first misalignment."""
    sample = Sample(source, target)
    counts = sample.counts
    if 0 in counts:
        return ValueError(f"{names[counts.index(0)]}: the file is empty")
    sides = [SideWords(words) for words in sample.words]
    for side, texts in zip(sides, (source, target), strict=True):
        for block in cut_chunks(texts, BLOCK):
            side.add(block, split_words(Block(block)))
    misalignments, measures, _ = compare_partners(*sides)
    where = ""
    if misalignments:
        where = f"; {tell_misalignment(misalignments[0], names)}"
    elif measures.evidence[-LAST:].sum() > SURE:
        where = f"; they fit up to line {min(counts):,}, so the lines after it are too many"
    return ValueError(
        f"{names[0]} has {tell_count(counts[0], 'line')} but {names[1]} has {counts[1]:,}: "
        f"each line of one must translate the same line of the other{where}"
    )


def tell_misalignment(misalignment: Misalignment, names: Sequence[str]) -> str:
    """Return, in words, which lines have no partner; line numbers count from 1."""
    own, other = (names[0], names[1]) if misalignment.lost < 0 else (names[1], names[0])
    line = misalignment.line + 1 + (misalignment.before if misalignment.lost > 0 else 0)
    lines = f"line {line:,}"
    if abs(misalignment.lost) > 1:
        lines = f"lines {line:,} to {line + abs(misalignment.lost) - 1:,}"
    return f"{lines} of {own} without partner in {other}"


def _judge_path(lexicon: Lexicon, path: Array) -> float:
    """Return the evidence of all lines at the offsets of a path."""
    lines = np.arange(len(path))
    inside = (lines + path >= 0) & (lines + path < len(lexicon.target))
    return float(lexicon.judge(lines[inside], (lines + path)[inside]).sum())
