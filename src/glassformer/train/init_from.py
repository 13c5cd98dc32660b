"""Initialization of a training from another model: its weights, its tokens and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor, nn

from ..config import Config, Train
from ..directory import FREE, WEIGHTS, Tokenizers, load_model, locate, save_model
from ..model import EncoderDecoder
from ..publish.card import hash_file, read_facts
from ..text import Tokenizer
from ..weights.meta_model import make_meta_model

PARENT = "parent"  # the copy in the run's folder: a run that has begun does not need the original
WEIGHTS_OF_LOSS = tuple(
    name for name in Train.model_fields if name.startswith(("alignment_", "prior_", "risk_"))
)
# Parts that go by another name than in the network, for `train.freeze`.
ALIASES = {"embedding": ("source_embedding", "target_embedding", "output_table")}
SCHEDULE: tuple[str, ...] = ("steps", "minutes", "epochs", "warmup", "validate_every")
SCHEDULE += ("checkpoint_every", "freeze", "lora_rank", "lora_alpha", "plugin", *WEIGHTS_OF_LOSS)
# What the tokens of a model settle, of [text].
TOKENIZER = ("tokenizer", "vocabulary", "shared", "nfkc", "punctuation", "lowercase")


@dataclass(frozen=True)
class InitModel:
    """A model directory to start from; `has_new_tokens`: the new model gets its own vocabulary."""

    folder: Path
    config: Config
    tokenizers: Tokenizers
    model: EncoderDecoder
    has_new_tokens: bool

    @classmethod
    def load(cls, folder: Path | str, config: Config, has_new_tokens: bool) -> InitModel:
        """Return the model in `folder`. ValueError if it is none, or if `config` does not fit."""
        parent = cls(locate(folder), *load_model(folder), has_new_tokens)
        fixed = {"model": parent._fixed_shape()}
        if not has_new_tokens:
            fixed["text"] = {name: getattr(parent.config.text, name) for name in TOKENIZER}
        for table, values in fixed.items():
            for name, value in values.items():
                found = getattr(getattr(config, table), name)
                if found != value:
                    raise ValueError(parent._explain(f"{table}.{name}", found, value))
        return parent

    def save(self, run: Path) -> None:
        """Copy the model, and its tokenizers if they are kept, into the run's folder."""
        save_model(run / PARENT, self.config, self.tokenizers, self.model.state_dict())
        if not self.has_new_tokens:
            self.tokenizers.save(run)

    def provenance(self) -> dict[str, Any]:
        """Return the name and digest of the model, its data, and its own origin."""
        return record_origin(self.folder, "new" if self.has_new_tokens else "kept")

    def _fixed_shape(self) -> dict[str, Any]:
        shape = self.config.model
        return {name: getattr(shape, name) for name in type(shape).model_fields if name not in FREE}

    def _explain(self, name: str, found: object, value: object) -> str:
        if name.startswith("text."):
            return (
                f"{name}={found} has no effect: the tokens of {self.folder} are kept "
                f"({name}={value}); add --new-tokenizer to learn new ones"
            )
        return (
            f"{name}={found} does not fit {self.folder}, which has {name}={value}: its weights "
            f"are kept, so of [model] only {', '.join(FREE)} can change"
        )


def record_origin(folder: Path, tokens: str) -> dict[str, Any]:
    """Return the name and digest of a model, its data, and what it began with itself."""
    facts = read_facts(folder)
    return {
        "name": folder.resolve().name,
        "sha256": hash_file(folder / WEIGHTS),
        "tokens": tokens,
        **{name: facts[name] for name in ("data", "parent") if name in facts},
    }


def inherit(folder: Path | str, changes: Sequence[str] = ()) -> Config:
    """Return the settings for a training from a model: its own, without those of its schedule.

    `changes` are applied on top.
    """
    raw = load_model(folder)[0].model_dump(exclude_none=True)
    raw["train"] = {name: value for name, value in raw["train"].items() if name not in SCHEDULE}
    raw["text"].pop("split_above", None)  # it depends on the corpus
    if len(raw["data"].get("corpus", ())) and len(Config.read(raw).data.pairs) == 1:
        del raw["data"]["corpus"]
    return Config.read(raw, changes)


def load_initial_weights(model: EncoderDecoder, run: Path, tokenizers: Tokenizers) -> None:
    """Initialize a fresh model with the weights of the initial model kept in `run`, if any.

    A token that the initial model knows keeps its embeddings; a new one gets the mean of the
    embeddings of the tokens into which the initial tokenizer splits it.
    """
    if not (run / PARENT).is_dir():
        return
    _, known, parent = load_model(run / PARENT)
    weights = parent.state_dict()
    for name, rows in weights.items():
        if name.startswith("source_embedding.table"):
            weights[name] = _remap_embeddings(rows, known.source, tokenizers.source)
        elif name.startswith(("target_embedding.table", "output_")):
            weights[name] = _remap_embeddings(rows, known.target, tokenizers.target)
    model.load_state_dict(weights)


def _remap_embeddings(rows: Tensor, known: Tokenizer, new: Tokenizer) -> Tensor:
    """Return the embeddings (or biases) of one vocabulary remapped to another."""
    if known.vocabulary == new.vocabulary:
        return rows
    ids = {token: id for id, token in enumerate(known.vocabulary)}
    cut = [
        [ids[token]] if token in ids else known.sample_word(token, 0.0, Random(0))
        for token in new.vocabulary
    ]
    return torch.stack([rows[each].mean(0) for each in cut])


def count_known(known: Tokenizer, new: Tokenizer) -> int:
    return len({*known.vocabulary} & {*new.vocabulary})


def check_parts(config: Config) -> None:
    """Raise ValueError if `train.freeze` names a part that a model with these settings lacks."""
    if config.train.freeze:
        size = config.text.vocabulary
        freeze(make_meta_model(config.model, size, size), config.train.freeze)


def freeze(model: nn.Module, parts: Sequence[str]) -> None:
    """Exclude `parts`, modules or parameters by their dotted names, from training.

    A tied matrix is frozen if any of its names is given. ValueError for an unknown name, or if
    nothing is left to train.
    """
    parameters = dict(model.named_parameters(remove_duplicate=False))
    paths = {name.rsplit(".", cut)[0] for name in parameters for cut in range(name.count(".") + 1)}
    known = {name for part in parts for name in ALIASES.get(part, ()) if name in paths}
    for part in (*known, *(part for part in parts if part not in ALIASES)):
        if part not in paths:
            near = get_close_matches(part, paths, 1, 0.4) or sorted(paths)
            raise ValueError(f"train.freeze: the model has no part {part}; did you mean {near[0]}?")
        for name, parameter in parameters.items():
            if f"{name}.".startswith(f"{part}."):
                parameter.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in parameters.values()):
        raise ValueError("train.freeze: everything is frozen, so nothing is left to train")
