"""Repair of a corpus: leave out or mend the pairs in a report."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import compress

import numpy as np

from .characters import repair_encoding, repair_lookalikes
from .ragged import Array
from .report import CHECKS, REPAIRS, Report
from .words import Texts


def realign(source: Texts, target: Texts, report: Report) -> tuple[Texts, Texts]:
    """Return the sides with each line beside its partner, by the misalignments of a report.

    Lines without a partner are left out. What else the report says is not about these pairs.
    """
    partners = np.arange(report.pairs)
    for each in report.misalignments:
        partners[each.line :] = np.arange(each.line, report.pairs) + each.offset
    taken = np.append(-1, np.maximum.accumulate(partners)[:-1])  # by an earlier line, up to here
    keep = (partners > taken) & (partners < report.pairs)
    kept = np.zeros(report.pairs, bool)
    kept[partners[keep]] = True
    return _Kept(source, keep), _Kept(target, kept)


@dataclass(frozen=True, eq=False)
class _Kept:
    texts: Texts
    keep: Array

    def __iter__(self) -> Iterator[str]:
        return compress(self.texts, self.keep.tobytes())


SURE = frozenset(kind for kind, check in CHECKS.items() if not check.is_guess)


def check_kinds(kinds: Collection[str]) -> frozenset[str]:
    """Return the kinds of findings that are named. ValueError if there is no such kind."""
    if unknown := set(kinds) - CHECKS.keys() - {"all", "sure"}:
        there = ", ".join(("all", "sure", *CHECKS))
        raise ValueError(f"there is no kind of finding {min(unknown)!r}; there are {there}")
    several = [*CHECKS] * ("all" in kinds) + [*SURE] * ("sure" in kinds)
    return frozenset(each for each in (*kinds, *several) if each in CHECKS)


def fix(
    source: Texts,
    target: Texts,
    report: Report,
    kinds: Collection[str] = SURE,
    best: Array | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield the pairs that are left, in order, mended as the table of checks says.

    Only findings of these kinds are mended; those that are no guesses, if none are given. Pairs
    that are misaligned are left out: `realign` comes before. best: a mask of the pairs to keep.
    """
    marks = {repair: np.zeros(report.pairs, bool) for repair in REPAIRS}
    for finding in report.findings:
        if finding.check.repair and finding.kind in kinds:
            marks[finding.check.repair][finding.places] = True
    left_out = marks["leave out"] | marks["realign"] | marks["keep first"]
    if best is not None:
        left_out |= ~best
    for number, pair in enumerate(zip(source, target, strict=True)):
        mended: tuple[str | None, str | None] = pair
        if left_out[number]:
            continue
        if marks["encoding"][number]:
            mended = repair_encoding(pair[0]), repair_encoding(pair[1])
            if not all(side and side.strip() for side in mended):
                continue
        ours, theirs = mended
        assert ours is not None and theirs is not None
        if marks["one script"][number]:
            ours, theirs = map(repair_lookalikes, (ours, theirs), report.home, report.letters)
        yield (theirs, ours) if marks["exchange"][number] else (ours, theirs)
