"""The cues of subtitles: SubRip (.srt), and WebVTT (.vtt) with its headers, notes and styles.

Programs and people write both loosely. So a line that is a time begins a cue, with or without a
blank line or a number before it; what is no cue stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_CLOCK = r"(?:(\d{1,4})\s?:\s?)?(\d{1,2})\s?:\s?(\d{1,2})(?:\s?[,.:]\s?(\d{1,6}))?"
_TIME = re.compile(rf"\s*{_CLOCK}\s*(?:-{{1,3}}\s?>|[–—]>|→)\s*{_CLOCK}(?!\d)")
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n|\Z)")
_NUMBER = re.compile(r"\s*\d+\s*")
_NOTES = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")


@dataclass
class Cue:
    """A cue: its time in seconds, and the numbers of the lines of the file that are its text."""

    begin: float
    end: float
    lines: list[int] = field(default_factory=list)


class CueFile:
    """A file of subtitles as lines, with their ends; `lines` may be changed one by one.

    Raises ValueError if there is no cue, and no header of WebVTT either.
    """

    def __init__(self, text: str) -> None:
        raw = [line for line in _LINE.findall(text) if line]
        self.lines = [line.rstrip("\r\n") for line in raw]
        self.ends = [line[len(kept) :] for line, kept in zip(raw, self.lines, strict=True)]
        self.is_vtt = bool(self.lines) and self.lines[0].lstrip("\ufeff").startswith("WEBVTT")
        self.cues = [*_read_cues(self.lines, self.is_vtt)]
        if not (self.cues or self.is_vtt):
            raise ValueError("the file has no subtitle: no line like 00:00:01,000 --> 00:00:02,000")

    def write(self, changed: dict[int, str]) -> str:
        """Return the file with some of its lines replaced; one that becomes empty is left out."""
        lines = (changed.get(number, line) for number, line in enumerate(self.lines))
        return "".join(
            line + end
            for number, (line, end) in enumerate(zip(lines, self.ends, strict=True))
            if line or number not in changed
        )


def _read_cues(lines: Sequence[str], is_vtt: bool) -> Iterator[Cue]:
    times = [(number, match) for number, line in enumerate(lines) if (match := _TIME.match(line))]
    if not times:
        return
    heads = [_find_head(lines, number, is_vtt) for number, _ in times]
    named = sum(head != number for head, (number, _) in zip(heads, times, strict=True))
    if not is_vtt and 2 * named < len(times):  # cues have no numbers, so no line is one
        heads = [number for number, _ in times]
    notes = _find_notes(lines) if is_vtt else frozenset[int]()
    for (number, match), stop in zip(times, [*heads[1:], len(lines)], strict=True):
        clock = match.groups()
        inner = range(number + 1, stop)
        text = [each for each in inner if each not in notes and lines[each].strip()]
        yield Cue(_read_clock(*clock[:4]), _read_clock(*clock[4:]), text)


def _find_head(lines: Sequence[str], time: int, is_vtt: bool) -> int:
    """Return the number of the line with which the cue of a time begins: its name or number.

    Only SubRip may have a blank line between.
    """
    place = time - 1
    while not is_vtt and place > 0 and not lines[place].strip():
        place -= 1
    if place < 0:
        return time
    begins_block = place == 0 or not lines[place - 1].strip()
    is_name = is_vtt and begins_block and lines[place].strip()
    return place if _NUMBER.fullmatch(lines[place]) or is_name else time


def _find_notes(lines: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the lines of notes, styles and regions, each up to a blank line."""
    notes, is_note, is_blank = set[int](), False, True
    for number, line in enumerate(lines):
        is_note = bool(is_note or (is_blank and _NOTES.match(line))) and bool(line.strip())
        is_blank = not line.strip()
        if is_note:
            notes.add(number)
    return frozenset(notes)


def _read_clock(hours: str | None, minutes: str, seconds: str, rest: str | None) -> float:
    fraction = float(f"0.{rest}") if rest else 0.0
    return 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds) + fraction
