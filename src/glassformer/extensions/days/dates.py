"""Days of the year in a sentence: 12 May 2019, which a translation writes by rule.

Few networks have read each day of each month, and what they make of the others is another day. A
frequent one, such as October 20th, is read in the place of a day; what the network writes for that
is replaced with the day in the words of the target language (`dates.toml`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from glassformer.text.spacing import name_base
from glassformer.text.stand_ins import StandIn
from glassformer.text.verbatim import Verbatim

DAY = "day"  # the kind of part
OFTEN = ((10, 20), (7, 4), (12, 25), (8, 15), (4, 10), (1, 15), (9, 5), (3, 14))
LAST_DAY = 31
HALF = " \u00a0apmAPM."  # p.m. and what stands before it
_BEFORE = r"(?<![\w/:.,%-])"
NUMERIC = (  # a day in numbers, which stays as it is: 12/05/2024
    _BEFORE + r"(?P<numeric>\d{1,2}(?:/\d{1,2}/|-\d{1,2}-)(?:\d{4}|\d{2})|\d{4}-\d{2}-\d{2}"
    r"|\d{1,2}\.\d{1,2}\.\d{4})(?![\w/-]|[.,]\d)"
)


class Language(NamedTuple):
    """How a language writes days."""

    months: tuple[str, ...]
    find: tuple[str, ...]  # patterns with the groups day, month and year
    phrase: str
    written: str
    plain: str
    dated: str
    first: str = "1"
    hours: str = ""

    def write(self, day: int, month: int, year: str | None) -> str:
        """Return a day as translations have it; month: from 1."""
        message, name = (self.first if day == 1 else str(day)), self.months[month - 1]
        return (self.dated if year else self.plain).format(day=message, month=name, year=year)


@cache
def read_day_formats() -> dict[str, Language]:
    """Return the languages whose days are known, by code."""
    import tomllib  # few sentences have a number and a month

    tables = tomllib.loads(Path(__file__).with_name("dates.toml").read_text(encoding="utf-8"))
    day_formats = {}
    for code, table in tables.items():
        months = tuple(table.pop("months").split())
        find = [_BEFORE + each.replace("{months}", "|".join(months)) for each in table.pop("find")]
        day_formats[code] = Language(months, tuple(find), **table)
    return day_formats


class Dates:
    """The days that one model's sentences have, and what stands for them."""

    def __init__(
        self,
        languages: tuple[str | None, str | None],
        is_known: tuple[Callable[[str], bool], Callable[[str], bool]],
    ) -> None:
        """languages: of source and target; is_known: whether a word is a token of each."""
        sides = [read_day_formats().get(name_base(each)) for each in languages]
        self.source, self.target = sides
        self.often = [
            (month, day)
            for month, day in OFTEN
            if all(
                side and known(f" {side.months[month - 1]}")
                for side, known in zip(sides, is_known, strict=True)
            )
        ]

    @property
    def patterns(self) -> tuple[str, ...]:
        """Return the patterns of days in a source; none if nothing can stand for them."""
        return (*self.source.find, NUMERIC) if self.source and self.often else ()

    @property
    def counts_to_24(self) -> bool:
        """Return whether the hours of the target language go on to 24."""
        return self.target is not None and self.target is not read_day_formats()["en"]

    def find(self, text: str, attempt: int = 0) -> dict[Verbatim, StandIn]:
        """Return the days of a text, in order, with their stand-ins; none if there are too many.

        attempt: from 0; each has other stand-ins.
        """
        ordered = sorted(
            (match for each in self.patterns for match in _compile(each).finditer(text)),
            key=lambda match: (match.start(), -match.end()),
        )
        days = [*_take_apart(ordered)]
        rest = text
        for each in reversed(days):
            rest = rest[: each.start()] + rest[each.end() :]
        free = [pair for pair in self.often if self._is_free(pair, rest)]
        if len(days) > len(free) - attempt:
            return {}
        return {
            Verbatim(match.start(), match.end(), DAY): self._stand_in(match, pair)
            for match, pair in zip(days, free[attempt:], strict=False)
        }

    def stand_for_time(self, own: str, text: str) -> StandIn:
        """Return the stand-in for a time like 7:45 or 8:00 p.m., which the network reads as `text`.

        Only English says p.m.; other languages count to 24.
        """
        time, half = own.rstrip(HALF), own[len(own.rstrip(HALF)) :].strip().lower()
        hours, colon, rest = time.partition(":")
        if half and self.counts_to_24:
            own = f"{int(hours) % 12 + 12 * half.startswith('p')}{colon}{rest}"
        if not (self.target and self.target.hours):
            return StandIn(text, own)
        behind = rf"(?: (?:{self.target.hours})(?!\w))?(?!\w|[.,:]\d)"
        return StandIn(text, own, pattern=rf"(?<![\w])(?<!\d[.,]){text}{behind}")

    def _is_free(self, pair: tuple[int, int], rest: str) -> bool:
        assert self.source
        month, day = pair
        is_there = re.search(rf"(?<!\d){day}(?!\d)", rest)
        return self.source.months[month - 1] not in rest and not is_there

    def _stand_in(self, match: re.Match[str], pair: tuple[int, int]) -> StandIn:
        assert self.source and self.target
        text, message, pattern = self.spell_often(pair)
        if "numeric" in match.groupdict():
            return StandIn(text, match[0], message, pattern)
        day, month = int(match["day"]), self.source.months.index(match["month"]) + 1
        own, theirs = self.source.months[pair[0] - 1], self.target.months[pair[0] - 1]
        name = self.target.months[month - 1] + (f" {match['year']}" if match["year"] else "")
        original = self.target.write(day, month, match["year"])
        names = (str(pair[1]), str(day)), (own, match["month"]), (theirs, name)
        return StandIn(text, original, message, pattern, names)

    def spell_often(self, pair: tuple[int, int]) -> tuple[str, str, str]:
        """Return how a source says a frequent day, and how a target, with a pattern of that."""
        assert self.source and self.target
        month, day = pair
        message = {"day": day, "month": self.target.months[month - 1]}
        return (
            self.source.phrase.format(day=day, month=self.source.months[month - 1]),
            self.target.phrase.format(**message),
            rf"(?<!\w)(?:{self.target.written.format(**message)})(?!\w)",
        )


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _take_apart(matches: Sequence[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Yield those that do not begin within another one, and name a day that there may be."""
    at = 0
    for match in matches:
        day = int(match.groupdict().get("day", LAST_DAY))
        if match.start() >= at and 0 < day <= LAST_DAY:
            yield match
            at = match.end()
