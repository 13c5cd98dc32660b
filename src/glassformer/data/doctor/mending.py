"""Repair of a corpus: leave out or mend the pairs in a report."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .characters import repair_encoding, repair_lookalikes
from .report import Report
from .sample import Texts

LEFT_OUT = (
    "misaligned",
    "mismatch",
    "language",
    "script",
    "leak",
    "copy",
    "empty",
    "length",
    "duplicate",
)


def fix(source: Texts, target: Texts, report: Report) -> Iterator[tuple[str, str]]:
    """Yield the pairs that are left, in order, mended as the advice of each finding says."""
    marks = {kind: np.zeros(report.pairs, bool) for kind in ("out", "exchanged", "mixed", "broken")}
    names = dict.fromkeys(LEFT_OUT, "out")
    names |= {"swapped": "exchanged", "look-alike": "mixed", "encoding": "broken"}
    for finding in report.findings:
        if finding.kind in names:
            marks[names[finding.kind]][finding.places] = True
    for number, pair in enumerate(zip(source, target, strict=True)):
        mended: tuple[str | None, str | None] = pair
        if marks["out"][number]:
            continue
        if marks["broken"][number]:
            mended = repair_encoding(pair[0]), repair_encoding(pair[1])
        ours, theirs = mended
        if ours is None or theirs is None or not (ours.strip() and theirs.strip()):
            continue
        if marks["mixed"][number]:
            ours, theirs = repair_lookalikes(ours), repair_lookalikes(theirs)
        yield (theirs, ours) if marks["exchanged"][number] else (ours, theirs)
