"""The sentences that a worker searches for at once.

Letters: B sentences; W rows of each, R = B * W; L tokens, aligned on the right; Q new tokens of
each row; V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Generic

import torch
from torch import Tensor

from ..config import Decode
from ..kernels.topk import Best
from ..text import BOS, EOS, PAD
from .hypotheses import Hypotheses
from .jobs import SearchJob
from .protocol import Finder, Network, S
from .rules import count_candidates, is_free
from .sample import make_keys
from .score import log_probs_of, padded
from .step import Step


class WorkingSet(Generic[S]):
    """The sentences at work: their jobs, the network's state and the hypotheses, in one order."""

    state: S
    live: Hypotheses

    def __init__(
        self,
        network: Network[S],
        settings: Decode,
        n_best: int,
        seed: int,
        longest: int,
        device: torch.device | str,
    ) -> None:
        self.network, self.n_best, self.seed, self.device = network, n_best, seed, device
        self.candidates = count_candidates(settings)
        self.finder = network if isinstance(network, Finder) and is_free(settings) else None
        self.rows = settings.beam if settings.search == "beam" else 1  # of each sentence
        self.keys = longest if settings.search == "sample" else 0  # of sampling, one for each token
        self.jobs: list[SearchJob] = []
        self.unsettled: dict[int, SearchJob] = {}  # jobs that are not finished, by index
        self.unread = 1  # the most tokens of a row that the network has not read yet

    def admit(self, jobs: list[SearchJob]) -> None:
        """Append sentences to those at work, and let the network encode them."""
        if not jobs:
            return
        self.unsettled |= {job.index: job for job in jobs}
        source_BS = padded([job.source for job in jobs], self.device)
        self.unread = 1 + max(len(job.prefix) for job in jobs)
        live = self._begin(jobs)
        if self.jobs:
            self.network.admit(source_BS, self.state)
            self.live = self.live.join(live)
        else:
            self.state = self.network.start(source_BS)
            if self.rows > 1:
                sentences = torch.arange(len(jobs), device=self.device)
                self.network.keep(sentences.repeat_interleave(self.rows), self.state)
            self.live = live
        self.jobs += jobs

    def _begin(self, jobs: list[SearchJob]) -> Hypotheses:
        """Return the hypotheses of new sentences: the forced prefix in the first row, no others."""
        device, shape = self.device, (len(jobs), self.rows)
        filled = [[PAD] * (self.unread - 1 - len(job.prefix)) + [BOS, *job.prefix] for job in jobs]
        tokens_BWL = torch.tensor(filled, device=device)[:, None].repeat(1, self.rows, 1)
        log_prob_BW = torch.full(shape, -math.inf, device=device)
        log_prob_BW[:, 0] = 0
        return Hypotheses(
            tokens_BWL=tokens_BWL,
            token_log_probs_BWL=torch.zeros(tokens_BWL.shape, device=device),
            log_prob_BW=log_prob_BW,
            length_B=torch.tensor([len(job.prefix) for job in jobs], device=device),
            limit_B=torch.tensor([job.limit for job in jobs], device=device),
            best_BN=torch.full((len(jobs), self.n_best), -math.inf, device=device),
            finished_B=torch.zeros(len(jobs), dtype=torch.long, device=device),
            keys_BL=make_keys(self.seed, [job.line for job in jobs], self.keys).to(device),
        )

    def feed(self) -> Tensor | Best:
        """Feed the network the unread tokens of each row; return the logits that follow, R V.

        Return only the best of them where the search needs no more and the network is a `Finder`.
        """
        if self.unread > 1:
            return self._feed_prefixes()
        tokens_R1 = self.live.tokens_RL[:, -1:]
        if self.finder:
            best = self.finder.find_best(tokens_R1, self.state, self.candidates, EOS)
            if best is not None:
                return best
        return self.network.step(tokens_R1, self.state)[:, 0]

    def _feed_prefixes(self) -> Tensor:
        """Feed all forced tokens in one step; return the logits after the last of each row, R V.

        Most rows have fewer new tokens than the longest, so the network is rewound.
        """
        live, width = self.live, self.live.tokens_BWL.size(-1)
        length_R1 = (live.length_B + 1).repeat_interleave(self.rows)[:, None]  # BOS counted
        unread_R1 = length_R1 - self.state.length_R[:, None]
        nth_Q = torch.arange(self.unread, device=self.device)
        column_RQ = (width - unread_R1 + nth_Q).clamp(max=width - 1)
        tokens_RQ = live.tokens_RL.gather(1, column_RQ)
        logits_RQV = self.network.step(tokens_RQ, self.state)
        self.network.rewind(length_R1[:, 0], self.state)

        forced_RQ = log_probs_of(tokens_RQ[:, 1:], logits_RQV[:, :-1])
        forced_RQ = forced_RQ.masked_fill(nth_Q[1:] >= unread_R1, 0)
        log_probs_RL = live.token_log_probs_BWL.flatten(0, 1).scatter_add(
            1, column_RQ[:, 1:], forced_RQ
        )
        self.live = replace(
            live,
            token_log_probs_BWL=log_probs_RL.view_as(live.token_log_probs_BWL),
            log_prob_BW=live.log_prob_BW + forced_RQ.sum(1).view_as(live.log_prob_BW),
        )
        self.unread = 1
        return logits_RQV[torch.arange(len(tokens_RQ), device=self.device), unread_R1[:, 0] - 1]

    def move(self, step: Step, stops: list[bool]) -> list[SearchJob]:
        """Continue with the hypotheses that are kept; remove and return the jobs that are done."""
        done = [job for job, stop in zip(self.jobs, stops, strict=True) if stop]
        self.jobs = [job for job, stop in zip(self.jobs, stops, strict=True) if not stop]
        if not self.jobs:
            return done
        self.live = step.after()
        row_BW = step.parent_BC.gather(1, step.kept_BW)
        row_BW += self.rows * torch.arange(len(row_BW), device=self.device)[:, None]
        if done:
            stay = torch.tensor([b for b, stop in enumerate(stops) if not stop], device=self.device)
            self.live, row_BW = self.live.select(stay), row_BW[stay]
        if done or self.rows > 1:
            self.network.keep(row_BW.flatten(), self.state)
        return done
