"""The report of an examination: findings with examples and advice, as text or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .ragged import Array

SHOWN = 20  # line numbers

# Each kind of finding, worst first, with its meaning and advice.
KINDS = {
    "sides": (
        "a side is not in the language that it is said to be in",
        "look at the codes, or give the files the other way round",
    ),
    "misaligned": (
        "not beside their translation: a line was lost or added on one side",
        "put the line back, or take its partner out; --fix leaves these lines out",
    ),
    "mismatch": (
        "no translation of each other",
        "look at a few; --fix leaves them out",
    ),
    "swapped": (
        "source and target exchanged",
        "--fix exchanges them back",
    ),
    "language": (
        "one side in another language",
        "--fix leaves them out",
    ),
    "script": (
        "one side mostly in a foreign script",
        "--fix leaves them out",
    ),
    "leak": (
        "a side of it is in the text to validate or test on, but for case and punctuation",
        "scores on that text flatter; --fix leaves them out",
    ),
    "encoding": (
        "broken encoding",
        "--fix mends what can be mended and leaves out the others",
    ),
    "copy": (
        "target is a copy of the source",
        "the model learns to copy from many; --fix leaves them out",
    ),
    "empty": (
        "an empty side",
        "never trained on; --fix leaves them out",
    ),
    "length": (
        "one side far too long for the other",
        "--fix leaves them out",
    ),
    "look-alike": (
        "words with letters of another script that look alike",
        "--fix writes each word in one script",
    ),
    "duplicate": (
        "the same pair as before",
        "--fix keeps the first",
    ),
    "near-duplicate": (
        "the same pair as before, but for case, digits and punctuation",
        "often meant; --fix keeps them",
    ),
}
# The findings that a script should stop at: if their share of the pairs is larger than this.
SERIOUS = {"sides": 0.0, "misaligned": 0.0, "leak": 0.0} | dict.fromkeys(
    ("mismatch", "swapped", "language", "script", "encoding", "copy", "length"), 0.05
)
HARMLESS = ("empty", "duplicate", "near-duplicate")  # training leaves out empty pairs itself


@dataclass(frozen=True)
class Example:
    line: int  # from 1
    source: str
    target: str
    note: str = ""


@dataclass(frozen=True, eq=False)
class Finding:
    """A finding: all pairs that have one kind of error."""

    kind: str  # one of KINDS
    places: Array  # the pairs, from 0
    share: float  # of all pairs
    examples: list[Example]
    note: str = ""

    @property
    def count(self) -> int:
        return len(self.places)

    @property
    def lines(self) -> list[int]:
        """Return the first line numbers, counted from 1."""
        return [int(place) + 1 for place in self.places[:SHOWN]]

    @property
    def meaning(self) -> str:
        return KINDS[self.kind][0]

    @property
    def advice(self) -> str:
        return KINDS[self.kind][1]

    @property
    def is_serious(self) -> bool:
        """Return whether a script should stop at this finding."""
        return self.share > SERIOUS.get(self.kind, 1.0)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "is_serious": self.is_serious,
            "meaning": self.meaning,
            "count": self.count,
            "share": self.share,
            "lines": self.lines,
            "note": self.note,
            "examples": [vars(example) for example in self.examples],
            "advice": self.advice,
        }


@dataclass(frozen=True, eq=False)
class Report:
    """The report of a corpus, with all findings, worst first."""

    pairs: int
    findings: list[Finding]
    languages: tuple[str | None, str | None]  # as identified; None: unknown
    thorough: bool  # whether lines were compared with their partners by their words

    @property
    def extent(self) -> str:
        return f"{self.pairs:,} pair{'s' * (self.pairs != 1)}"

    def __getitem__(self, kind: str) -> Finding | None:
        return next((each for each in self.findings if each.kind == kind), None)

    def warnings(self) -> list[str]:
        """Return one line of text for each finding that can harm a model."""
        return [
            f"{each.count:,} of {self.extent}, from line {each.lines[0]:,} on: "
            f"{each.meaning}" + (f" ({each.note})" if each.note else "")
            for each in self.findings
            if each.kind not in HARMLESS
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "languages": list(self.languages),
            "thorough": self.thorough,
            "findings": [finding.to_json() for finding in self.findings],
        }

    def __str__(self) -> str:
        return "\n".join(self._write_lines()) + "\n"

    def _write_lines(self) -> Iterator[str]:
        yield f"{self.extent}; {len(self.findings)} kinds of findings"
        for each in self.findings:
            yield ""
            yield f"{each.kind}: {each.count:,} pairs ({100 * each.share:.2f} %): {each.meaning}"
            if each.note:
                yield f"  {each.note}"
            yield f"  lines {', '.join(map(str, each.lines))}{' ...' * (each.count > SHOWN)}"
            for example in each.examples:
                yield f"  {example.line}" + (f" ({example.note})" if example.note else "")
                yield f"    {example.source}"
                yield f"    {example.target}"
            yield f"  {each.advice}"
