"""One step of a search: the hypotheses before it, its candidates, and which of them are kept.

Letters: B sentences; W beam width, R = B * W rows; C candidates of a sentence or a row; N best
wanted; L tokens, aligned on the right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import Enum

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..config import BOS, EOS
from .sentences import Hypothesis


@dataclass(frozen=True)
class Hypotheses:
    """The unfinished hypotheses of all sentences; those of one sentence are equally long.

    They are aligned on the right, so that the newest tokens of all hypotheses, long or short,
    share a column: appending is concatenation, and the last n tokens of every row are the last n
    columns.
    """

    tokens_BWL: Tensor  # int64: PAD, then BOS, then the tokens forced and chosen
    token_log_probs_BWL: Tensor  # fp32; 0 under PAD and BOS
    log_prob_BW: Tensor  # fp32, of the whole hypothesis; -inf: the row has no hypothesis
    length_B: Tensor  # int64: tokens so far, BOS not counted
    limit_B: Tensor  # int64: the most tokens allowed, EOS counted
    best_BN: Tensor  # fp32: scores of the best finished hypotheses, best first; -inf: none yet
    finished_B: Tensor  # int64: the number that have finished
    keys_BL: Tensor  # int32: a key of sampling for each position; other searches: L = 0

    @property
    def beams(self) -> int:
        """Return W, the number of rows of each sentence."""
        return self.log_prob_BW.size(1)

    @property
    def tokens_RL(self) -> Tensor:
        return self.tokens_BWL.flatten(0, 1)

    @property
    def is_last_B(self) -> Tensor:
        """Return whether no token is allowed after the next one."""
        return self.length_B + 1 >= self.limit_B

    def select(self, sentences: Tensor) -> Hypotheses:
        """Return the hypotheses of these sentences only, in this order."""
        return Hypotheses(*(getattr(self, f.name).index_select(0, sentences) for f in fields(self)))

    def join(self, other: Hypotheses) -> Hypotheses:
        """Return the hypotheses of both; the padding shrinks to what the longest needs."""
        width = 1 + int(torch.cat((self.length_B, other.length_B)).max())
        both = self._padded(width), other._padded(width)
        return Hypotheses(*(torch.cat([getattr(x, f.name) for x in both]) for f in fields(self)))

    def _padded(self, width: int) -> Hypotheses:
        missing = width - self.tokens_BWL.size(-1)  # negative: columns are cut off
        return replace(
            self,
            tokens_BWL=pad(self.tokens_BWL, (missing, 0)),
            token_log_probs_BWL=pad(self.token_log_probs_BWL, (missing, 0)),
        )


class Fate(Enum):
    """The reason why a candidate was kept, ended or dropped."""

    KEPT = "lives on"
    FINISHED = "ended with EOS"
    CUT = "is as long as allowed"
    STOPPED = "would have lived on, but its sentence is done"
    OUTRANKED = "others were better"
    REPEATS = "would repeat an n-gram"
    TOO_SHORT = "would end too early"


@dataclass(frozen=True)
class Candidate:
    """A continuation of one hypothesis by one token."""

    parent: int  # the row of its sentence that it continues
    token: int
    token_log_prob: float
    log_prob: float  # of the whole hypothesis
    score: float  # log_prob / length penalty, as if it ended here
    fate: Fate


@dataclass(frozen=True)
class Step:
    """The C best candidates of each sentence, best first, and which of them are kept.

    The search uses the tensors and drops them; `candidates` is for callers that watch the search.
    """

    before: Hypotheses
    parent_BC: Tensor  # the row of its sentence that each candidate continues
    token_BC: Tensor
    token_log_prob_BC: Tensor  # the network's: without temperature, over the whole vocabulary
    log_prob_BC: Tensor  # of the whole hypothesis; -inf: fewer than C candidates exist
    penalty_B: Tensor
    kept_BW: Tensor  # the candidates that are kept
    finished_BC: Tensor  # bool: ended with EOS, and ranked high enough
    best_BN: Tensor  # scores of the best finished hypotheses, this step included
    stop_B: Tensor  # bool: the sentence is done
    forbidden: tuple[Tensor, Tensor]  # tokens_RC, PAD where there is none; log_probs_RC

    @property
    def cut_BC(self) -> Tensor:
        """Return which candidates are unfinished and as long as allowed, B C."""
        lives_BC = torch.zeros_like(self.finished_BC).scatter(1, self.kept_BW, True)
        lives_BC &= (self.log_prob_BC > -math.inf) & ~self.finished_BC
        return lives_BC & self.before.is_last_B[:, None]

    def after(self) -> Hypotheses:
        """Return the hypotheses that are kept, whether their sentence is done or not."""
        before, parent_BW = self.before, self.parent_BC.gather(1, self.kept_BW)
        past_BWL = parent_BW[..., None].expand_as(before.tokens_BWL)

        def append(x_BWL: Tensor, new_BC: Tensor) -> Tensor:
            return torch.cat(
                (x_BWL.gather(1, past_BWL), new_BC.gather(1, self.kept_BW)[..., None]), -1
            )

        return replace(
            before,
            tokens_BWL=append(before.tokens_BWL, self.token_BC),
            token_log_probs_BWL=append(before.token_log_probs_BWL, self.token_log_prob_BC),
            log_prob_BW=self.log_prob_BC.gather(1, self.kept_BW),
            length_B=before.length_B + 1,
            best_BN=self.best_BN,
            finished_B=before.finished_B + self.finished_BC.sum(1),
        )

    def candidates(self, sentence: int) -> list[Candidate]:
        """Return the candidates of one of the B sentences, best first, the forbidden among them.

        The k-th candidate KEPT is row k of its sentence in the next step.
        """
        penalty = self.penalty_B[sentence].item()
        columns = (self.parent_BC, self.token_BC, self.token_log_prob_BC, self.log_prob_BC)
        values = (x_BC[sentence].tolist() for x_BC in columns)
        seen = [
            Candidate(parent, token, token_log_prob, log_prob, log_prob / penalty, fate)
            for parent, token, token_log_prob, log_prob, fate in zip(
                *values, self._fates(sentence), strict=True
            )
        ]
        worst = min(candidate.log_prob for candidate in seen)
        seen = [candidate for candidate in seen if candidate.log_prob > -math.inf]
        seen += [c for c in self._forbidden(sentence, penalty) if c.log_prob >= worst]
        return sorted(seen, key=lambda candidate: -candidate.log_prob)

    def _fates(self, sentence: int) -> list[Fate]:
        fates = [Fate.OUTRANKED] * self.token_BC.size(1)
        for place in self.kept_BW[sentence].tolist():
            fates[place] = Fate.STOPPED if self.stop_B[sentence] else Fate.KEPT
        for ended_BC, fate in ((self.cut_BC, Fate.CUT), (self.finished_BC, Fate.FINISHED)):
            for place in ended_BC[sentence].nonzero().flatten().tolist():
                fates[place] = fate
        return fates

    def _forbidden(self, sentence: int, penalty: float) -> list[Candidate]:
        """Return the candidates that the rules forbid, each once, without PAD and BOS."""
        log_prob_W = self.before.log_prob_BW[sentence].tolist()
        first = sentence * self.before.beams
        rows = slice(first, first + self.before.beams)
        tokens_WC, log_probs_WC = (x_RC[rows].tolist() for x_RC in self.forbidden)
        results = []
        for parent, (tokens, log_probs) in enumerate(zip(tokens_WC, log_probs_WC, strict=True)):
            for token, token_log_prob in dict(zip(tokens, log_probs, strict=True)).items():
                log_prob = log_prob_W[parent] + token_log_prob
                if token > BOS and log_prob > -math.inf:
                    fate = Fate.TOO_SHORT if token == EOS else Fate.REPEATS
                    results.append(
                        Candidate(parent, token, token_log_prob, log_prob, log_prob / penalty, fate)
                    )
        return results


def endings(step: Step) -> Iterator[tuple[int, Hypothesis]]:
    """Yield each hypothesis that ended in this step, after the index of its sentence among B."""
    ended_BC = step.finished_BC | step.cut_BC
    sentence, place = ended_BC.nonzero(as_tuple=True)
    before, parent = step.before, step.parent_BC[sentence, place]
    log_prob = step.log_prob_BC[sentence, place]
    columns = (
        sentence,
        before.length_B[sentence],
        before.tokens_BWL[sentence, parent],
        step.token_BC[sentence, place],
        before.token_log_probs_BWL[sentence, parent],
        step.token_log_prob_BC[sentence, place],
        log_prob,
        log_prob / step.penalty_B[sentence],
        step.finished_BC[sentence, place],
    )
    for b, length, tokens, last, log_probs, last_log_prob, total, score, finished in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        start = len(tokens) - length
        yield (
            b,
            Hypothesis(
                tokens=tokens[start:] + ([] if finished else [last]),
                log_prob=total,
                score=score,
                token_log_probs=[*log_probs[start:], last_log_prob],
                finished=finished,
            ),
        )
