"""Searching: sentences in, hypotheses out, whatever the search and whatever the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..config import Decode
from . import beam, greedy, sample
from .jobs import plan, queue, take
from .live import Live
from .protocol import Network, S
from .results import Hypothesis, best, endings
from .step import Step
from .working import WorkingSet

BUDGET = 4096  # source pieces of all rows at work, padding included
STEPS: dict[str, Callable[[Tensor, Live, Decode], Step]] = {
    "beam": beam.step,
    "greedy": greedy.step,
    "sample": sample.step,
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
    budget: int = BUDGET,
    refill: bool | None = None,
    device: torch.device | str = "cpu",
    watch: Callable[[list[int], Step], object] | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[list[Hypothesis]]:
    """The `n_best` hypotheses of each source, best first, in the order of the input.

    sources: ids, each ending with EOS. prefixes: how each translation must begin. lines: the
    number of each sentence in the whole text, from 0; sampling is keyed by it and by `seed`.
    longest: the most pieces that the network can be given. budget: rows times the longest source
    at work. refill: let sentences join as soon as there is room, not when all are done; None:
    anywhere but on a CPU, where a step costs as much as it has rows. watch: is shown the indices
    of the sentences at work, and each step. progress: is told how many are done since last told.
    Gradients and precision are the caller's: call it under `torch.inference_mode()`.
    """
    _check(n_best, settings)
    jobs = plan(sources, prefixes, lines, longest, settings)
    limit = max((job.limit for job in jobs), default=0)
    at_work = WorkingSet(network, settings, n_best, seed, limit, device)
    waiting = queue(jobs)
    refill = torch.device(device).type != "cpu" if refill is None else refill
    found: list[list[Hypothesis]] = [[] for _ in jobs]
    while waiting or at_work.jobs:
        if refill or not at_work.jobs:
            at_work.admit(take(waiting, at_work.jobs, budget // at_work.rows))
        step = STEPS[settings.search](at_work.feed(), at_work.live, settings)
        if watch:
            watch([job.index for job in at_work.jobs], step)
        # All that the host must know of every step, in one transfer.
        stops, ends = torch.stack((step.stop_B, step.finished_BC.any(1))).tolist()
        if any(stops) or any(ends):
            for place, hypothesis in endings(step):
                found[at_work.jobs[place].index].append(hypothesis)
        done = at_work.move(step, stops)
        for job in done:
            found[job.index] = best(found[job.index], n_best, job.line)
        if done and progress:
            progress(len(done))
    return found


def _check(n_best: int, settings: Decode) -> None:
    if n_best < 1:
        raise ValueError(f"n_best={n_best}: at least 1 hypothesis is found")
    if n_best > 1 and settings.search != "beam":
        raise ValueError(f"n_best={n_best}: {settings.search} search finds 1; use search=beam")
    if n_best > settings.beam:
        raise ValueError(f"n_best={n_best} needs a beam as wide, not beam={settings.beam}")
