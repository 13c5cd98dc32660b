"""A model soup: one model whose weights are the mean of several trainings' (Wortsman et al. 2022).

The trainings start from one model and have the same tokens; they differ in their seeds, say. Their
mean translates in the time of one of them. Of trainings with nothing in common, it would translate
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import torch

from glassformer.foundation.disk import check_new, prepare_beside, put_folder, read_json
from glassformer.model.files.directory import (
    GOLDEN,
    WEIGHTS,
    locate,
    open_model,
    save_model,
    tell_tokenizers,
)
from glassformer.model.files.known_words import copy_known_words
from glassformer.model.files.tensors import load_tensors
from glassformer.train.publish.card import hash_file, hash_files, read_facts, write_card
from glassformer.train.publish.golden import write_golden
from glassformer.train.publish.markdown import escape_markdown

from .averaging import average_weights

LEAST = 0.1  # the cosine of the weights of two trainings with one start; of others, it is about 0
KEPT = ("language", "network", "pairs", "parameters", "size", "counts", "parent", "initial")


TEXT = """\
# Model card

A model soup (Wortsman et al. 2022). Mind the licence of the data: the weights were made from it.
The weights are the mean of those of
"""


def make_soup(models: Sequence[Path | str], out: Path) -> None:
    """Write a model directory whose weights are the mean of several models'.

    Its settings are those of the first; the card names the models, their data, and what they
    started from. ValueError if they have other tokens or another network, if two have no start in
    common, or if `out` is there.
    """
    folders = [locate(each) for each in models]
    if len(folders) < 2:
        raise ValueError("a mean is of two models or more")
    check_new(out)
    config, tokenizers, weights = open_model(folders[0])
    tokens = tell_tokenizers(tokenizers)
    for folder in folders[1:]:
        own, others, stored = open_model(folder)
        if tell_tokenizers(others) != tokens:
            raise ValueError(f"{folder} has other tokens than {folders[0]}")
        if stored.shapes != weights.shapes or own.model.network != config.model.network:
            raise ValueError(f"{folder} has another network than {folders[0]}")
    _check_start(folders)
    mean = average_weights([each / WEIGHTS for each in folders])
    with prepare_beside(out) as scratch:
        whole = scratch / "model"
        save_model(whole, config, tokenizers, mean)
        copy_known_words(folders[0], whole)
        if (folders[0] / GOLDEN).is_file():
            golden = read_json(folders[0] / GOLDEN)
            write_golden(whole, [line["source"] for line in golden["lines"]], golden.get("pair"))
        _write_card(whole, folders)
        put_folder(whole, out)


def _check_start(folders: Sequence[Path]) -> None:
    """Raise ValueError if the weights of two models are as those of any two networks."""
    flat = [_flatten(load_tensors(each / WEIGHTS)) for each in folders]
    for (one, first), (two, second) in combinations(zip(folders, flat, strict=True), 2):
        if torch.cosine_similarity(first, second, dim=0) < LEAST:
            raise ValueError(
                f"{one} and {two} did not start from one model: the mean of their weights would "
                "translate nothing. translate --ensemble uses both"
            )


def _flatten(tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return the matrices as one vector; scales and biases are alike in any two networks."""
    return torch.cat([each.float().flatten() for each in tensors.values() if each.dim() > 1])


def _write_card(out: Path, folders: Sequence[Path]) -> None:
    """Write the card: what the first model's says, but of its training and scores."""
    facts = [read_facts(each) for each in folders]
    parts = [{"name": each.resolve().name, "sha256": hash_file(each / WEIGHTS)} for each in folders]
    data = {str(each): each for one in facts for each in one.get("data", ())}  # each file once
    lines = [f"- {escape_markdown(each['name'])}: sha256 {each['sha256']}" for each in parts]
    own = {
        **{name: facts[0][name] for name in KEPT if name in facts[0]},
        **({"data": [*data.values()]} if data else {}),
        "soup": parts,
        "sha256": hash_files(out),
    }
    write_card(out, own, "\n".join([TEXT, *lines, ""]))
