"""The search for the best translations, with any search method and any network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..config import Decode
from ..out_of_memory import is_out_of_memory
from . import beam, greedy, sample
from .budget import Budget, as_budget
from .hypotheses import Hypotheses
from .jobs import SearchJob, plan_jobs
from .protocol import Network, S
from .queue import Queue
from .results import Hypothesis, endings, explain_nothing
from .step import Step
from .thread_pool import share
from .working import WorkingSet

BUDGET = 4096  # source tokens of all rows at work, padding included
STEPS: dict[str, Callable[[Any, Hypotheses, Decode], Step]] = {
    "beam": beam.step_beam,
    "greedy": greedy.step_greedy,
    "sample": sample.step_sample,
}


def search(
    network: Network[S],
    sources: Sequence[Sequence[int]],
    settings: Decode,
    *,
    n_best: int = 1,
    prefixes: Sequence[Sequence[int]] | None = None,
    lines: Sequence[int] | None = None,
    seed: int = 0,
    longest: int | None = None,
    budget: int | Budget = BUDGET,
    refill: bool | None = None,
    workers: int = 1,
    device: torch.device | str = "cpu",
    watch: Callable[[list[int], Step], object] | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of each source, best first, in the order of the input.

    sources: ids, each ending with EOS. prefixes: the tokens that each translation must begin with.
    lines: the number of each sentence in the whole text, from 0; sampling is keyed by it and by
    `seed`. longest: the most tokens that the network can read. budget: rows times the longest
    source at work, in tokens; it shrinks where memory runs out, and the sentences at work begin
    anew. refill: let sentences join as soon as there is room; None: not on a CPU, unless the
    network `refills`. workers: threads that share the sentences and the processor. watch: called
    with the indices of the sentences at work, and each step. progress: called with the number of
    sentences done since its last call. Raises ValueError for settings or sources that cannot be
    searched, and NotFiniteError, a ValueError, for logits that are not finite. The caller sets
    gradients and precision: call it under `torch.inference_mode()`.
    """
    _check(n_best, settings)
    jobs = plan_jobs(sources, prefixes, lines, longest, settings)
    limit = max((job.limit for job in jobs), default=0)
    if refill is None:
        refill = torch.device(device).type != "cpu" or getattr(network, "refills", False)
    rows = settings.beam if settings.search == "beam" else 1
    queue = Queue(jobs, as_budget(budget), rows, workers, n_best, progress)

    def work() -> None:
        unsettled: list[SearchJob] = []
        while queue.has_work(unsettled):
            at_work = WorkingSet(network, settings, n_best, seed, limit, device)
            try:
                _search(at_work, settings, refill, queue, watch)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error) or not at_work.unsettled:
                    raise
            unsettled = [*at_work.unsettled.values()]
            del at_work  # this frees its memory

    share(work, workers, queue.waiting.clear)
    return queue.found


def _search(
    at_work: WorkingSet[S],
    settings: Decode,
    refill: bool,
    queue: Queue,
    watch: Callable[[list[int], Step], object] | None,
) -> None:
    """Search until no job is left, and add the hypotheses that end to `queue.found`."""
    while True:
        if refill or not at_work.jobs:
            at_work.admit(queue.take(at_work.jobs))
        if not at_work.jobs:
            return
        step = STEPS[settings.search](at_work.feed(), at_work.live, settings)
        if watch:
            watch([job.index for job in at_work.jobs], step)
        # All that the host needs of every step, in one transfer.
        stops, ends = torch.stack((step.stop_B, step.finished_BC.any(1))).tolist()
        if any(stops) or any(ends):
            for place, hypothesis in endings(step):
                queue.found[at_work.jobs[place].index].append(hypothesis)
            for place, job in enumerate(at_work.jobs):
                if stops[place] and not queue.found[job.index]:
                    raise explain_nothing(step, place, job.line, settings)
        for job in at_work.move(step, stops):
            queue.settle(job)
            del at_work.unsettled[job.index]


def _check(n_best: int, settings: Decode) -> None:
    if n_best < 1:
        raise ValueError(f"n_best={n_best}: at least 1 hypothesis is found")
    if n_best > 1 and settings.search != "beam":
        raise ValueError(f"n_best={n_best}: {settings.search} search finds 1; use search=beam")
    if n_best > settings.beam:
        raise ValueError(f"n_best={n_best} needs a beam as wide, not beam={settings.beam}")
