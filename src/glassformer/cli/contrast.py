"""The contrastive evaluation of `evaluate`: right translations against wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .terminal import show_progress, to_json


def evaluate_contrastive(
    models: Sequence[Path], file: Path, to: str | None, as_json: bool, **machine: Any
) -> str:
    """Return the accuracies of models on the contrastive set in a file, as text or JSON.

    Each further model is compared with the first.
    """
    from ..evaluate.contrastive import PairedShares, judge_contrastive, read_contrastive
    from ..translator import Translator

    if not models:
        raise ValueError("--contrastive needs a MODEL")
    items, told = read_contrastive(file), []
    for model in models:
        translator = Translator.load(model, to, **machine)
        texts = sum(1 + len(each.wrong) for each in items)
        with show_progress("scoring", texts) as tell:

            def score(
                sources: list[str], targets: list[str], of: Translator = translator
            ) -> list[float]:
                return [each.log_prob for each in of.score(sources, targets, progress=tell)]

            told.append(judge_contrastive(str(model), items, score))
    first, *others = told
    compared = [PairedShares.compare(first, each) for each in others]
    if as_json:
        found = [first.to_json()]
        for each, paired in zip(others, compared, strict=True):
            found.append(each.to_json() | {"against_first": paired.to_json()})
        return to_json(found[0] if len(found) == 1 else found)
    said = [str(first)]
    for each, paired in zip(others, compared, strict=True):
        said.append(f"{each}\nagainst {first.model}: {paired}")
    return "\n\n".join(said)
