"""SubRip subtitles: a sentence that runs over several cues is translated as a whole."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from ..text.spacing import EAST

TIME = re.compile(r"\d+:\d\d:\d\d[,.]\d+[ \t]*-->[ \t]*\d+:\d\d:\d\d[,.]\d+")
ENDS = re.compile(r"[.!?…。！？][\"'»”’)\]]*$")  # the end of a sentence
UNIT = re.compile(rf"\s*(?:[{EAST}]|[^\s{EAST}]+)")  # what a cue is not cut within
TAG = re.compile(r"</?[A-Za-z][^<>]*>|\{\\[^{}]*\}")
SPEAKERS = ("-", "–", "—", "[", "(", "♪")  # where another voice begins
LONGEST = 8  # lines of one sentence


@dataclass
class Cue:
    """The lines of a cue; `head` is what stands before its text, its time included."""

    head: list[str]
    lines: list[str]


class SubtitleLine(NamedTuple):
    """A line of a cue with something to read."""

    cue: Cue
    place: int

    @property
    def plain(self) -> str:
        """Return what is read aloud: without tags, and without a dash before another voice."""
        return TAG.sub("", self.cue.lines[self.place]).strip().lstrip("-–— ")

    @property
    def is_new_voice(self) -> bool:
        return TAG.sub("", self.cue.lines[self.place]).lstrip().startswith(SPEAKERS)


class Subtitles:
    """Subtitles as texts, one for each sentence, which may go on in the next lines and cues.

    A translation is divided among the lines of its sentence in proportion to their length. Tags are
    kept at the ends of a line, not inside it. Raises ValueError if there is no cue.
    """

    form = "text"

    def __init__(self, text: str) -> None:
        self.cues = _read_cues(text)
        if not self.cues:
            raise ValueError("the file has no subtitle: no line like 00:00:01,000 --> 00:00:02,000")
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.groups = [*_group(self.cues)]
        self.texts = [" ".join(line.plain for line in each) for each in self.groups]

    def fill(self, said: Sequence[str]) -> bytes:
        """Return the subtitles with these translations in place of their texts."""
        for group, translation in zip(self.groups, said, strict=True):
            parts = divide(translation, [len(line.plain) for line in group])
            for (cue, place), part in zip(group, parts, strict=True):
                cue.lines[place] = _dress(cue.lines[place], part)
        blocks = ("\n".join([*cue.head, *cue.lines]) for cue in self.cues)
        written = "\n\n".join(blocks) + "\n"
        return written.replace("\n", self.newline).encode("utf-8", "replace")


def divide(text: str, sizes: Sequence[int]) -> list[str]:
    """Return the text in parts whose lengths are proportional to `sizes`, cut between words."""
    words = UNIT.findall(text)
    ends = [*accumulate(map(len, words))]
    total, whole = ends[-1] if ends else 0, sum(sizes)
    parts, at = list[str](), 0
    for number, share in enumerate(accumulate(sizes), start=1):
        left = len(sizes) - number  # each later part gets a word, if there are enough
        stop = at
        while stop < len(words) - left and (
            stop == at or ends[stop] - len(words[stop]) / 2 <= total * share / whole
        ):
            stop += 1
        stop = len(words) if not left else stop
        parts.append("".join(words[at:stop]).strip())
        at = stop
    return parts


def _read_cues(text: str) -> list[Cue]:
    """Return the cues; text after a blank line without a time before it belongs to the last one."""
    cues: list[Cue] = []
    for block in re.split(r"\n[ \t]*\n+", text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.strip("\n").split("\n")
        for place, line in enumerate(lines[:2]):
            if TIME.match(line.strip()):
                cues.append(Cue(lines[: place + 1], lines[place + 1 :]))
                break
        else:
            if cues and lines != [""]:
                cues[-1].lines += ["", *lines]
    return cues


def _group(cues: Sequence[Cue]) -> Iterator[list[SubtitleLine]]:
    """Yield the lines of each sentence; a line in which several begin is one of them."""
    group: list[SubtitleLine] = []
    for line in (SubtitleLine(cue, place) for cue in cues for place in range(len(cue.lines))):
        if not line.plain:
            continue
        if group and line.is_new_voice:
            yield group
            group = []
        group.append(line)
        if ENDS.search(line.plain) or len(group) == LONGEST:
            yield group
            group = []
    if group:
        yield group


def _dress(line: str, said: str) -> str:
    """Return the translated line with the tags at the ends of the line, if there is none inside."""
    begin = re.match(rf"(?:\s*(?:{TAG.pattern}|[-–—]\s*))*", line)
    end = re.search(rf"(?:(?:{TAG.pattern})\s*)*$", line)
    sides = begin[0] if begin else "", end[0].rstrip() if end else ""
    core = line[len(sides[0]) : len(line.rstrip()) - len(sides[1])]
    return said if TAG.search(core) else f"{sides[0]}{said}{sides[1]}"
