"""Reference marks in HTML, such as <sup>[1]</sup>: they are no words of their sentence.

Each becomes one point with all its tags, which stays behind its word and is written as it was.
"""

import html
import re
from collections.abc import Sequence

from .run_parts import RunPart

LONGEST = 16  # parts of a mark, its tags included
MOST = 40  # characters of a mark
_NUMBERS = r"\d{1,4}(?:\s?[,;–-]\s?\d{1,4})*"
_INSIDE = rf"\s?(?:(?:[^\W\d_]{{1,8}}\.?\s?)?{_NUMBERS}|[^\W\d_]{{1,2}}|[ivx]+)\s?"
_SIGNS = r"[*∗†‡§¶#^↑↓←→↩↵⁎⁑]{1,4}\ufe0e?"
_NOTE = re.compile(r"""\s(?:epub:type|role)\s*=\s*["']?(?:doc-)?noteref\b""")
_MARK = re.compile(rf"\[{_INSIDE}\]|{_SIGNS}")
_RAISED = re.compile(rf"\[{_INSIDE}\]|\({_INSIDE}\)|{_SIGNS}|{_NUMBERS}|[a-d]")


def fold_reference_marks(parts: Sequence[RunPart]) -> list[RunPart]:
    """Return the parts of a run, with each reference mark as one point."""
    folded: list[RunPart] = []
    at = 0
    while at < len(parts):
        end = _find_mark_end(parts, at) if parts[at].kind == "open" else 0
        if end:
            raw = "".join(part.raw for part in parts[at:end])
            folded.append(RunPart(raw, "point", parts[at].name))
        else:
            folded.append(parts[at])
        at = end or at + 1
    return folded


def _find_mark_end(parts: Sequence[RunPart], start: int) -> int:
    """Return the number of the part after the mark that begins with this tag; 0 if none does."""
    opened, text, is_raised = list[str](), "", True
    for number, part in enumerate(parts[start : start + LONGEST], start):
        if part.kind == "open":
            opened.append(part.name)
        elif part.kind == "close":
            if opened.pop() != part.name:
                return 0
        elif part.kind == "text":
            text += html.unescape(part.raw[: 10 * MOST])
            is_raised = is_raised and ("sup" in opened or part.raw.isspace())
        if len(text) > MOST:
            return 0
        if not opened:
            is_note = is_raised or _NOTE.search(parts[start].raw)
            is_mark = (_RAISED if is_note else _MARK).fullmatch(text.strip())
            return number + 1 if is_mark else 0
    return 0
