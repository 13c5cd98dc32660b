"""Repair of a corpus: leave out or mend the pairs in a report."""

from collections.abc import Iterator

import numpy as np

from .characters import repair_encoding, repair_lookalikes
from .report import REPAIRS, Report
from .words import Texts


def fix(source: Texts, target: Texts, report: Report) -> Iterator[tuple[str, str]]:
    """Yield the pairs that are left, in order, mended as the table of checks says."""
    marks = {repair: np.zeros(report.pairs, bool) for repair in REPAIRS}
    for finding in report.findings:
        if finding.check.repair:
            marks[finding.check.repair][finding.places] = True
    left_out = marks["leave out"] | marks["keep first"]
    for number, pair in enumerate(zip(source, target, strict=True)):
        mended: tuple[str | None, str | None] = pair
        if left_out[number]:
            continue
        if marks["encoding"][number]:
            mended = repair_encoding(pair[0]), repair_encoding(pair[1])
        ours, theirs = mended
        if ours is None or theirs is None or not (ours.strip() and theirs.strip()):
            continue
        if marks["one script"][number]:
            ours, theirs = repair_lookalikes(ours), repair_lookalikes(theirs)
        yield (theirs, ours) if marks["exchange"][number] else (ours, theirs)
