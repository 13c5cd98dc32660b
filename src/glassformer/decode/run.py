"""The search for the best translations, with any search method and any network.

Each worker runs the loop of `find_hypotheses`: sentences join a batch, the network reads the newest
tokens, the method of search chooses how each hypothesis continues (a `Step`), and sentences that
are done leave the batch.

Letters: B sentences; W rows of each, R = B * W; L tokens, aligned on the right; Q new tokens of
each row; V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Generic

import torch
from torch import Tensor

from ..config import BOS, PAD, Decode
from ..foundation.extensions import need_addition
from ..foundation.machine.device import free_memory, run_in_threads
from ..foundation.machine.out_of_memory import is_out_of_memory
from .beam import step_beam
from .diverse import step_diverse
from .protocol import Network, S
from .rules import count_rows
from .sample import make_keys, step_greedy, step_sample
from .score import log_probs_of, padded
from .sentences import (
    Budget,
    Constraint,
    Hypothesis,
    Queue,
    QueuedSentence,
    Rows,
    check_search,
    explain_nothing,
    plan_sentences,
    rank,
)
from .step import Hypotheses, Step, endings

BUDGET = 4096  # source tokens of all rows at work, padding included
METHODS: dict[str, Callable[[Any, Hypotheses, Decode], Step]] = {
    "beam": step_beam,
    "greedy": step_greedy,
    "sample": step_sample,
}
Watch = Callable[[list[int], Step], object]
Found = tuple[QueuedSentence, list[Hypothesis]]


def search(
    network: Network[S],
    sources: Rows,
    settings: Decode,
    *,
    n_best: int = 1,
    prefixes: Rows | None = None,
    lines: Sequence[int] | None = None,
    constraints: Sequence[Sequence[Constraint]] | None = None,
    seed: int = 0,
    longest: int | None = None,
    budget: int | Budget = BUDGET,
    refill: bool | None = None,
    workers: int = 1,
    device: torch.device | str = "cpu",
    watch: Watch | None = None,
    progress: Callable[[int], object] | None = None,
    lengths: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of each source, best first, in the order of the input.

    sources: ids, each ending with EOS. prefixes: the tokens that each translation must begin with.
    lines: the number of each sentence in the whole text, from 0; sampling is keyed by it and by
    `seed`. constraints: phrases that each translation has to contain, for a beam search. longest:
    the most tokens that the network can read. budget: rows times the longest source at work, in
    tokens; it shrinks where memory runs out, and the sentences at work begin anew. refill: let
    sentences join as soon as there is room; None: not on a CPU. workers: threads that share the
    sentences and the processor. watch: called with the indices of the sentences at work, and each
    step. progress: called with the number of sentences done since its last call. lengths: the
    tokens of each source that the limit of its translation counts, if not all but EOS.
    Raises ValueError for settings or sources that cannot be searched, and NotFiniteError, a
    ValueError, for logits that are not finite. The caller sets gradients and precision: call it
    under `torch.inference_mode()`.
    """
    check_search(n_best, settings, seed)
    sentences = plan_sentences(sources, prefixes, lines, longest, settings, constraints, lengths)
    if constraints and settings.search != "beam":
        raise ValueError(f"a glossary needs search=beam, not search={settings.search}")
    limit = max((sentence.limit for sentence in sentences), default=0)
    hypothesis: list[list[Hypothesis]] = [[] for _ in sentences]
    queue = Queue(sentences, budget, count_rows(settings), workers)
    if refill is None:
        refill = torch.device(device).type != "cpu"

    def work() -> None:
        """Search until no sentence waits; where memory runs out, begin anew with fewer at once."""
        lost: list[QueuedSentence] = []
        while queue.has_work(lost):
            batch = SearchBatch(network, settings, n_best, seed, limit, device)
            try:
                for sentence, best in find_hypotheses(batch, queue, refill, watch):
                    hypothesis[sentence.index] = best
                    if progress:
                        with queue.lock:
                            progress(1)
            except (RuntimeError, MemoryError) as error:
                lost = [sentence for sentence in batch.admitted if not hypothesis[sentence.index]]
                if not is_out_of_memory(error) or not lost:
                    raise
            else:
                lost = []
            del batch
            if lost:
                free_memory()

    run_in_threads(work, workers, stop=queue.waiting.clear)
    return hypothesis


