"""The contrastive evaluation of `evaluate`: right translations against wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.cli.terminal import show_progress, to_json

if TYPE_CHECKING:
    from ..contrastive import Normalization


def evaluate_contrastive(
    models: Sequence[Path],
    file: Path,
    to: str | None,
    as_json: bool,
    by: Normalization = "sum",
    **machine: Any,
) -> str:
    """Return the accuracies of models on the contrastive set in a file, as text or JSON.

    by: whether the log-probability of all tokens decides, or that of a token.

    Each further model is compared with the first.
    """
    from glassformer.translator import Translator

    from ..contrastive import PairedShares, ScoredText, judge_contrastive, read_contrastive

    if not models:
        raise ValueError("--contrastive needs a MODEL")
    items, sentences = read_contrastive(file), []
    for model in models:
        translator = Translator.load(model, to, **machine)
        texts = sum(1 + len(each.wrong) for each in items)
        with show_progress("scoring", texts) as tell:

            def score(
                sources: list[str], targets: list[str], of: Translator = translator
            ) -> list[ScoredText]:
                scored = of.score(sources, targets, progress=tell)
                return [ScoredText(each.log_prob, len(each.token_log_probs)) for each in scored]

            sentences.append(judge_contrastive(str(model), items, score, by))
    first, *others = sentences
    compared = [PairedShares.compare(first, each) for each in others]
    if as_json:
        results = [first.to_json()]
        for each, paired in zip(others, compared, strict=True):
            results.append(each.to_json() | {"against_first": paired.to_json()})
        return to_json(results[0] if len(results) == 1 else results)
    message = [str(first)]
    for each, paired in zip(others, compared, strict=True):
        message.append(f"{each}\nagainst {first.model}: {paired}")
    return "\n\n".join(message)
