"""Several models that search together: an ensemble, or a language model beside a translator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..config import Config
from ..engine import Weights
from ..model.files.directory import open_model
from .reading import SentenceReader
from .searching import Searcher

MOST_WEIGHT = 10.0  # of a language model


def join_searchers(
    members: Sequence[Searcher], names: Sequence[str], **machine: Any
) -> tuple[Config, Weights]:
    """Return the settings and weights of an ensemble; `machine` is as for `Translator`.

    ValueError if vocabularies, languages or contexts differ.
    """
    from ..engine.weights import EnsembleWeights

    first, *others = members
    for other, name in zip(others, names[1:], strict=True):
        _check_pair(first, other, names[0], name)
    config = limit_positions(first.config, min(each.longest for each in members))
    encode = SentenceReader(config, first.tokenizers).encode_pairs
    return config, EnsembleWeights([each.weights for each in members], encode, **machine)


def _check_pair(first: Searcher, other: Searcher, name: str, other_name: str) -> None:
    """Raise ValueError unless two models can search together."""
    for side in ("source", "target"):
        one, two = (getattr(each.tokenizers, side).vocabulary for each in (first, other))
        if one != two:
            raise ValueError(
                f"{name} and {other_name} have different {side} vocabularies: an ensemble needs "
                "one, as models have that were trained with --from the same one"
            )
    languages = [
        (each.reader.tags, each.reader.begin, each.config.data.pairs) for each in (first, other)
    ]
    if languages[0] != languages[1]:
        raise ValueError(f"{name} and {other_name} translate other languages")
    if other.reader.context != first.reader.context:
        raise ValueError(f"{name} and {other_name} differ in data.context: an ensemble needs one")


def fuse_language_model(
    searcher: Searcher, folder: Path | str, weight: float, **machine: Any
) -> tuple[Config, Weights]:
    """Return the settings and weights of a search in which a language model has a say.

    `weight` is the factor on its log-probabilities; `machine` is as for `Translator`. ValueError
    unless it is a decoder whose tokens are those of the translations.
    """
    from ..engine.weights import FusedWeights

    config, tokenizers, origin = open_model(folder)
    if config.model.network != "decoder":
        raise ValueError(f"{folder} is no language model that completes text: network=decoder")
    if tokenizers.source.vocabulary != searcher.tokenizers.target.vocabulary:
        raise ValueError(
            f"{folder} has other tokens than the translations: train the one with --subwords, "
            "--lm-prior or --init-from, so that it takes the tokens of the other"
        )
    if not 0 < weight <= MOST_WEIGHT:
        raise ValueError(f"weight={weight}: above 0, to {MOST_WEIGHT:g}")
    longest = min(searcher.longest, config.model.positions.max_positions)
    limited = limit_positions(searcher.config, longest)
    encode = SentenceReader(limited, searcher.tokenizers).encode_pairs
    members = [searcher.weights, Weights(origin, config.model, encode, **machine)]
    return limited, FusedWeights(members, encode, weight, **machine)


def limit_positions(config: Config, longest: int) -> Config:
    """Return the settings of a model with so many positions."""
    positions = config.model.positions.model_copy(update={"max_positions": longest})
    model = config.model.model_copy(update={"positions": positions})
    return config.model_copy(update={"model": model})
