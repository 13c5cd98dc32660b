"""What waits to be searched for, and what has been found; workers share one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

from .budget import Budget
from .jobs import SearchJob, queue, take
from .results import Hypothesis, best


class Queue:
    """rows: of each sentence at work. n_best: how many hypotheses of each are wanted. progress: is
    told how many sentences are done since last told."""

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
        """The next sentences that find room beside those."""
        with self.lock:
            return take(self.waiting, working, self.budget.tokens // self.rows, self.workers)

    def settle(self, job: SearchJob) -> None:
        """All of it has been found."""
        self.found[job.index] = best(self.found[job.index], self.n_best)
        with self.lock:
            self.tell(1)

    def has_work(self, unsettled: Iterable[SearchJob]) -> bool:
        """Whether a worker is to go on. Those that memory ran out on begin anew, fewer at once; who
        had no room for a single one leaves it to the others."""
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
