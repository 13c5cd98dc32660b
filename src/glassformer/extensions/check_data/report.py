"""The report of an examination: findings with examples and advice, as text or JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from glassformer.foundation.plurals import tell_count

from .characters import ANY, Letters, Scripts
from .order import Misalignment
from .ragged import Array

ENOUGH = 0.9  # a share of wrong partners: if fewer would be found, the report says so
WIDTH = 100  # characters of a line of the report

# What --fix does with the pairs of a finding.
REPAIRS = {
    "leave out": "--fix leaves them out",
    "realign": "--fix puts each line beside its partner again, and leaves out lines without one",
    "exchange": "--fix exchanges them back",
    "one script": "--fix writes each word in one script",
    "encoding": "--fix mends what can be mended and leaves out the others",
    "keep first": "--fix keeps the first",
    "": "--fix keeps them",
}
SOME = 0.05  # of the pairs: a script should stop if more are damaged


@dataclass(frozen=True)
class Check:
    """One kind of finding in words, and what follows from it."""

    meaning: str
    hint: str = ""  # what to do, besides what --fix does
    repair: str | None = "leave out"  # one of REPAIRS; None: --fix cannot help
    serious: float = 1.0  # a script should stop if a larger share of the pairs has it
    explains: bool = False  # why lines are no partners: they get no further finding
    harmless: bool = False  # to training, which leaves out empty and long pairs itself
    is_guess: bool = False  # by statistics: --fix leaves such pairs alone unless it is told

    @property
    def advice(self) -> str:
        fix = REPAIRS[self.repair] if self.repair is not None else ""
        if self.is_guess:
            fix = "--fix keeps them, since this is a guess; --fix-kinds can name them"
        return "; ".join(filter(None, (self.hint, fix)))


# Every kind of finding, worst first.
CHECKS = {
    "sides": Check(
        "a side is not in the language that it is said to be in",
        "look at the codes, or give the files the other way round",
        repair=None,
        serious=0.0,
    ),
    "unrelated": Check(
        "the two sides do not belong together line by line",
        "were they shuffled or sorted apart, or are they two different texts?",
        repair=None,
        serious=0.0,
    ),
    "misaligned": Check(
        "not beside their translation: a line was lost or added on one side",
        "put the line back, or take its partner out",
        repair="realign",
        serious=0.0,
        explains=True,
    ),
    "mismatch": Check("perhaps no translation of each other", "look at a few", is_guess=True),
    "swapped": Check("source and target exchanged", repair="exchange", serious=SOME, explains=True),
    "language": Check("one side in another language", serious=SOME, explains=True),
    "script": Check("one side mostly in a foreign script", serious=SOME, explains=True),
    "leak": Check(
        "a side of it is in the text to validate or test on, but for case and punctuation",
        "scores on that text flatter",
        serious=0.0,
    ),
    "near-leak": Check(
        "a side of it is much like a line of the text to validate or test on",
        "scores on that text flatter",
        is_guess=True,
    ),
    "encoding": Check("broken encoding", repair="encoding", serious=SOME),
    "copy": Check(
        "target is a copy of the source",
        "the model learns to copy from many",
        serious=SOME,
        explains=True,
    ),
    "empty": Check("an empty side", "never trained on", explains=True, harmless=True),
    "length": Check(
        "one side far too long for the other, as it seems", "look at a few", is_guess=True
    ),
    "long": Check(
        "a side far longer than what a model is trained on: data.max_length",
        "train drops it: put one sentence in a line",
        harmless=True,
    ),
    "look-alike": Check(
        "words with letters of another script that look alike", repair="one script"
    ),
    "duplicate": Check("the same pair as before", repair="keep first", harmless=True),
    "near-duplicate": Check(
        "the same pair as before, but for case, digits and punctuation",
        "often meant",
        repair="",
        harmless=True,
    ),
}


@dataclass(frozen=True)
class Example:
    line: int  # from 1
    source: str
    target: str
    note: str = ""


@dataclass(frozen=True, eq=False)
class Finding:
    """A finding: all pairs that have one kind of error."""

    kind: str  # one of CHECKS
    places: Array  # the pairs, from 0
    share: float  # of all pairs
    examples: list[Example]
    note: str = ""

    @property
    def count(self) -> int:
        return len(self.places)

    @property
    def lines(self) -> list[int]:
        """Return the line numbers, counted from 1."""
        return (self.places + 1).tolist()

    @property
    def check(self) -> Check:
        return CHECKS[self.kind]

    @property
    def is_serious(self) -> bool:
        """Return whether a script should stop at this finding; it never should at a guess."""
        return self.share > self.check.serious and not self.check.is_guess

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "is_serious": self.is_serious,
            "is_guess": self.check.is_guess,
            "meaning": self.check.meaning,
            "count": self.count,
            "share": self.share,
            "lines": self.lines,
            "note": self.note,
            "examples": [vars(example) for example in self.examples],
            "advice": self.check.advice,
        }


@dataclass(frozen=True, eq=False)
class Report:
    """The report of a corpus, with all findings, worst first.

    sensitivity: the share of wrong partners that would be found as `mismatch`, by an estimate; None
    if this was not checked. log_odds: how likely the lines of each pair are partners, in nats; None
    if it is unknown, and -inf for pairs that another finding explains. home: the scripts that each
    side is written in. letters: the Cyrillic ones of each side; None: unknown.
    """

    pairs: int
    findings: list[Finding]
    languages: tuple[str | None, str | None]  # as identified; None: unknown
    thorough: bool  # whether lines were compared with their partners by their words
    misalignments: tuple[Misalignment, ...] = ()
    sensitivity: float | None = None
    log_odds: Array | None = None
    home: tuple[Scripts, Scripts] = (ANY, ANY)
    letters: tuple[Letters | None, Letters | None] = (None, None)

    @property
    def extent(self) -> str:
        return f"{self.pairs:,} pair{'s' * (self.pairs != 1)}"

    def __getitem__(self, kind: str) -> Finding | None:
        return next((each for each in self.findings if each.kind == kind), None)

    @property
    def blindness(self) -> str:
        """Return a sentence about the wrong partners that are not found; "" if these are few."""
        if self.sensitivity is None or self.sensitivity >= ENOUGH:
            return ""
        if not self.sensitivity:
            return "too few pairs to tell wrong partners from right ones: none is noted as mismatch"
        return (
            "text so little, or so short, teaches too little to find all wrong partners: about "
            f"{100 * self.sensitivity:.0f} % of them would be noted as mismatch"
        )

    def warnings(self) -> list[str]:
        """Return one line of text for each finding that can harm a model."""
        return [
            f"{each.count:,} of {self.extent}, from line {each.lines[0]:,} on: "
            f"{each.check.meaning}" + (f" ({each.note})" if each.note else "")
            for each in self.findings
            if not each.check.harmless
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "languages": list(self.languages),
            "thorough": self.thorough,
            "mismatch_sensitivity": self.sensitivity,
            "note": self.blindness,
            "findings": [finding.to_json() for finding in self.findings],
        }

    def __str__(self) -> str:
        return "\n".join(self._write_lines()) + "\n"

    def _write_lines(self) -> Iterator[str]:
        yield f"{self.extent}; {tell_count(len(self.findings), 'kind')} of findings"
        yield from filter(None, (self.blindness,))
        for each in self.findings:
            yield ""
            share = f"{tell_count(each.count, 'pair')} ({100 * each.share:.2f} %)"
            yield f"{each.kind}: {share}: {each.check.meaning}"
            if each.note:
                yield f"  {each.note}"
            yield fill(
                f"lines {', '.join(map(str, each.lines))}",
                WIDTH,
                initial_indent="  ",
                subsequent_indent="    ",
            )
            for example in each.examples:
                yield f"  {example.line}" + (f" ({example.note})" if example.note else "")
                yield f"    {example.source}"
                yield f"    {example.target}"
            yield f"  {each.check.advice}"