def find_hypotheses(
    batch: SearchBatch[S], queue: Queue, refill: bool, watch: Watch | None
) -> Iterator[Found]:
    """Yield each sentence of the queue with its best hypotheses, as soon as its search is done."""
    settings = batch.settings
    is_diverse = settings.search == "beam" and settings.beam_groups > 1
    choose = step_diverse if is_diverse else METHODS[settings.search]
    while True:
        if refill or not batch.sentences:
            batch.admit(queue.take(batch.sentences))
        if not batch.sentences:
            return
        if any(sentence.constraints for sentence in batch.sentences):
            hypotheses = [sentence.constraints for sentence in batch.sentences]
            choose_bound = need_addition("step_constrained", "a glossary")
            step = choose_bound(batch.feed(), batch.hypotheses, batch.settings, hypotheses)
        else:
            step = choose(batch.feed(), batch.hypotheses, batch.settings)
        if watch:
            watch([sentence.index for sentence in batch.sentences], step)
        yield from batch.advance(step)


class SearchBatch(Generic[S]):
    """The sentences at work; their hypotheses and the network's state are in the same order."""

    state: S
    hypotheses: Hypotheses

    def __init__(
        self,
        network: Network[S],
        settings: Decode,
        n_best: int,
        seed: int,
        limit: int,
        device: torch.device | str,
    ) -> None:
        self.network, self.settings, self.n_best = network, settings, n_best
        self.seed, self.device = seed, device
        self.beams = count_rows(settings)
        self.keys = limit if settings.search == "sample" else 0  # of sampling, one for each token
        self.sentences: list[QueuedSentence] = []
        self.ended: list[list[Hypothesis]] = []  # the hypotheses of each sentence that have ended
        self.admitted: list[QueuedSentence] = []  # all sentences that have ever joined
        self.unread = 1  # the most tokens of a row that the network has not read yet

    def admit(self, sentences: list[QueuedSentence]) -> None:
        """Append sentences to those at work, and let the network encode them."""
        if not sentences:
            return
        self.admitted += sentences
        source_BS = padded([sentence.source for sentence in sentences], self.device)
        self.unread = 1 + max(len(sentence.prefix) for sentence in sentences)
        hypotheses = self._begin(sentences)
        if self.sentences:
            self.network.admit(source_BS, self.state)
            self.hypotheses = self.hypotheses.join(hypotheses)
        else:
            self.state = self.network.start(source_BS)
            if self.beams > 1:
                rows = torch.arange(len(sentences), device=self.device)
                self.network.keep(rows.repeat_interleave(self.beams), self.state)
            self.hypotheses = hypotheses
        self.sentences += sentences
        self.ended += [[] for _ in sentences]

    def _begin(self, sentences: list[QueuedSentence]) -> Hypotheses:
        """Return the hypotheses of new sentences: the forced prefix in each group's first row."""
        device, shape = self.device, (len(sentences), self.beams)
        groups = self.settings.beam_groups if self.beams > 1 else 1
        filled = [
            [PAD] * (self.unread - 1 - len(sentence.prefix)) + [BOS, *sentence.prefix]
            for sentence in sentences
        ]
        tokens_BWL = torch.tensor(filled, device=device)[:, None].repeat(1, self.beams, 1)
        log_prob_BW = torch.full(shape, -math.inf, device=device)
        log_prob_BW[:, :: self.beams // groups] = 0
        lines = [sentence.line for sentence in sentences]
        return Hypotheses(
            tokens_BWL=tokens_BWL,
            token_log_probs_BWL=torch.zeros(tokens_BWL.shape, device=device),
            log_prob_BW=log_prob_BW,
            length_B=torch.tensor([len(each.prefix) for each in sentences], device=device),
            limit_B=torch.tensor([each.limit for each in sentences], device=device),
            # Each group may find the same ones.
            best_BN=torch.full((len(sentences), self.n_best * groups), -math.inf, device=device),
            finished_B=torch.zeros(len(sentences), dtype=torch.long, device=device),
            keys_BL=make_keys(self.seed, lines, self.keys).to(device),
        )

    def feed(self) -> Tensor:
        """Feed the network the unread tokens of each row; return the logits that follow, R V."""
        if self.unread > 1:
            return self._feed_prefixes()
        return self.network.step(self.hypotheses.tokens_RL[:, -1:], self.state)[:, 0]

    def _feed_prefixes(self) -> Tensor:
        """Feed all forced tokens in one step; return the logits after the last of each row, R V.

        Most rows have fewer new tokens than the longest, so the network is rewound.
        """
        before = self.hypotheses
        width = before.tokens_BWL.size(-1)
        length_R1 = (before.length_B + 1).repeat_interleave(self.beams)[:, None]  # BOS counted
        unread_R1 = length_R1 - self.state.length_R[:, None]
        nth_Q = torch.arange(self.unread, device=self.device)
        column_RQ = (width - unread_R1 + nth_Q).clamp(max=width - 1)
        tokens_RQ = before.tokens_RL.gather(1, column_RQ)
        logits_RQV = self.network.step(tokens_RQ, self.state)
        self.network.rewind(length_R1[:, 0], self.state)

        forced_RQ = log_probs_of(tokens_RQ[:, 1:], logits_RQV[:, :-1])
        forced_RQ = forced_RQ.masked_fill(nth_Q[1:] >= unread_R1, 0)
        log_probs_RL = before.token_log_probs_BWL.flatten(0, 1).scatter_add(
            1, column_RQ[:, 1:], forced_RQ
        )
        self.hypotheses = replace(
            before,
            token_log_probs_BWL=log_probs_RL.view_as(before.token_log_probs_BWL),
            log_prob_BW=before.log_prob_BW + forced_RQ.sum(1).view_as(before.log_prob_BW),
        )
        self.unread = 1
        return logits_RQV[torch.arange(len(tokens_RQ), device=self.device), unread_R1[:, 0] - 1]

    def advance(self, step: Step) -> list[Found]:
        """Continue with the hypotheses that are kept; remove and return sentences that are done."""
        # All that the host needs of every step, in one transfer.
        stops, ends = torch.stack((step.stop_B, step.finished_BC.any(1))).tolist()
        if any(stops) or any(ends):
            for place, hypothesis in endings(step):
                self.ended[place].append(hypothesis)
        done = [place for place, stop in enumerate(stops) if stop]
        for place in done:
            if not self.ended[place]:
                raise explain_nothing(self.sentences[place].line, self._is_bound(step, place))
        if len(done) < len(stops):
            self._keep(step, [place for place, stop in enumerate(stops) if not stop])
        results = [(self.sentences[place], rank(self.ended[place], self.n_best)) for place in done]
        for place in reversed(done):
            del self.sentences[place], self.ended[place]
        return results

    def _keep(self, step: Step, stay: list[int]) -> None:
        """Keep the hypotheses, and the network's rows, that continue those of `step`.

        Only the sentences that `stay` are kept.
        """
        self.hypotheses = step.after()
        row_BW = step.parent_BC.gather(1, step.kept_BW)
        row_BW += self.beams * torch.arange(len(row_BW), device=self.device)[:, None]
        leaves = len(stay) < len(row_BW)
        if leaves:
            stay_B = torch.tensor(stay, device=self.device)
            self.hypotheses, row_BW = self.hypotheses.select(stay_B), row_BW[stay_B]
        if leaves or self.beams > 1:
            self.network.keep(row_BW.flatten(), self.state)

    def _is_bound(self, step: Step, place: int) -> bool:
        """Return whether sentence number `place` has no hypothesis because of the rules.

        A token that the rules forbid has the log-probability -inf; logits that are not finite give
        NaN, and those that are far too large may give either. With one of the two rules alone some
        token is always allowed.
        """
        rules = self.settings.no_repeat_ngram_size and self.settings.min_length
        return bool(rules) and not bool(step.log_prob_BC[place].isnan().any())
