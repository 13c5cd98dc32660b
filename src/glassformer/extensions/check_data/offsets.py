"""Alignment of a small corpus: a search for the offset between the sides at each line.

A path has one offset for each source line, and each change has a cost. It is found by dynamic
programming (Viterbi) over evidence, offsets x lines. The first path uses the evidence of lengths
and of words that both sides have, such as names, numbers and cognates; the second also that of a
lexicon which is learned along the first path.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from .lengths import fit_lengths
from .lexicon import Lexicon, LexiconSide
from .order import FARTHEST, REACH, Misalignment, find_split
from .ragged import Array
from .words import Vocabulary

SMALL = 20_000  # lines: the evidence of so many fits into memory
FEWEST = 30  # lines; with fewer, any result may be chance
CHANGE = 25.0  # nats by which the lines after a change must fit better
OUTSIDE = -3.0  # nats where the target has no line
CLEAREST = 6.0  # the most nats of one line
COGNATE = 4  # the fewest letters of a word that counts as the same on both sides
SHARED = 0.3  # how often a word that both sides have is in the partner line, by a guess
PARTNERS = 0.1  # nats a line from the surface alone: partners have mostly 0.3, others 0
NEAR = 2  # offsets tried with the lexicon, below and above each of the first path
WINDOW = 30  # lines before and after a change in which its best line is searched for

Vocabularies = tuple[Vocabulary, Vocabulary]


def choose_reach(source: LexiconSide, target: LexiconSide) -> int:
    """Return how many lines one side may be ahead of the other."""
    lines = min(len(source), len(target))
    return min(REACH + abs(len(source) - len(target)), FARTHEST, lines // 3)


def weigh_surface(
    source: LexiconSide, target: LexiconSide, vocabularies: Vocabularies, reach: int
) -> Array:
    """Return the evidence of lengths and shared words, by offset from -reach and source line."""
    words = list(_share_words(source, target, vocabularies))
    offsets = np.zeros(len(source), np.int64)
    for _ in range(2):  # the spread of lengths is known only once the lines are beside each other
        evidence = _weigh_lengths(source, target, offsets, reach)
        for ours, theirs in words:
            weight = min(np.log(SHARED * len(target) / len(theirs)), CLEAREST - 2)
            offset = theirs - ours[:, None]
            row, column = np.nonzero(np.abs(offset) <= reach)
            np.add.at(evidence, (offset[row, column] + reach, ours[row]), max(weight, 0.0))
        evidence = np.minimum(evidence, CLEAREST)
        offsets = find_offset_path(evidence)
    return evidence


def _weigh_lengths(source: LexiconSide, target: LexiconSide, offsets: Array, reach: int) -> Array:
    """Return the evidence of lengths, with their ratio as it is along the path of `offsets`."""
    partners = np.arange(len(source)) + offsets
    inside = (partners >= 0) & (partners < len(target))
    mean, spread, usual = fit_lengths(source.lengths[inside], target.lengths[partners[inside]])
    spread = min(spread, 0.9 * usual)
    ours, theirs = (np.log(side.lengths + 3.0) for side in (source, target))
    evidence = np.full((2 * reach + 1, len(source)), OUTSIDE)
    for offset in range(-reach, reach + 1):
        lines = _lines_inside(source, target, offset)
        ratio = theirs[lines + offset] - ours[lines] - mean
        gain = 0.5 * ratio**2 * (usual**-2 - spread**-2) + np.log(usual / spread)
        evidence[offset + reach, lines] = np.clip(gain, OUTSIDE, -OUTSIDE)
    return evidence


def _lines_inside(source: LexiconSide, target: LexiconSide, offset: int) -> Array:
    """Return the source lines that have a target line at this offset."""
    return np.arange(max(0, -offset), max(0, -offset, min(len(source), len(target) - offset)))


def _share_words(
    source: LexiconSide, target: LexiconSide, vocabularies: Vocabularies
) -> Iterator[tuple[Array, Array]]:
    """Yield, for each word that both sides have, its lines on either side."""
    numbers = [vocabulary.numbers for vocabulary in vocabularies]
    stems = [stem for stem in numbers[0] if len(stem) >= COGNATE or stem.isdigit()]
    common = [[each[stem] for stem in stems if stem in numbers[1]] for each in numbers]
    for kind, sought in (("known", common), ("rare", None)):
        results = []
        for side in (source, target):
            values = getattr(side, kind)
            lines = np.repeat(np.arange(len(side)), np.diff(values.starts))
            order = np.argsort(values.values, kind="stable")
            results.append((values.values[order], lines[order]))
        both = np.intersect1d(results[0][0], results[1][0])
        first, second = sought or (both, both)
        spans = [
            (np.searchsorted(values, texts), np.searchsorted(values, texts, "right"))
            for (values, _), texts in zip(results, (first, second), strict=True)
        ]
        for a, b, c, d in zip(*spans[0], *spans[1], strict=True):
            yield results[0][1][a:b], results[1][1][c:d]


def weigh_lexicon(lexicon: Lexicon, surface: Array, path: Array, reach: int) -> Array:
    """Return the evidence of the lexicon and of the surface together, near the offsets of a path.

    At other offsets it is so low that no path goes there.
    """
    evidence = np.full(surface.shape, OUTSIDE - CLEAREST)
    near = {int(each) + step for each in {0, *path} for step in range(-NEAR, NEAR + 1)}
    for offset in sorted(each for each in near if abs(each) <= reach):
        lines = _lines_inside(lexicon.source, lexicon.target, offset)
        result = np.clip(lexicon.judge(lines, lines + offset), -CLEAREST, CLEAREST)
        evidence[offset + reach, lines] = result + 0.5 * surface[offset + reach, lines]
    return evidence


def find_offset_path(evidence: Array) -> Array:
    """Return the offset of each line: the path with the most evidence, less CHANGE each change."""
    count, lines = evidence.shape
    came = np.zeros((lines, count), np.int16)
    stay = np.arange(count, dtype=np.int16)
    total = np.where(stay == count // 2, 0.0, -CHANGE)
    for line in range(lines):
        best = int(total.argmax())
        jump = float(total[best]) - CHANGE
        came[line] = np.where(total < jump, best, stay)
        total = np.maximum(total, jump) + evidence[:, line]
    path = np.zeros(lines, np.int64)
    at = int(total.argmax())
    for line in range(lines - 1, -1, -1):
        path[line] = at
        at = int(came[line, at])
    return path - count // 2


def drop_chance(path: Array, surface: Array, evidence: Array) -> Array:
    """Return the path without offsets at which lines are no partners.

    Where no offset fits, any may be the best by chance; such lines get the offset before them. So
    do those at an offset that costs others their partners.
    """
    kept, reach, usual = path.copy(), len(surface) // 2, 0
    for start, end in pairwise(_list_changes(path)):
        offset = int(path[start])
        rows = slice(offset + reach, offset + reach + 1), slice(start, end)
        is_likely = surface[rows].mean() > PARTNERS or evidence[rows].mean() > 0
        after = int(path[end]) if end < len(path) else offset
        if is_likely and _pays(evidence, slice(start, end), (usual, offset, after)):
            usual = offset
        kept[start:end] = usual
    return kept


def _pays(evidence: Array, lines: slice, offsets: tuple[int, int, int]) -> bool:
    """Return whether lines fit better at an offset, with those that lose their partner by it.

    offsets: before these lines, at them, and after them. No line has two partners. So where the
    offset falls, as many lines have none, though they may fit the partners that they had.
    """
    reach, (before, at, after) = len(evidence) // 2, offsets
    lost = max(0, before - at)
    if at == before or not lines.stop - lines.start > lost:
        return at == before
    if after != before:
        return True
    end = lines.stop + max(0, at - after)
    stay = evidence[before + reach, lines.start : end].sum()
    return bool(evidence[at + reach, lines.start + lost : lines.stop].sum() > stay + 2 * CHANGE)


def _list_changes(path: Array) -> list[int]:
    """Return the lines at which an offset begins, and the number of lines."""
    return [0, *(np.flatnonzero(np.diff(path)) + 1).tolist(), len(path)]


def list_misalignments(path: Array, evidence: Array) -> list[Misalignment]:
    """Return the changes of a path, each at the line where it fits best."""
    reach, changes = len(evidence) // 2, _list_changes(path)
    misalignments = [Misalignment(0, 0, int(path[0]))] if path[0] else []
    for (start, line), end in zip(pairwise(changes), changes[2:], strict=False):
        before, after = int(path[line - 1]), int(path[line])
        low, high = max(start, line - WINDOW), min(end, line + WINDOW)
        rows = evidence[[before + reach, after + reach], low:high]
        misalignments.append(
            Misalignment(low + find_split(rows[0], rows[1], max(0, before - after)), before, after)
        )
    return misalignments
