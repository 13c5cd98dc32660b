"""The contrastive evaluation of `evaluate`: right translations against wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.cli.terminal import show_progress, to_json, warn
from glassformer.foundation.plurals import tell_count

if TYPE_CHECKING:
    from ..contrastive import ContrastiveItem, Normalization, ScoredText

Pair = tuple[str, str]  # a source and a translation


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

    Each further model is compared with the first. An item that one of them cannot score is left
    out for all, and warned of.
    """
    from glassformer.cli.score import score_each
    from glassformer.translator import Translator

    from ..contrastive import PairedShares, ScoredText, judge_contrastive, read_contrastive

    if not models:
        raise ValueError("--contrastive needs a MODEL")
    items = read_contrastive(file)
    pairs = list(dict.fromkeys(pair for each in items for pair in each.pairs))
    sources, targets = map(list, zip(*pairs, strict=True))
    scores, faults = list[dict[Pair, ScoredText]](), dict[Pair, str]()
    for model in models:
        translator = Translator.load(model, to, **machine)
        with show_progress("scoring", len(pairs)) as tell:
            scored = score_each(translator, sources, targets, tell)
        scores.append({})
        for pair, result in zip(pairs, scored, strict=True):
            if isinstance(result, str):
                faults[pair] = result
            else:
                scores[-1][pair] = ScoredText(result.log_prob, len(result.token_log_probs))
    items = leave_out_unscored(file, items, faults)
    first, *others = [
        judge_contrastive(str(model), items, partial(look_up, own), by)
        for model, own in zip(models, scores, strict=True)
    ]
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


def leave_out_unscored(
    file: Path, items: list[ContrastiveItem], faults: dict[Pair, str]
) -> list[ContrastiveItem]:
    """Return the items without those of which a pair has no score, and warn of these.

    faults: why a pair has none. ValueError if no item is left.
    """
    left = [each for each in items if not faults.keys() & {*each.pairs}]
    if len(left) < len(items):
        count = f"{len(items) - len(left):,} of {tell_count(len(items), 'item')}"
        message = f"{file}: {count} left out: {next(iter(faults.values()))}"
        if not left:
            raise ValueError(message)
        warn(message)
    return left


def look_up(
    scores: dict[Pair, ScoredText], sources: Sequence[str], targets: Sequence[str]
) -> list[ScoredText]:
    """Return the scores of pairs that were scored before."""
    return [scores[pair] for pair in zip(sources, targets, strict=True)]
