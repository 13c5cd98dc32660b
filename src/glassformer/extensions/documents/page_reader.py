"""A process that reads pages of HTML for a server, and answers with their runs as JSON."""

import json
import sys
from typing import IO, Any

from .failures import Failures
from .markup import MarkupPage, Run, read_markup
from .messages import limit_address_space, receive, send, send_error
from .placing import TagMark
from .verbatim_points import VerbatimPoint

READER = __name__
MEMORY = 1 << 30  # bytes it may have


def serve_pages(inputs: IO[bytes], out: IO[bytes]) -> None:
    """Answer what comes, until the server has gone."""
    while True:
        order = json.loads(receive(inputs))
        try:
            send(out, _answer(order))
        except MemoryError:
            send_error(out, f"the page needs more than {MEMORY >> 20:,} MiB of memory")


def _answer(order: dict[str, Any]) -> bytes:
    failures = Failures()
    pages = [read_markup(text, failures) for texts in order.values() for text in texts]
    if "count" in order:
        return b"%d" % sum(len(run.full_text) for page in pages for run in page.runs)
    content = [[_spell(part) for part in page.parts] for page in pages]
    return json.dumps([content, failures.said]).encode()


def _spell(part: str | Run) -> str | list[Any]:
    """Return a part of a page as JSON has it: a run is a list of its fields."""
    if isinstance(part, str):
        return part
    marks = [_spell_mark(mark) for mark in part.marks]
    outside = (part.before, part.after, [*part.tied], part.raw)
    whole = _spell(part.whole) if part.whole else None
    return [part.text, marks, part.entities, *outside, part.points, whole]


def _spell_mark(mark: TagMark) -> list[Any]:
    children = [_spell_mark(each) for each in mark.children]
    return [mark.start, mark.end, mark.open, mark.close, mark.spaced, children, mark.close_count]


def unpack_pages(answer: bytes) -> tuple[list[MarkupPage], list[str]]:
    """Return the pages of an answer, and what of them cannot be read."""
    content, reasons = json.loads(answer)
    return [MarkupPage([*map(_make_part, parts)]) for parts in content], reasons


def _make_part(part: str | list[Any]) -> str | Run:
    if isinstance(part, str):
        return part
    text, marks, entities, before, after, tied, raw, points, spelled = part
    pairs = {(first, second) for first, second in tied}
    whole = _make_part(spelled) if spelled else None
    return Run(
        text,
        [*map(_make_mark, marks)],
        entities,
        before,
        after,
        pairs,
        raw,
        [VerbatimPoint(*each) for each in points],
        whole if isinstance(whole, Run) else None,
    )


def _make_mark(spelled: list[Any]) -> TagMark:
    start, end, opened, close, (left, right), children, count = spelled
    inner = [*map(_make_mark, children)]
    return TagMark(start, end, opened, close, (left, right), inner, count)


if __name__ == "__main__":
    limit_address_space(MEMORY)
    serve_pages(sys.stdin.buffer, sys.stdout.buffer)
