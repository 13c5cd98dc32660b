"""The choice of a model to start from: a shipped one that shares a language with the pairs.

A network that learned one language of the pairs in another pair is a better beginning than none
(Zoph et al. 2016; Kocmi and Bojar 2018), where the other languages have one script, so that it
knows their letters: with 5,000 to 10,000 pairs, as much as two to three times the pairs. Of other
scripts it knows nothing, and it is larger than what few pairs need (docs/experiments.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

from glassformer.config import Config
from glassformer.model.files.directory import open_model
from glassformer.model.files.shapes import list_shapes
from glassformer.train.plan.auto import find_parent

from ..check_data.characters import LATIN, count_scripts, find_home
from ..check_data.ragged import Block

SAMPLE = 500  # lines by which the script of a text is known
MOST = 40_000  # pairs: with more, auto's own model is as large


def choose_parent(langs: tuple[str, str], texts: tuple[Sequence[str], Sequence[str]]) -> str:
    """Return the name of a shipped model to start from; empty if there is none that fits."""
    is_latin = all(find_home(count_scripts(Block(text[:SAMPLE]))) == {LATIN} for text in texts)
    return find_parent(langs) if is_latin and len(texts[0]) <= MOST else ""


def choose_dropout(minutes: float, usual: float) -> str:
    """Return the setting of the dropout of a training from a parent, by the passes to expect.

    They are the limits of the recipe auto: 0.1 for few passes, 0.2 over 15, 0.3 over 30. In the
    usual minutes of auto, a parent of some four times its size makes some 15 passes.
    """
    times = minutes / max(usual, 1e-9)
    return f"model.dropout={0.1 if times < 1 else 0.2 if times < 2 else 0.3}"


def compare_sizes(parent: str, config: Config) -> float:
    """Return how many times the layers of a network by these settings a parent's are; at least 1.

    Its tables of tokens do not count: those that are looked up take no time.
    """
    own = list_shapes(config.model, config.text.vocabulary, config.text.vocabulary)
    return max(1.0, _count_layers(open_model(parent)[2].shapes) / _count_layers(own))


def _count_layers(shapes: Mapping[str, tuple[int, ...]]) -> int:
    """Return the weights that are in layers, of encoder and decoder."""
    return sum(map(prod, _pick_layers(shapes).values()))


def read_layers(model: Path) -> Mapping[str, tuple[int, ...]]:
    """Return the shapes of the weights of a model that are in layers: they are its size."""
    return _pick_layers(open_model(model)[2].shapes)


def _pick_layers(shapes: Mapping[str, tuple[int, ...]]) -> Mapping[str, tuple[int, ...]]:
    return {n: shape for n, shape in shapes.items() if n.startswith(("encoder.", "decoder."))}
