"""The quality check: the visible faults of a translation.

The right translation is not known here: a translation is compared with its source alone.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from unicodedata import decimal, normalize

from ..text.number_words import LARGEST, is_spelled_out
from ..text.patterns import LazyPattern, RarePattern
from ..text.spacing import TOUCHING
from .sentence import Problem, Translation

# The highest confidence that each problem allows. The last five mean that the model was not trained
# on such text, or that the text is too long for it: another search does not help.
CAPS = {"empty": 0.0, "loop": 0.1, "copy": 0.2, "short": 0.3, "long": 0.3, "cut": 0.3, "lost": 0.5}
CAPS |= {"dropped": 0.6, "untranslatable": 0.0, "failed": 0.0}
CAPS |= {"unknown": 0.5, "words": 0.5, "language": 0.2, "unsure": 1.0, "parts": 1.0}
UNLIKE = {"unknown", "words", "language", "unsure"}  # the model was not trained on such text

# With these limits, benchmarks/guards.py finds next to no false alarms: see docs/corpus.md.
LONGEST_UNIT, OFTEN, LEAST_LOOP = 80, 3, 12  # characters; times; characters
LEAST_COPY, ALIKE = 4, 0.7  # words; the share of them that is the same
LEAST_LENGTH, SHORT, LONG = 15, 0.4, 3.0  # as `measure_text` counts; times the source's length
IDEOGRAPH = 3  # letters of an alphabet that one ideograph or syllable is worth
SPELLED_OUT = 12  # numbers up to it may come out as words, in a language whose words we lack

DIGITS = "0123456789"
MARKS = ".,;:!?)'\""  # behind an address that ends a sentence
FIRST_WIDE = "\u1100"
WIDE = LazyPattern(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
LOOP = re.compile(rf"(?s)(.{{1,{LONGEST_UNIT}}}?)" + r"\1" * (OFTEN - 1))
NUMBER = RarePattern(r"\d+(?:[.,'’\u00a0\u202f]\d+)*", DIGITS)
GROUPS = RarePattern(r"\d+(?:[.,'’\s]\d+)*", DIGITS)
MYRIADS = RarePattern(r"(?<!\d)\d++(?=\s?[万萬亿億만억])", DIGITS)  # 4万 is 40,000 elsewhere
# What says that a number is an hour, in small letters.
HOUR = LazyPattern(
    r"\b[ap]\.?\s?m\b|o.clock|\dh|\bh\b|heure|uhr|\bhora|\bore\b|\buur|час|godzin|klock|\d:\d"
    r"|[时点時]|noon|night|evening|soir|nacht|abend|noche|\bsera\b"
)
_OWN = rf"(?![{TOUCHING}])[\w-]"  # a letter of an address
ADDRESS = RarePattern(
    rf"(?:https?://|www\.)[^\s<>\"{TOUCHING}]+"
    rf"|(?<!{_OWN})(?<![.+])(?:{_OWN}|[.+])++@(?:{_OWN})+(?:\.(?:{_OWN})+)+",
    ("://", "www.", "@"),
)
PLACEHOLDER = RarePattern(
    r"\{\{?[\w.]*\}?\}|\$\{\w+\}|%\(\w+\)[sdif]"
    rf"|%\d*\$?[sdif](?![^\W{TOUCHING}])|</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>"
    r"|__[A-Z]\w*__",
    ("{", "%", "<", "__"),
)


def find_problems(
    source: str,
    translation: Translation,
    language: str | None = None,
    repeated: Iterable[str] = (),
) -> Iterator[Problem]:
    """Yield each visible fault of the translation of a sentence.

    language: that of the target. repeated: what is right to be there as it is, such as names.
    """
    target = translation.text
    if not target.strip():
        if any(c.isalnum() for c in source):
            yield Problem.describe("empty")
        return
    if (times := count_repeats(target)) > count_repeats(source) + 1:
        yield Problem.describe("loop", times=times)
    if is_copy(*(_without(text, repeated) for text in (source, target))):
        yield Problem.describe("copy")
    yield from _compare_lengths(measure_text(source), measure_text(target))
    if not translation.finished:
        yield Problem.describe("cut")
    if lost := list_lost(source, target, language):
        yield Problem.describe("lost", list=", ".join(lost))


def count_repeats(text: str) -> int:
    """Return how often a stretch of text is repeated in a row; 1 if seldom, or if it is short."""
    if not LOOP.search(text):  # as nearly always, and then NumPy is not needed
        return 1
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    most = 1
    for unit in range(1, min(LONGEST_UNIT, len(codes) // OFTEN) + 1):
        differs = codes[unit:] != codes[:-unit]
        if len(differs) - np.count_nonzero(differs) < (OFTEN - 1) * unit:
            continue
        ends = np.concatenate(([-1], np.flatnonzero(differs), [len(differs)]))
        run = int(np.diff(ends).max()) - 1  # characters equal to those one unit before
        times = run // unit + 1
        if times >= OFTEN and run + unit >= LEAST_LOOP:
            most = max(most, times)
    return most


def is_copy(source: str, target: str) -> bool:
    words = re.compile(r"[^\W\d_]+")
    ours, theirs = (
        words.findall(PLACEHOLDER.replace(" ", ADDRESS.replace(" ", text)).casefold())
        for text in (source, target)
    )
    if len(ours) < LEAST_COPY:
        return False
    shared = (Counter(ours) & Counter(theirs)).total()
    if 2 * shared < ALIKE * (len(ours) + len(theirs)):  # as nearly always
        return False
    from difflib import SequenceMatcher

    return SequenceMatcher(None, ours, theirs, autojunk=False).ratio() >= ALIKE


def _without(text: str, parts: Iterable[str]) -> str:
    for part in parts:
        text = text.replace(part, " ")
    return text


def measure_text(text: str) -> int:
    """Return the length of a text in letters of an alphabet; a wide character is IDEOGRAPH."""
    letters = sum(1 for c in text if not c.isspace())
    is_narrow = max(text, default="") < FIRST_WIDE
    return letters + (0 if is_narrow else (IDEOGRAPH - 1) * len(WIDE.findall(text)))


def _compare_lengths(source: int, target: int) -> Iterator[Problem]:
    ratio = target / max(1, source)
    if source >= LEAST_LENGTH and ratio < SHORT:
        yield Problem.describe("short", ratio=f"{ratio:.2f}")
    if target >= LEAST_LENGTH and ratio > LONG:
        yield Problem.describe("long", ratio=f"{ratio:.1f}")


def list_lost(source: str, target: str, language: str | None = None) -> list[str]:
    """Return the numbers, addresses and placeholders that the source has more often.

    language: that of the target, by which a small number is known that is spelled out.
    """
    source, target = _spell_digits(source), _spell_digits(target)
    lost: list[str] = []
    for pattern in (ADDRESS, PLACEHOLDER):
        requested = Counter(each.rstrip(MARKS) for each in pattern.find_all(source))
        lost += [each for each, times in requested.items() if target.count(each) < times]
        source = pattern.replace(" ", source)
    known = set(_list_numbers(target))
    source = MYRIADS.replace(" ", source)
    for number in dict.fromkeys(NUMBER.find_all(source)):
        parts = re.findall(r"\d+", number)
        is_kept = "".join(parts) in known or known.issuperset(parts)
        texts = source, target
        if not is_kept and not (number.isdigit() and _is_said(number, texts, known, language)):
            lost.append(number)
    return lost


def _is_said(number: str, texts: tuple[str, str], known: set[str], language: str | None) -> bool:
    """Return whether a number is said although its digits are missing: in words, or as an hour.

    texts: source and target. 8 p.m. may be 20 h or 08:00, and the 00 of 8:00 may go.
    """
    if len(number) > 2:
        return False
    value, target = int(number), texts[1]
    message = is_spelled_out(value, target, language)
    if message is None:
        return value <= SPELLED_OUT
    if message or number == "00" or not known.isdisjoint((str(value), f"{value:02}")):
        return True
    later = value + 12
    is_hour = 0 < value <= 12 and any(HOUR.search(text.lower()) for text in texts)
    return is_hour and (
        str(later) in known or bool(is_spelled_out(min(later, LARGEST), target, language))
    )


def _list_numbers(text: str) -> Iterator[str]:
    """Yield each group of digits, alone and joined with up to three after it: 1 234 567,50."""
    for run in GROUPS.find_all(text):
        groups = re.findall(r"\d+", run)
        for first in range(len(groups)):
            yield from accumulate(groups[first : first + 4])


def _spell_digits(text: str) -> str:
    """Return a text in NFKC, with the digits of any script written as 0 to 9."""
    return "".join(str(decimal(c)) if c.isdecimal() else c for c in normalize("NFKC", text))
