"""A network for the search that also reports its most probable tokens."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from ..config import Decode
from ..decode import Step
from ..decode.sample import find_draw_probabilities


class Overheard:
    """A network of the search protocol that keeps its last logits.

    If `settings` say that the search samples, probabilities are those that it draws with.
    """

    def __init__(self, network: Any, most: int, settings: Decode) -> None:
        self.network, self.most, self.settings = network, most, settings
        self.start, self.keep = network.start, network.keep
        self.admit, self.rewind = network.admit, network.rewind

    def step(self, tokens_RQ: Tensor, state: Any) -> Tensor:
        logits_RQV: Tensor = self.network.step(tokens_RQ, state)
        self.logits_RQV = logits_RQV.clone()  # the search changes its logits in place
        return logits_RQV

    def candidates(self, step: Step) -> list[tuple[int, float]]:
        """Return ids and log-probabilities of the alternatives to the best hypothesis's last token.

        The likeliest is first; that token itself is among them.
        """
        row = int(step.parent_BC[0, 0])
        last = 0 if self.logits_RQV.size(1) == 1 else int(step.before.length_B[0])
        logits_V = self.logits_RQV[row, last]
        log_prob_V = logits_V.log_softmax(-1)
        if self.settings.search == "sample":
            log_prob_V = find_draw_probabilities(logits_V[None], self.settings)[0].log()
        best = log_prob_V.topk(min(self.most, len(log_prob_V)))
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [(id, log_prob) for id, log_prob in pairs if log_prob > -math.inf]
