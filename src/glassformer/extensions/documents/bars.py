"""Plurals in one text, with bars between their forms, as Symfony, Laravel and vue-i18n have them.

A form may begin with the numbers that it is for: "{0} none|{1} one|]1,Inf[ many".
"""

import re
from collections.abc import Sequence

from glassformer.text.symbols import touches
from glassformer.text.unicode import Span

_BAR = re.compile(r"(?<!\|)\|(?!\|)")  # two are one mark
_END = r"\s*(?:[-+]?(?:\d+(?:\.\d+)?|Inf)|\*)\s*"
_NUMBERS = re.compile(
    rf"\s*(?:\{{{_END}(?:,{_END})*\}}|[\[\]]{_END}(?:,{_END})?[\[\]]"
    r"|(?:zero|one|two|few|many|none|some|more|other):)"
)


def cut_at_bars(text: str, kept: Sequence[Span]) -> list[str]:
    """Return the forms of a text, at even places, and what is before or between them.

    kept: the spans of placeholders and the like, in order: a bar in them is none.
    """
    bars = [bar.start() for bar in _BAR.finditer(text) if not touches(bar.span(), kept)]
    if not bars:
        return [text]
    starts, ends = [0, *(bar + 1 for bar in bars)], [*bars, len(text)]
    numbers = [_NUMBERS.match(text, *span) for span in zip(starts, ends, strict=True)]
    different = [each[0].strip() for each in numbers if each]
    if len({*different}) < len(different):  # {0} is a placeholder
        numbers = [None for _ in numbers]
    begins = [own.end() if own else start for own, start in zip(numbers, starts, strict=True)]
    parts = [] if begins[0] == 0 else ["", text[: begins[0]]]
    for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        parts += [text[begin:end], text[end : begins[number + 1]] if number < len(bars) else ""]
    return parts[:-1]
