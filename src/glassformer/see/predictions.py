"""Tell what a network predicts at each row of a recording.

Letters: T rows; V vocabulary; C the likeliest tokens, which are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..config import Decode
from ..decode.sample import find_draw_probabilities
from .document import Prediction

TOP = 10  # tokens kept of each prediction


def list_predictions(
    logits_TV: Tensor,
    wanted: Sequence[int],
    token: Callable[[int], str],
    drawn: Decode | None = None,
) -> tuple[Prediction, ...]:
    """Return the distribution at each row, and where the token that came stands in it.

    `token` returns the text of an id. `drawn` are the settings of a search that samples: then the
    probabilities that it draws with are kept too.
    """
    log_prob_TV = logits_TV.double().log_softmax(-1)
    wanted_T1 = torch.tensor(wanted, device=logits_TV.device)[:, None]
    own_T1 = log_prob_TV.gather(1, wanted_T1)
    best = log_prob_TV.topk(min(TOP, log_prob_TV.size(1)))
    columns = {
        "log_prob": own_T1[:, 0],
        "rank": (log_prob_TV > own_T1).sum(-1),
        "entropy": -(log_prob_TV.exp() * log_prob_TV).sum(-1),
        "ids": best.indices,
        "log_probs": best.values,
    }
    if drawn:
        draw_TV = find_draw_probabilities(log_prob_TV, drawn)
        columns["draw_prob"] = draw_TV.gather(1, wanted_T1)[:, 0]
        columns["draw_probs"] = draw_TV.gather(1, best.indices)
    return tuple(
        Prediction(texts=tuple(map(token, row["ids"])), **row) for row in _list_rows(columns)
    )


def _list_rows(columns: dict[str, Tensor]) -> list[dict[str, Any]]:
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]
