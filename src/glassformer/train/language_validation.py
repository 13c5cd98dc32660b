"""Validation of a language model: its loss, and its perplexity or its accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..config import Config
from ..decode import NotFiniteError
from ..directory import Tokenizers
from ..evaluate.language import LineScore, score_lines, sum_scores
from ..language_model import COMPLETES, FILLS, MASK_TEXT, LanguageModel
from ..model import EncoderDecoder
from ..translator import Progress
from .distributed import ProcessGroup
from .scores import Validation, merge_shares

PROMPT = 3  # a sample is completed from this share of its characters: a third


def validate_language(
    model: EncoderDecoder,
    config: Config,
    tokenizers: Tokenizers,
    valid: tuple[Sequence[str], Sequence[str]],
    *,
    device: str,
    turn: int,
    progress: Progress | None,
    group: ProcessGroup,
) -> Validation:
    """Score a language model on its validation text; `turn` chooses the sample that is shown.

    An encoder has to fill the same masks each time. The processes of a group share the lines.
    """
    reader = LanguageModel(config, tokenizers, model, device=device, precision="fp32")
    texts, labels = (side[group.rank :: group.size] for side in valid)
    failure = ""
    try:
        found = score_lines(reader, texts, labels, config.train.seed)
    except NotFiniteError as error:  # a diverged training must not end here
        found, failure = [LineScore(math.nan, 1, 0)] * len(texts), str(error)
    if progress:
        progress(len(texts))
    found = merge_shares(group.gather(found))
    failure = next(filter(None, group.gather(failure)), "")
    told = sum_scores(reader, found)
    shown = turn * 7919 % len(valid[0])
    sample = {} if failure else show_sample(reader, valid[0][shown], valid[1][shown], turn)
    return Validation(told.scores, told.loss, sample, told.signature, len(valid[0]), failure)


def show_sample(reader: LanguageModel, text: str, label: str, turn: int) -> dict[str, str]:
    """Return what a model makes of one line."""
    if reader.ability == COMPLETES:
        prompt = " ".join(text.split()[: 1 + len(text.split()) // PROMPT])
        return {"text": text, "from": prompt, "completed": complete_greedily(reader, prompt)}
    if reader.ability == FILLS:
        words = text.split()
        place = turn % max(1, len(words))
        masked = " ".join([*words[:place], MASK_TEXT, *words[place + 1 :]])
        best = reader.fill(masked, 3)[0]
        guesses = ", ".join(f"{each.token.strip()} {each.probability:.2f}" for each in best)
        return {"text": masked, "hidden": " ".join(words[place : place + 1]), "guessed": guesses}
    found = reader.classify(text)
    named = f"{found.label} {found.probabilities[found.label]:.2f}"
    return {"text": text, "label": label, "predicted": named}


def complete_greedily(reader: LanguageModel, prompt: str) -> str:
    """Return a prompt with its greedy completion, or alone where it has no room for one."""
    try:
        return reader.complete(prompt, decode={"search": "greedy", "max_extra": 20})
    except ValueError:
        return prompt
