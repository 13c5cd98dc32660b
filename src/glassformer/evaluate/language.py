"""The scores of a language model on a text: perplexity, masked accuracy, accuracy of classes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data.masking import mask_tokens
from ..translate.language_model import LanguageModel
from ..translate.language_reader import COMPLETES, FILLS
from ..translate.sentence import Progress

SIGNATURES = {
    COMPLETES: "of all tokens and the end mark",
    FILLS: "of 15 % of the tokens: 80 % hidden, 10 % replaced, 10 % as they were",
}


class LineScore(NamedTuple):
    """The predictions for one line."""

    loss: float  # the sum over the predicted tokens
    tokens: int
    right: int  # of these, those that the model held most probable


@dataclass(frozen=True)
class TextScore:
    """The scores of a text; the loss is in nats a predicted token."""

    scores: dict[str, float]  # perplexity, or accuracy in percent
    loss: float
    signature: str


def score_text(
    reader: LanguageModel,
    texts: Sequence[str],
    labels: Sequence[str],
    seed: int = 1,
    progress: Progress | None = None,
) -> TextScore:
    """Return the scores of a text, of which `labels` are the classes where they are predicted."""
    lines = score_lines(reader, texts, labels, seed)
    if not any(each.tokens for each in lines):
        raise ValueError("nothing to score: there is no token in the text")
    if progress:
        progress(len(texts))
    return sum_scores(reader, lines)


def score_lines(
    reader: LanguageModel,
    texts: Sequence[str],
    labels: Sequence[str],
    seed: int,
    numbers: Sequence[int] = (),  # of the lines in a text of which they are a share
) -> list[LineScore]:
    """Return the loss of each text and what was predicted right; masks depend on seed and line."""
    if reader.ability == COMPLETES:
        scored = reader.score(list(texts))
        return [LineScore(-each.log_prob, len(each.token_log_probs), 0) for each in scored]
    if reader.ability == FILLS:
        return _score_masked(reader, texts, seed, numbers or range(len(texts)))
    lines = zip(reader.classify(list(texts)), labels, strict=True)
    return [
        LineScore(-math.log(max(each.probabilities.get(label, 0), 1e-30)), 1, each.label == label)
        for each, label in lines
    ]


def _score_masked(
    reader: LanguageModel, texts: Sequence[str], seed: int, numbers: Sequence[int]
) -> list[LineScore]:
    masked, hidden = list[list[int]](), list[list[int]]()
    for line, text in zip(numbers, texts, strict=True):
        ids_BS = np.array([reader.encode_text(text, line)])
        hidden_BS, wanted_BS = mask_tokens(ids_BS, len(reader.tokenizer), (seed, line))
        masked.append(hidden_BS[0].tolist())
        hidden.append(wanted_BS[0].tolist())
    lines = []
    for own, guesses in zip(hidden, reader.guess_masked(masked, hidden), strict=True):
        right = sum(id == it for (id, _), it in zip(guesses, filter(None, own), strict=True))
        lines.append(LineScore(-sum(value for _, value in guesses), len(guesses), right))
    return lines


def sum_scores(reader: LanguageModel, lines: Sequence[LineScore]) -> TextScore:
    """Return the scores of a text from those of its lines."""
    tokens = max(1, sum(each.tokens for each in lines))
    loss = sum(each.loss for each in lines) / tokens
    scores = {"accuracy": 100 * sum(each.right for each in lines) / tokens}
    if reader.ability == COMPLETES:
        scores = {"perplexity": math.exp(min(loss, 700.0))}
    return TextScore(scores, loss, SIGNATURES.get(reader.ability, "of all lines"))
