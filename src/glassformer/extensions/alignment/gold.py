"""Alignments by people, the errors of others against them, and two directions joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from glassformer.data.files import read_lines
from glassformer.translate.align.links import Link, Links

Joining = Literal["intersection", "union", "grow-diag"]
JOININGS: tuple[str, ...] = get_args(Joining)
NEIGHBOURS = tuple((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
_LINK = re.compile(r"(\d+)([-p?])(\d+)")


@dataclass(frozen=True)
class Gold:
    """The alignment of one pair of sentences by people; sure links are possible links too."""

    sure: Links
    possible: Links

    def turn(self) -> Gold:
        """Return the alignment of the other direction."""
        return Gold(*(frozenset((j, i) for i, j in each) for each in (self.sure, self.possible)))


@dataclass(frozen=True)
class Errors:
    """Counts of found links against gold (Och and Ney 2003); rates are between 0 and 1."""

    sentences: int
    found: int
    sure: int  # links that people were sure of
    found_sure: int
    found_possible: int

    @property
    def precision(self) -> float:
        return self.found_possible / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.found_sure / self.sure if self.sure else 1.0

    @property
    def aer(self) -> float:
        """Return the alignment error rate, 1 - (|A and S| + |A and P|) / (|A| + |S|)."""
        both = self.found + self.sure
        return 1 - (self.found_sure + self.found_possible) / both if both else 0.0

    def __add__(self, other: Errors) -> Errors:
        return Errors(
            *(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True))
        )

    def __str__(self) -> str:
        return (
            f"AER {self.aer:.1%}, precision {self.precision:.1%}, recall {self.recall:.1%} "
            f"of {self.sure:,} sure links in {self.sentences:,} sentences"
        )


def measure_links(results: Iterable[Iterable[Link]], gold: Iterable[Gold]) -> Errors:
    """Return the errors of found links against gold, summed over all sentences."""
    total = Errors(0, 0, 0, 0, 0)
    for links, expected in zip(results, gold, strict=True):
        ours = frozenset(links)
        hits = len(ours & expected.sure), len(ours & expected.possible)
        total += Errors(1, len(ours), len(expected.sure), *hits)
    return total


@dataclass(frozen=True)
class GoldSet:
    """The gold alignments of all pairs, and the links of the file that point beyond a sentence."""

    pairs: tuple[Gold, ...]
    first: int  # the number of a sentence's first word in the file
    beyond: tuple[str, ...]  # links to words that do not exist; they always count as missed


def read_gold(
    path: Path | str,
    lengths: Sequence[tuple[int, int]],
    *,
    first: int | None = None,
    swapped: bool = False,
) -> GoldSet:
    """Read gold alignments: a line for each pair, `1-2` for a sure link, `1p2` for a possible one.

    lengths: the numbers of source and target words. first: the number of the first word, 0 or 1;
    None: 0 if any word has that number, else 1 if a number would be too large otherwise. swapped:
    the target's word comes first.
    Raises ValueError that names the line. It is raised too if more than one link in twenty is
    beyond its sentence, because then the file counts other words or is the wrong way round.
    """
    rows = [_read_line(path, number, line) for number, line in enumerate(read_lines(Path(path)), 1)]
    if len(rows) != len(lengths):
        raise ValueError(f"{path} has {len(rows):,} lines, but there are {len(lengths):,} pairs")
    if swapped:
        rows = [[(j, kind, i) for i, kind, j in row] for row in rows]
    if first is None:
        has_0 = any(0 in (i, j) for row in rows for i, _, j in row)
        first = int(not has_0 and bool(list(_find_beyond(rows, lengths, 0))))
    beyond = tuple(f"{path}, {place}" for place in _find_beyond(rows, lengths, first))
    if len(beyond) * 20 > sum(map(len, rows)):
        raise ValueError(f"{beyond[0]}, like {len(beyond) - 1:,} more: wrong words or wrong order?")
    return GoldSet(tuple(_make_gold(row, first) for row in rows), first, beyond)


_Row = list[tuple[int, str, int]]


def _read_line(path: Path | str, number: int, line: str) -> _Row:
    row: _Row = []
    for written in line.split():
        if not (match := _LINK.fullmatch(written)):
            raise ValueError(f"{path}, line {number}: {written!r} is no link such as 1-2 or 1p2")
        row.append((int(match[1]), match[2], int(match[3])))
    return row


def _find_beyond(
    rows: Sequence[_Row], lengths: Sequence[tuple[int, int]], first: int
) -> Iterator[str]:
    for number, (row, size) in enumerate(zip(rows, lengths, strict=True), 1):
        for i, kind, j in row:
            if not (first <= i < size[0] + first and first <= j < size[1] + first):
                yield (
                    f"line {number}: {i}{kind}{j} is beyond the sentence, which has {size[0]} "
                    f"source and {size[1]} target words, counted from {first}"
                )


def _make_gold(row: _Row, first: int) -> Gold:
    links = [((i - first, j - first), kind) for i, kind, j in row]
    sure = frozenset(link for link, kind in links if kind == "-")
    return Gold(sure, frozenset(link for link, _ in links))


def join_links(one: Links, other: Links, options: str) -> Links:
    """Return the joined links of two directions (Och and Ney 2003; Koehn et al. 2003).

    grow-diag starts with the links of both. It adds neighbours that one direction has, if their
    source or target word has no link yet.
    """
    if options == "union":
        return one | other
    joined = set(one & other)
    if options == "intersection":
        return frozenset(joined)
    sources, targets = {i for i, _ in joined}, {j for _, j in joined}
    queue = sorted(joined)
    for i, j in queue:  # the queue grows in the loop
        for down, right in NEIGHBOURS:
            near = (i + down, j + right)
            is_open = near[0] not in sources or near[1] not in targets
            if is_open and near not in joined and (near in one or near in other):
                joined.add(near)
                sources.add(near[0])
                targets.add(near[1])
                queue.append(near)
    return frozenset(joined)
