"""Stand-ins for names and numbers that the prefix of a translation writes in another way.

The prefix of "Mr. Smith has 1,000 books." may be "Monsieur Smith a 1 000", or end in "1 0".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from glassformer.text.patterns import LazyPattern
from glassformer.text.stand_ins import OF_NUMBERS, StandIn
from glassformer.text.verbatim import Verbatim, find_verbatim
from glassformer.translate.adapting import AdaptedSentence

SEPARATORS = ",.'’ \u00a0\u202f"
GROUPED = LazyPattern(rf"(?<=\d)[{SEPARATORS}](?=\d{{3}}(?!\d))")  # between thousands
SIGNS = "+-\u2212±#"  # that stay before a number
AMOUNT = LazyPattern(rf"(\d{{1,3}}(?:[{SEPARATORS}]?\d{{3}})*+(?!\d)|\d+)(?:[.,](\d+))?")


def fit_prefix(
    adapted: AdaptedSentence,
    sentence: str,
    prefix: str,
    find_half: Callable[[Sequence[StandIn], str], list[Verbatim]],
) -> AdaptedSentence:
    """Return a sentence whose stand-ins stand for names without titles, or numbers, of a prefix.

    find_half: what finds the beginning of what a stand-in stands for, at the end of a prefix.
    """

    may_go_on = not _ends_with_number_of(sentence, prefix)

    def has(pair: StandIn) -> bool:
        return pair.original in prefix or bool(find_half([pair], prefix))

    def fit(pair: StandIn) -> StandIn:
        forms = [_drop_title(pair.original, sentence), *_list_retyped(pair.original, prefix)]
        forms += _list_styles(pair.original) if may_go_on else []
        others = (pair._replace(original=form) for form in forms if form)
        return pair if has(pair) else next(filter(has, others), pair)

    return adapted._replace(stand_ins=tuple(map(fit, adapted.stand_ins)))


def _drop_title(name: str, sentence: str) -> str:
    """Return the most of the last words of a name that are in its sentence."""
    words = name.split(" ")
    tails = (" ".join(words[first:]) for first in range(len(words)))
    return next((each for each in tails if each in sentence), "")


def _list_retyped(original: str, prefix: str) -> Iterator[str]:
    """Yield the numbers and dates of a prefix that are one of a sentence, typed otherwise."""
    if _is_number(original, OF_NUMBERS):
        numbers = _list_numbers(original)
        for start, end, _ in _find_numbers(prefix):
            if _list_numbers(prefix[start:end]) == numbers:
                yield prefix[start:end]


def _list_styles(original: str) -> Iterator[str]:
    """Yield a number with other separators, and its currency before or behind it."""
    match = AMOUNT.search(original) if _is_number(original, ["number"]) else None
    if match is None:
        return
    before, behind = original[: match.start()], original[match.end() :]
    thousands = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", re.sub(r"\D", "", match[1]))
    for separator in ("", *SEPARATORS):
        for mark in ".," if separator in (",", "'", "’") else ",.":
            if mark != separator:
                decimals = mark + match[2] if match[2] else ""
                written = thousands.replace(",", separator) + decimals + behind
                yield before + written
                if before not in SIGNS:
                    yield f"{written} {before.strip()}"


def _ends_with_number_of(sentence: str, prefix: str) -> bool:
    """Return whether the number at the end of a prefix is a whole one of its sentence."""
    typed = _find_numbers(prefix.rstrip(SEPARATORS))[-1:]
    numbers = [_list_numbers(prefix[start:end]) for start, end, _ in typed]
    return any(_list_numbers(sentence[x.start : x.end]) in numbers for x in _find_numbers(sentence))


def _is_number(text: str, kinds: Collection[str]) -> bool:
    """Return whether a text is one number of some kinds."""
    spans = [(each.start, each.end) for each in _find_numbers(text) if each.kind in kinds]
    return spans == [(0, len(text))]


def _find_numbers(text: str) -> list[Verbatim]:
    return [each for each in find_verbatim(text) if each.kind in OF_NUMBERS]


def _list_numbers(text: str) -> list[str]:
    """Return the numbers in an amount or a date, in whatever order that is written."""
    return sorted(each.lstrip("0") for each in re.findall(r"\d+", GROUPED.sub("", text)))
