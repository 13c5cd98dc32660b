"""The quality check: find visible faults of a translation, and search again with more care.

The right translation is not known here: a translation is compared with its source alone.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, compress
from typing import Any, NamedTuple
from unicodedata import decimal, normalize

from ..config import Decode
from ..foundation.validation_errors import check_list
from ..text.context import cut_source
from ..text.number_words import LARGEST, is_spelled_out
from ..text.patterns import LazyPattern, RarePattern
from ..text.sentences import cut_spans
from ..translation import Problem, Progress, Translation, assemble, take_apart
from ..translator import Choice, Translator
from .familiarity import Familiarity, measure_confidence

# The highest confidence that each problem allows. The last four mean that the model was not trained
# on such text, or that the text is too long for it: another search does not help.
CAPS = {"empty": 0.0, "loop": 0.1, "copy": 0.2, "short": 0.3, "long": 0.3, "cut": 0.3, "lost": 0.5}
CAPS |= {"unknown": 0.5, "language": 0.2, "unsure": 1.0, "parts": 1.0}
UNLIKE = {"unknown", "language", "unsure"}  # signs that the model was not trained on such text

# With these limits, benchmarks/guards.py finds next to no false alarms: see docs/corpus.md.
LONGEST_UNIT, OFTEN, LEAST_LOOP = 80, 3, 12  # characters; times; characters
LEAST_COPY, ALIKE = 4, 0.7  # words; the share of them that is the same
LEAST_LENGTH, SHORT, LONG = 15, 0.4, 3.0  # as `measure_text` counts; times the source's length
IDEOGRAPH = 3  # letters of an alphabet that one ideograph or syllable is worth
SPELLED_OUT = 12  # numbers up to it may come out as words, in a language whose words we lack

DIGITS = "0123456789"
WIDE = LazyPattern(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
LOOP = re.compile(rf"(?s)(.{{1,{LONGEST_UNIT}}}?)" + r"\1" * (OFTEN - 1))
NUMBER = RarePattern(r"\d+(?:[.,'’\u00a0\u202f]\d+)*", DIGITS)
GROUPS = RarePattern(r"\d+(?:[.,'’\s]\d+)*", DIGITS)
MYRIADS = RarePattern(r"\d+(?=\s?[万萬亿億만억])", DIGITS)  # 4万 is 40,000 elsewhere
ADDRESS = RarePattern(
    r"(?:https?://|www\.)[^\s<>\"]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+", ("://", "www.", "@")
)
PLACEHOLDER = RarePattern(
    r"\{\{?[\w.]*\}?\}|\$\{\w+\}|%\(\w+\)[sdif]|%\d*\$?[sdif]\b|</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>"
    r"|__[A-Z]\w*__",
    ("{", "%", "<", "__"),
)


class Judged(NamedTuple):
    """The translations of a text, best first, with the problems of the first one."""

    best: list[Translation]
    problems: tuple[Problem, ...]
    confidence: float  # the geometric mean of its tokens' probabilities, capped by its problems
    retried: bool  # whether it is the outcome of a second search

    def to_json(self) -> dict[str, Any]:
        problems = [each._asdict() for each in self.problems]
        return {"confidence": self.confidence, "problems": problems, "retried": self.retried}


def search_checked(
    translator: Translator,
    texts: Sequence[str],
    *,
    again: bool = True,
    decode: Choice = None,
    prefixes: Sequence[str] | None = None,
    n_best: int = 1,
    split: bool = True,
    progress: Progress | None = None,
    contexts: Sequence[str] | None = None,
    **how: Any,
) -> list[Judged]:
    """Return the translations that `Translator.search` finds, each sentence checked for problems.

    The command line, `Translator.translate`, `evaluate` and the server all call this function, so
    the same text has the same translation everywhere. again: a sentence that has problems is
    translated again by a more careful search, and the better translation is taken. Sampled
    translations, and those for n_best > 1, are not searched for again.
    """
    check_list("texts", texts)
    decode = translator.config.decode.override(decode, n_best)
    told: dict[str, Any] = {"decode": decode, "n_best": n_best, "split": split}
    told |= {} if contexts is None else {"contexts": contexts}
    found = translator.search(texts, **told, prefixes=prefixes, progress=progress, **how)
    knows = Familiarity(translator)
    judged = [judge(text, best, knows) for text, best in zip(texts, found, strict=True)]
    if again and n_best == 1 and decode.search != "sample" and not decode.mbr:
        before = _list_contexts(translator, judged, texts, contexts, split)
        _search_again(translator, decode, judged, texts, (prefixes, before), how)
    return judged if split else [_note_parts(each) for each in judged]


def judge(text: str, best: list[Translation], knows: Familiarity | None = None) -> Judged:
    """Return the translations of a text with the problems of the best, sentence by sentence.

    knows: the model that translated, to report also text that it was not trained on.
    """
    problems: list[Problem] = []
    for part, (source, found) in enumerate(_list_sentences(text, best[0])):
        here = chain(
            find_problems(source, found, knows.target_language if knows else None),
            knows.find_problems(source, found) if knows else (),
        )
        problems += [each._replace(part=part) for each in here]
    return Judged(best, tuple(problems), _cap_confidence(best[0], problems), False)


def _list_sentences(text: str, found: Translation) -> list[tuple[str, Translation]]:
    """Return the source and the translation of each part that was translated on its own."""
    if not found.parts:
        return [(text, found)]
    sources = cut_spans(text, [part.source for part in found.parts])
    return list(zip(sources, take_apart(found), strict=True))


def _note_parts(judged: Judged) -> Judged:
    """Return the same; add a problem if the line was too long to be translated as a whole."""
    if len(judged.best[0].parts) < 2:
        return judged
    problem = Problem.describe("parts", count=len(judged.best[0].parts))
    return judged._replace(problems=(*judged.problems, problem))


def find_problems(
    source: str, found: Translation, language: str | None = None
) -> Iterator[Problem]:
    """Yield each visible fault of the translation of a sentence; `language`: that of the target."""
    target = found.text
    if not target.strip():
        if any(c.isalnum() for c in source):
            yield Problem.describe("empty")
        return
    if (times := count_repeats(target)) > count_repeats(source) + 1:
        yield Problem.describe("loop", times=times)
    if is_copy(source, target):
        yield Problem.describe("copy")
    yield from _compare_lengths(measure_text(source), measure_text(target))
    if not found.finished:
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


def measure_text(text: str) -> int:
    """Return the length of a text in letters of an alphabet; a wide character is IDEOGRAPH."""
    letters = sum(1 for c in text if not c.isspace())
    return letters + (0 if text.isascii() else (IDEOGRAPH - 1) * len(WIDE.findall(text)))


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
        wanted = Counter(each.rstrip(".,;:!?)'\"") for each in pattern.find_all(source))
        lost += [each for each, times in wanted.items() if target.count(each) < times]
        source = pattern.replace(" ", source)
    known = set(_list_numbers(target))
    source = MYRIADS.replace(" ", source)
    for number in dict.fromkeys(NUMBER.find_all(source)):
        parts = re.findall(r"\d+", number)
        is_kept = "".join(parts) in known or known.issuperset(parts)
        if not is_kept and not (number.isdigit() and _is_said(number, target, known, language)):
            lost.append(number)
    return lost


def _is_said(number: str, target: str, known: set[str], language: str | None) -> bool:
    """Return whether a number is said although its digits are missing: in words, or as an hour.

    8 p.m. may be 20 h or 08:00, and the 00 of 8:00 may go.
    """
    if len(number) > 2:
        return False
    value = int(number)
    said = is_spelled_out(value, target, language)
    if said is None:
        return value <= SPELLED_OUT
    if said or number == "00" or not known.isdisjoint((str(value), f"{value:02}")):
        return True
    later = value + 12
    is_hour = 0 < value <= 12
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


def _cap_confidence(found: Translation, problems: Sequence[Problem]) -> float:
    return round(min([measure_confidence(found), *(CAPS[each.kind] for each in problems)]), 4)


def _list_contexts(
    translator: Translator,
    judged: Sequence[Judged],
    texts: Sequence[str],
    contexts: Sequence[str] | None,
    split: bool,
) -> dict[tuple[int, int], str]:
    """Return the context of each part of the texts with problems, by line and part."""
    found: dict[tuple[int, int], str] = {}
    for line, (text, each) in enumerate(zip(texts, judged, strict=True)):
        if translator.context and each.problems:
            spans = [part.source for part in each.best[0].parts]
            before = None if contexts is None else [contexts[line]]
            read = translator.extend_parts([text], [spans], before, split=split)
            found |= {(line, part): cut_source(source)[0] for part, source in enumerate(read)}
    return found


class _Doubtful(NamedTuple):
    """A sentence with problems: the line and the part that it is, and its translation."""

    line: int
    part: int
    source: str
    prefix: str
    context: str
    found: Translation
    problems: list[Problem]


def _search_again(
    translator: Translator,
    decode: Decode,
    judged: list[Judged],
    texts: Sequence[str],
    before: tuple[Sequence[str] | None, Mapping[tuple[int, int], str]],
    how: dict[str, Any],
) -> None:
    """Search again for the sentences with problems, and put better translations into `judged`.

    before: the prefixes, and the context of each line and part.
    """
    language = translator.config.data.target_lang
    prefixes, contexts = before
    doubtful = [
        _Doubtful(
            line,
            part,
            source,
            prefixes[line] if prefixes and not part else "",
            contexts.get((line, part), ""),
            found,
            wrong,
        )
        for line, (text, each) in enumerate(zip(texts, judged, strict=True))
        if each.problems
        for part, (source, found) in enumerate(_list_sentences(text, each.best[0]))
        if (wrong := [*find_problems(source, found, language)])
    ]
    better: dict[int, dict[int, Translation]] = {}
    for safer, chosen in _plan(decode, doubtful):
        told: dict[str, Any] = {"decode": safer, "n_best": safer.beam, "split": False}
        told |= {"contexts": [each.context for each in chosen]} if contexts else {}
        begins = [each.prefix for each in chosen]
        others = translator.search([each.source for each in chosen], **told, prefixes=begins, **how)
        for each, best in zip(chosen, others, strict=True):
            if (other := _choose(each, best, language)) is not None:
                better.setdefault(each.line, {})[each.part] = other
    knows = Familiarity(translator)
    for line, parts in better.items():
        former = judged[line].best[0]
        found = [parts.get(n, each) for n, each in enumerate(take_apart(former))]
        spans = [part.source for part in former.parts]
        whole = assemble(texts[line], spans, found)
        judged[line] = judge(texts[line], [whole], knows)._replace(retried=True)


def _plan(
    decode: Decode, doubtful: Sequence[_Doubtful]
) -> Iterator[tuple[Decode, list[_Doubtful]]]:
    """Yield the settings of each second search with its sentences.

    All get a wider beam. Repetition is forbidden for sentences that have one or were too long.
    """
    beam = {"search": "beam", "beam": max(5, decode.beam), "stop": "exact", "beam_groups": 1}
    is_endless = [
        bool({"loop", "long", "cut"} & {p.kind for p in each.problems}) for each in doubtful
    ]
    if endless := [*compress(doubtful, is_endless)]:
        yield (
            decode.override({**beam, "no_repeat_ngram_size": decode.no_repeat_ngram_size or 3}),
            endless,
        )
    if others := [each for each, is_so in zip(doubtful, is_endless, strict=True) if not is_so]:
        yield decode.override(beam), others


def _choose(
    former: _Doubtful, others: list[Translation], language: str | None
) -> Translation | None:
    """Return the best translation of a second search, if its problems weigh less; else None."""
    weights = [_weigh([*find_problems(former.source, other, language)]) for other in others]
    least = min(weights)  # the first of equals
    return others[weights.index(least)] if least < _weigh(former.problems) else None


def _weigh(problems: Sequence[Problem]) -> float:
    return sum(1 - CAPS[each.kind] for each in problems)
