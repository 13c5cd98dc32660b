"""The queue of sentences to search for, with the results; all workers share it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

from .budget import Budget
from .jobs import SearchJob, queue, take
from .results import Hypothesis, best


class Queue:
    """The sentences that wait, and the hypotheses that were found.

    rows: the rows of each sentence at work. n_best: the number of hypotheses wanted of each.
    progress: called with the number of sentences done since its last call.
    """

    def __init__(
        self,
        jobs: list[SearchJob],
        budget: Budget,
        rows: int,
        workers: int,
        n_best: int,
        progress: Callable[[int], object] | None,
    ):
        self.waiting, self.lock, self.budget = queue(jobs), Lock(), budget
        self.rows, self.workers, self.n_best = rows, workers, n_best
        self.found: list[list[Hypothesis]] = [[] for _ in jobs]
        self.tell = progress or (lambda done: None)

    def take(self, working: list[SearchJob]) -> list[SearchJob]:
        """Remove and return the next sentences that fit beside those at work."""
        with self.lock:
            return take(self.waiting, working, self.budget.tokens // self.rows, self.workers)

    def settle(self, job: SearchJob) -> None:
        """Keep the best hypotheses of a finished sentence, and report progress."""
        self.found[job.index] = best(self.found[job.index], self.n_best)
        with self.lock:
            self.tell(1)

    def has_work(self, unsettled: Iterable[SearchJob]) -> bool:
        """Return whether a worker is to continue; put its unsettled sentences back into the queue.

        Sentences are unsettled when memory ran out on them. They begin anew, with a smaller budget.
        A worker whose memory did not suffice for a single sentence stops and leaves it to the other
        workers.
        """
        jobs = queue(unsettled)
        for job in jobs:
            self.found[job.index] = []
        with self.lock:
            self.waiting.extendleft(reversed(jobs))
            if (len(jobs) == 1 and self.workers > 1) or not self.waiting:
                self.workers -= 1
                return False
            if jobs:
                self.budget.shrink(len(jobs), jobs[0].size, jobs[0].line, self.rows)
            return True
