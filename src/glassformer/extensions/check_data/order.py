"""Misalignments of a large corpus: a search for lines lost or added on one side."""

from dataclasses import dataclass

import numpy as np

from .lexicon import Lexicon
from .ragged import Array

SEGMENT = 1_000  # lines whose lengths are compared at once
REACH = 100  # lines by which the sides may be shifted, beyond the difference of their counts
FARTHEST = 2_000
CERTAIN = 4.0  # standard errors by which another offset must be better
ALARM = 60.0  # nats by which the summed evidence falls: there may be a misalignment
STRONGEST = 10.0  # the most nats of one line
PROBE = 40  # lines on which another offset is tried
ENOUGH = 2.0  # the fewest nats a line for another offset to be accepted
TRIALS = 20_000  # offsets tried without finding a misalignment, before the search ends


@dataclass(frozen=True)
class Misalignment:
    """A misalignment: from source line `line` on (from 0), partners are `offset` lines later."""

    line: int
    before: int
    offset: int

    @property
    def lost(self) -> int:
        """Return how many lines have no partner: positive in the target, negative in the source."""
        return self.offset - self.before


def guess_offsets(source: Array, target: Array) -> Array:
    """Return the probable offset of each source line's partner, from lengths in characters."""
    offsets = np.zeros(len(source), np.int64)
    reach = min(REACH + abs(len(source) - len(target)), FARTHEST)
    logs = [np.log(side + 3.0) for side in (source, target)]
    offset = 0
    for start in range(0, len(source), SEGMENT):
        ours = logs[0][start : start + SEGMENT]
        if len(ours) >= SEGMENT // 5 or not start:
            offset = _best_offset(ours, logs[1], start, reach, offset)
        offsets[start : start + SEGMENT] = offset
    return offsets


def _best_offset(ours: Array, theirs: Array, start: int, reach: int, usual: int) -> int:
    """Return the offset at which lengths correlate best, or `usual` if it is not surely better."""
    low = start - reach
    padded = np.full(len(ours) + 2 * reach, np.mean(theirs) if len(theirs) else 0.0)
    first, last = max(low, 0), min(low + len(padded), len(theirs))
    if last <= first:
        return usual
    padded[first - low : last - low] = theirs[first:last]
    spread = np.std(ours) * np.std(padded)
    if spread == 0:
        return usual
    products = np.correlate(padded - padded.mean(), ours - ours.mean(), "valid")
    errors = products / spread / np.sqrt(len(ours))  # in standard errors of no correlation
    best = int(errors.argmax())
    usually = errors[usual + reach] if abs(usual) <= reach else 0.0
    return best - reach if errors[best] > max(usually, CERTAIN) + CERTAIN else usual


def find_misalignments(lexicon: Lexicon, straight: Array) -> list[Misalignment]:
    """Return all misalignments, in order.

    `straight` is the evidence for pairs with the same line number.
    """
    misalignments: list[Misalignment] = []
    start, offset, trials = 0, 0, 0
    reach = min(REACH + abs(len(lexicon.source) - len(lexicon.target)), FARTHEST)
    while trials < TRIALS:
        alarm = _next_alarm(lexicon, straight, start, offset)
        if alarm is None:
            break
        misalignment = _explain(lexicon, start, alarm, offset, reach)
        if misalignment:
            misalignments.append(misalignment)
            start, offset = misalignment.line + max(0, -misalignment.lost), misalignment.offset
        else:
            start, trials = alarm + 1, trials + 2 * reach
    return misalignments


def _next_alarm(lexicon: Lexicon, straight: Array, start: int, offset: int) -> int | None:
    """Return the first line where the summed evidence is far below its best since `start`."""
    stop = min(len(lexicon.source), len(lexicon.target) - offset)
    total = best = 0.0
    for low in range(start, stop, 10 * SEGMENT):
        lines = np.arange(low, min(low + 10 * SEGMENT, stop))
        inside = offset == 0 and len(lines) and int(lines[-1]) < len(straight)
        evidence = straight[lines] if inside else _judge(lexicon, lines, offset)
        sums = total + np.cumsum(np.clip(evidence, -STRONGEST, STRONGEST))
        peaks = np.maximum.accumulate(np.maximum(sums, best))
        fallen = np.flatnonzero(peaks - sums > ALARM)
        if len(fallen):
            return low + int(fallen[0])
        total, best = float(sums[-1]), float(peaks[-1])
    return None


def _explain(
    lexicon: Lexicon, start: int, alarm: int, offset: int, reach: int
) -> Misalignment | None:
    """Return the misalignment that causes an alarm: its new offset and its line; None if none."""
    lines = np.arange(alarm, min(alarm + PROBE, len(lexicon.source)))
    if len(lines) < 4:
        return None
    tried = [each for each in range(offset - reach, offset + reach + 1) if each != offset]
    tried.sort(key=lambda each: abs(each - offset))
    result = np.array([_judge(lexicon, lines, each).mean() for each in tried])
    if result.max() < ENOUGH:
        return None
    new = tried[int(result.argmax())]
    low = max(start, alarm - 5 * PROBE)
    lines = np.arange(low, alarm + 1)
    gap = max(0, offset - new)
    before, after = (_judge(lexicon, lines, each) for each in (offset, new))
    return Misalignment(low + find_split(before, after, gap), offset, new)


def find_split(before: Array, after: Array, gap: int) -> int:
    """Return how many lines have the offset before the change; the next `gap` have no partner."""
    count = len(before)
    behind = np.append(np.cumsum(after[::-1])[::-1], 0.0)  # evidence from each line on
    ahead = np.append(0.0, np.cumsum(before))  # evidence up to each line
    total = ahead[:-1] + behind[np.minimum(np.arange(count) + gap, count)]
    return int(total.argmax())


def _judge(lexicon: Lexicon, lines: Array, offset: int) -> Array:
    """Return the evidence of lines at an offset; it is -STRONGEST where the target has no line."""
    partners = lines + offset
    inside = (partners >= 0) & (partners < len(lexicon.target))
    evidence = np.full(len(lines), -STRONGEST)
    evidence[inside] = lexicon.judge(lines[inside], partners[inside])
    return np.clip(evidence, -STRONGEST, STRONGEST)
