"""What is wrong with a translation as far as its face shows, and a second, safer try.

Nothing here knows the right translation: it compares what comes out with what went in.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Any
from unicodedata import decimal, normalize

import numpy as np

from .config import Decode
from .translator import Progress, Translation, Translator

# How much confidence a problem leaves, at most.
CAPS = {"empty": 0.0, "loop": 0.1, "copy": 0.2, "short": 0.3, "long": 0.3, "cut": 0.3, "lost": 0.5}

# Where benchmarks/guards.py has next to no false alarm: the counts are in docs/corpus.md.
LONGEST_UNIT, OFTEN, LEAST_LOOP = 80, 3, 12  # characters; times; characters
LEAST_COPY, ALIKE = 4, 0.7  # words; the share of them
LEAST_LENGTH, SHORT, LONG = 15, 0.4, 3.0  # as `measure` has it; times the source's length
IDEOGRAPH = 3  # letters of an alphabet that one ideograph or syllable is worth
SPELLED_OUT = 12  # numbers up to it may come out as words

WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
NUMBER = re.compile(r"\d+(?:[.,'’\u00a0\u202f]\d+)*")
GROUPS = re.compile(r"\d+(?:[.,'’\s]\d+)*")
ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
PLACEHOLDER = re.compile(
    r"\{\{?[\w.]*\}?\}|\$\{\w+\}|%\(\w+\)[sdif]|%\d*\$?[sdif]\b|</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>"
    r"|__[A-Z]\w*__"
)


@dataclass(frozen=True)
class Problem:
    kind: str  # one of CAPS
    said: str  # for people


@dataclass(frozen=True)
class Judged:
    """The translations of a text, best first, with what is wrong with the first."""

    best: list[Translation]
    problems: tuple[Problem, ...]
    confidence: float  # the geometric mean of its pieces' probabilities, capped by its problems
    retried: bool  # whether it is the outcome of a second search

    def to_json(self) -> dict[str, Any]:
        problems = [{"kind": each.kind, "said": each.said} for each in self.problems]
        return {"confidence": self.confidence, "problems": problems, "retried": self.retried}


def search(
    translator: Translator,
    texts: Sequence[str],
    *,
    again: bool = True,
    decode: Decode | None = None,
    prefixes: Sequence[str] | None = None,
    n_best: int = 1,
    progress: Progress | None = None,
    **how: Any,
) -> list[Judged]:
    """`Translator.search`, judged. `again`: what looks wrong is searched for again with more care,
    and the better of both is taken; what was sampled is left as it is."""
    decode = decode or translator.config.decode
    told: dict[str, Any] = {
        "decode": decode,
        "prefixes": prefixes,
        "n_best": n_best,
        "progress": progress,
    }
    found = translator.search(texts, **told, **how)
    judged = [judge(text, best) for text, best in zip(texts, found, strict=True)]
    wrong = [n for n, each in enumerate(judged) if each.problems]
    if not (again and wrong) or decode.search == "sample":
        return judged
    for safer, chosen in _plan(decode, judged, wrong):
        begins = None if prefixes is None else [prefixes[n] for n in chosen]
        told = {"decode": safer, "prefixes": begins, "n_best": safer.beam}
        others = translator.search([texts[n] for n in chosen], **told, **how)
        for n, best in zip(chosen, others, strict=True):
            judged[n] = _choose(texts[n], judged[n], best)
    return judged


def judge(text: str, best: list[Translation]) -> Judged:
    problems = tuple(find_problems(text, best[0]))
    return Judged(best, problems, _measure_confidence(best[0], problems), False)


def find_problems(source: str, found: Translation) -> Iterator[Problem]:
    target = found.text
    if not target.strip():
        if any(c.isalnum() for c in source):
            yield Problem("empty", "nothing came out")
        return
    if (times := count_repeats(target)) > count_repeats(source) + 1:
        yield Problem("loop", f"something is there {times} times in a row")
    if is_copy(source, target):
        yield Problem("copy", "nearly all of it is the source")
    yield from _compare_lengths(measure(source), measure(target))
    if not found.finished:
        yield Problem("cut", "cut at the greatest length")
    if lost := list_lost(source, target):
        yield Problem("lost", f"not in the translation: {', '.join(lost)}")


def count_repeats(text: str) -> int:
    """How often some stretch of text comes in a row, if that is often and long; 1 if not."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    most = 1
    for unit in range(1, min(LONGEST_UNIT, len(codes) // OFTEN) + 1):
        differs = codes[unit:] != codes[:-unit]
        if len(differs) - np.count_nonzero(differs) < (OFTEN - 1) * unit:
            continue
        ends = np.concatenate(([-1], np.flatnonzero(differs), [len(differs)]))
        run = int(np.diff(ends).max()) - 1  # characters that are those of a unit before
        times = run // unit + 1
        if times >= OFTEN and run + unit >= LEAST_LOOP:
            most = max(most, times)
    return most


def is_copy(source: str, target: str) -> bool:
    words = re.compile(r"[^\W\d_]+")
    ours, theirs = (
        words.findall(PLACEHOLDER.sub(" ", ADDRESS.sub(" ", text)).casefold())
        for text in (source, target)
    )
    if len(ours) < LEAST_COPY:
        return False
    return SequenceMatcher(None, ours, theirs, autojunk=False).ratio() >= ALIKE


def measure(text: str) -> int:
    """The length in letters of an alphabet."""
    letters = sum(1 for c in text if not c.isspace())
    return letters + (IDEOGRAPH - 1) * len(WIDE.findall(text))


def _compare_lengths(source: int, target: int) -> Iterator[Problem]:
    ratio = target / max(1, source)
    if source >= LEAST_LENGTH and ratio < SHORT:
        yield Problem("short", f"{ratio:.2f} times as long as the source")
    if target >= LEAST_LENGTH and ratio > LONG:
        yield Problem("long", f"{ratio:.1f} times as long as the source")


def list_lost(source: str, target: str) -> list[str]:
    """Numbers, addresses and placeholders that the source has more often."""
    source, target = _spell_digits(source), _spell_digits(target)
    lost: list[str] = []
    for pattern in (ADDRESS, PLACEHOLDER):
        wanted = Counter(each.rstrip(".,;:!?)'\"") for each in pattern.findall(source))
        lost += [each for each, times in wanted.items() if target.count(each) < times]
        source = pattern.sub(" ", source)
    known = set(_list_numbers(target))
    for number in dict.fromkeys(NUMBER.findall(source)):
        parts = re.findall(r"\d+", number)
        is_small = len(parts) == 1 and int(number[:9]) <= SPELLED_OUT
        if not is_small and "".join(parts) not in known and not known.issuperset(parts):
            lost.append(number)
    return lost


def _list_numbers(text: str) -> Iterator[str]:
    """Each number as its digits, and together with up to three behind it: 1 234 567,50."""
    for run in GROUPS.findall(text):
        groups = re.findall(r"\d+", run)
        for first in range(len(groups)):
            yield from accumulate(groups[first : first + 4])


def _spell_digits(text: str) -> str:
    """In NFKC, the digits of any script as 0 to 9."""
    return "".join(str(decimal(c)) if c.isdecimal() else c for c in normalize("NFKC", text))


def _measure_confidence(found: Translation, problems: Sequence[Problem]) -> float:
    pieces = len(found.piece_log_probs)
    likely = math.exp(found.log_prob / pieces) if pieces else 1.0
    return round(min([likely, *(CAPS[each.kind] for each in problems)]), 4)


def _plan(
    decode: Decode, judged: Sequence[Judged], wrong: Sequence[int]
) -> Iterator[tuple[Decode, list[int]]]:
    """A wider beam for all; without repetition where there was one or the end did not come."""
    beam = {"search": "beam", "beam": max(5, decode.beam), "stop": "exact"}
    endless = [n for n in wrong if {"loop", "long", "cut"} & {p.kind for p in judged[n].problems}]
    others = [n for n in wrong if n not in set(endless)]
    if endless:
        yield decode.model_copy(update={**beam, "no_repeat": decode.no_repeat or 3}), endless
    if others:
        yield decode.model_copy(update=beam), others


def _choose(text: str, former: Judged, others: list[Translation]) -> Judged:
    """The best of a second search, if less is wrong with it."""
    again = [judge(text, [other]) for other in others]
    better = min(again, key=lambda each: _weigh(each.problems))  # the first of equals
    if _weigh(better.problems) >= _weigh(former.problems):
        return former
    return replace(better, retried=True)


def _weigh(problems: Sequence[Problem]) -> float:
    return sum(1 - CAPS[each.kind] for each in problems)
