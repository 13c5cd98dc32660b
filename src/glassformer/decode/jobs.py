"""The sentences to search for, and the order in which they are taken.

The longest sentences come first, so that memory runs out at once or never, and sentences that join
later fit into the padding that is there already.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..config import Decode
from ..text import EOS
from .rules import longest_output

FEWEST = 16  # sentences that a worker takes at once, if so many are left
TAKES = 3  # the first take of a worker is 1 / TAKES of its share of the queue


@dataclass(frozen=True)
class SearchJob:
    """A sentence to translate, with the limits of its search."""

    index: int  # its index in the input
    line: int  # its number in the whole text, from 0: a key of sampling
    source: Sequence[int]
    prefix: Sequence[int]  # the tokens that its translation must begin with
    limit: int  # the most tokens of its translation, EOS counted

    @property
    def size(self) -> int:
        """Return the largest number of tokens that the network reads at once."""
        return max(len(self.source), len(self.prefix) + 1)


def plan_jobs(
    sources: Sequence[Sequence[int]],
    prefixes: Sequence[Sequence[int]] | None,
    lines: Sequence[int] | None,
    longest: int | None,
    settings: Decode,
) -> list[SearchJob]:
    """Return a job for each source.

    Raise ValueError, which names the line counted from 1, where a source or prefix is invalid.
    """
    prefixes = [()] * len(sources) if prefixes is None else prefixes
    lines = range(len(sources)) if lines is None else lines
    if not len(sources) == len(prefixes) == len(lines):
        raise ValueError(f"{len(sources)} sources, {len(prefixes)} prefixes, {len(lines)} lines")
    jobs = []
    for index, (line, source, prefix) in enumerate(zip(lines, sources, prefixes, strict=True)):
        if not source or source[-1] != EOS:
            raise ValueError(f"line {line + 1}: the ids of a source end with EOS ({EOS})")
        if prefix and min(prefix) <= EOS:
            raise ValueError(f"line {line + 1}: {min(prefix)} is a control id: not in a prefix")
        limit = longest_output(len(source) - 1, settings, longest)
        for what, tokens in (("the prefix", len(prefix)), ("min_length", settings.min_length)):
            if tokens >= limit:
                raise ValueError(
                    f"line {line + 1}: {what} asks for {tokens} tokens, "
                    f"but with EOS there may be {limit}: at most {limit - 1} fit"
                )
        jobs.append(SearchJob(index, line, source, prefix, limit))
    return jobs


def queue(jobs: Iterable[SearchJob]) -> deque[SearchJob]:
    """Return the jobs in the order in which they are searched for: the longest first."""
    return deque(sorted(jobs, key=lambda job: (-job.size, job.index)))


def take(
    waiting: deque[SearchJob], working: list[SearchJob], room: int, workers: int = 1
) -> list[SearchJob]:
    """Remove from the queue the next sentences that fit beside those at work, and return them.

    `room` is the budget in tokens, padding included; one sentence is taken in any case if none is
    at work. A few sentences are not worth a run of the encoder, so none are taken until the room
    is enough for a quarter of those at work. Where several workers share the queue, each takes a
    part of what is left, so that all finish at about the same time.
    """
    if not waiting:
        return []
    size = max(job.size for job in (*working, waiting[0]))
    free = max(room // size - len(working), 0 if working else 1)
    if 4 * free < len(working):
        return []
    share = -(-len(waiting) // (TAKES * workers)) if workers > 1 else len(waiting)
    return [waiting.popleft() for _ in range(min(free, max(share, FEWEST), len(waiting)))]
