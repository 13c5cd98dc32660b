"""What is to be searched for, and what of it comes next.

The longest sentences come first: memory runs out at once or never, and whoever joins later fits
under the padding that is there already.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..config import Decode
from ..text import EOS
from .rules import longest_output

FEWEST = 16  # sentences that a worker takes at once, if there are so many
TAKES = 3  # of several workers each would take so often, if they always took as many


@dataclass(frozen=True)
class SearchJob:
    """One sentence to search for."""

    index: int  # its place in the input
    line: int  # its number in the whole text, from 0: what sampling is keyed by
    source: Sequence[int]
    prefix: Sequence[int]  # how its translation must begin
    limit: int  # the most tokens, EOS counted

    @property
    def size(self) -> int:
        """Tokens that the network reads at once."""
        return max(len(self.source), len(self.prefix) + 1)


def plan_jobs(
    sources: Sequence[Sequence[int]],
    prefixes: Sequence[Sequence[int]] | None,
    lines: Sequence[int] | None,
    longest: int | None,
    settings: Decode,
) -> list[SearchJob]:
    """A job for each source. ValueError where one cannot be done, naming the line from 1."""
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
    """The order in which sentences are searched for."""
    return deque(sorted(jobs, key=lambda job: (-job.size, job.index)))


def take(
    waiting: deque[SearchJob], working: list[SearchJob], room: int, workers: int = 1
) -> list[SearchJob]:
    """The next sentences of the queue that find room beside those at work; at least one works.

    `room` is in tokens, padding included. Few newcomers are not worth an encoder's run: they
    wait until there is room for a quarter of those at work. Where several workers share the
    queue, each takes a little of what is left, so that all are done at about one time.
    """
    if not waiting:
        return []
    size = max(job.size for job in (*working, waiting[0]))
    free = max(room // size - len(working), 0 if working else 1)
    if 4 * free < len(working):
        return []
    share = -(-len(waiting) // (TAKES * workers)) if workers > 1 else len(waiting)
    return [waiting.popleft() for _ in range(min(free, max(share, FEWEST), len(waiting)))]
