"""Sentences that are read with those before them (k-to-1: Tiedemann and Scherrer 2017).

An extended source is a text of several lines: its last line is the sentence that is translated, and
the lines before it are its context. In tokens, a separator follows each sentence of the context.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from .unicode import Span

Rows = list[list[int]]


class PrecedingLines:
    """The last lines of a document that is read line by line; an empty line ends it."""

    def __init__(self, most: int) -> None:
        """`most`: the number of lines that a context has at most."""
        self._lines = deque[str](maxlen=most)

    @property
    def context(self) -> str:
        """Return the lines before the next one."""
        return "\n".join(self._lines)

    def add(self, line: str) -> None:
        if line.strip():
            self._lines.append(line.replace("\n", " "))
        else:
            self.end()

    def end(self) -> None:
        """Begin another document."""
        self._lines.clear()


def list_contexts(lines: Iterable[str], document: PrecedingLines) -> Iterator[str]:
    """Yield the lines before each line, and add the line to the document."""
    for line in lines:
        yield document.context
        document.add(line)


def extend_source(context: str, sentence: str) -> str:
    """Return a sentence, on one line, after the lines of its context; an empty one stays alone."""
    flat = sentence.replace("\n", " ")
    return f"{context}\n{flat}" if context and flat.strip() else flat


def cut_source(extended: str) -> tuple[str, str]:
    """Return the context and the sentence of an extended source."""
    context, _, sentence = extended.rpartition("\n")
    return context, sentence


def has_empty_line(text: str) -> bool:
    """Return whether a line within a text is empty, as between two paragraphs."""
    return any(not line.strip() for line in text.split("\n")[1:-1])


def find_lines(text: str, most: int) -> list[Span]:
    """Return the spans of the lines that are read: the last, and up to `most` of its document."""
    spans, at = list[Span](), 0
    for line in text.rstrip().split("\n"):
        if line.strip():
            spans.append((at, at + len(line)))
        else:
            spans.clear()
        at += len(line) + 1
    return spans[-1 - most :] or [(0, len(text))]


def encode_sources(
    sources: Sequence[Sequence[str]],
    encode: Callable[[list[str]], list[Rows]],
    separator: int,
    room: int,
) -> list[Rows]:
    """Return the ids of sources, each given as its lines, in every segmentation of `encode`.

    room: the most ids of a source. Where it is too little, the oldest lines are left out.
    """
    texts = [*dict.fromkeys(chain.from_iterable(sources))]
    known = [dict(zip(texts, rows, strict=True)) for rows in encode(texts)]
    return [
        [join_ids([ids[line] for line in lines], separator, room) for lines in sources]
        for ids in known
    ]


def join_ids(rows: Sequence[Sequence[int]], separator: int, room: int) -> list[int]:
    """Return the ids of the last sentence after those before it that there is room for."""
    first = len(rows) - 1 - count_context([*map(len, rows)], room)
    context = [id for row in rows[first:-1] for id in (*row, separator)]
    return [*context, *rows[-1]]


def count_context(lengths: Sequence[int], room: int) -> int:
    """Return how many sentences fit before the last one, each with a separator.

    lengths: the number of tokens of each sentence, the last one's at the end.
    """
    left, fitting = room - lengths[-1], 0
    for length in reversed(lengths[:-1]):
        left -= length + 1
        if left < 0:
            break
        fitting += 1
    return fitting


def count_own(ids: Sequence[int], separator: int) -> int:
    """Return how many tokens of a source are those of its sentence, EOS not counted."""
    after = next((n for n, id in enumerate(reversed(ids)) if id == separator), len(ids))
    return after - 1
