"""The result of one step of a search: its candidates, and which of them are kept.

Letters: B sentences; W beam width, R = B * W rows; C candidates of a sentence or a row; N best
wanted; L tokens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

import torch
from torch import Tensor

from ..text import BOS, EOS
from .hypotheses import Hypotheses


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
        live, parent_BW = self.before, self.parent_BC.gather(1, self.kept_BW)
        past_BWL = parent_BW[..., None].expand_as(live.tokens_BWL)

        def append(x_BWL: Tensor, new_BC: Tensor) -> Tensor:
            return torch.cat(
                (x_BWL.gather(1, past_BWL), new_BC.gather(1, self.kept_BW)[..., None]), -1
            )

        return replace(
            live,
            tokens_BWL=append(live.tokens_BWL, self.token_BC),
            token_log_probs_BWL=append(live.token_log_probs_BWL, self.token_log_prob_BC),
            log_prob_BW=self.log_prob_BC.gather(1, self.kept_BW),
            length_B=live.length_B + 1,
            best_BN=self.best_BN,
            finished_B=live.finished_B + self.finished_BC.sum(1),
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
        worst = seen[-1].log_prob
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
        found = []
        for parent, (tokens, log_probs) in enumerate(zip(tokens_WC, log_probs_WC, strict=True)):
            for token, token_log_prob in dict(zip(tokens, log_probs, strict=True)).items():
                log_prob = log_prob_W[parent] + token_log_prob
                if token > BOS and log_prob > -math.inf:
                    fate = Fate.TOO_SHORT if token == EOS else Fate.REPEATS
                    found.append(
                        Candidate(parent, token, token_log_prob, log_prob, log_prob / penalty, fate)
                    )
        return found
