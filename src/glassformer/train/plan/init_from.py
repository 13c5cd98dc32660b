"""Initialization of a training from another model, or from parts of several.

--from takes a model whole: its weights, its tokens and its settings. --init-from takes parts by
name: a weight whose name and shape a pre-trained model has begins as that of the model; every other
is drawn as usual. So the encoder of a translation model begins as a masked language model, its
decoder, without cross-attention, as a causal one, and a classifier as either's tables and layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor, nn

from ...config import SIDE_OF, Config, Train
from ...model.encoder_decoder import EncoderDecoder
from ...model.files.directory import (
    FREE,
    WEIGHTS,
    Tokenizers,
    load_model,
    locate,
    open_model,
    save_model,
)
from ...model.files.meta_model import make_meta_model
from ...model.files.tensors import load_fp32
from ...model.files.weights_file import WeightsFile
from ...text import Tokenizer
from ..publish.card import hash_file, read_facts

PARENT = "parent"  # the copy in the run's folder: a run that has begun does not need the original
INITIAL = "initial"  # the copies in the run's folder: a run that has begun needs no original
WEIGHTS_OF_LOSS = tuple(
    name
    for name in Train.model_fields
    if name.startswith(("alignment_", "prior_", "risk_", "teacher_"))
)
# Parts that go by another name than in the network, for `train.freeze`.
ALIASES = {"embedding": ("source_embedding", "target_embedding", "output_table")}
BATCH = "batch_tokens"
SCHEDULE: tuple[str, ...] = ("steps", "minutes", "epochs", "warmup", "validate_every")
SCHEDULE += (BATCH,)  # it suits the size of a corpus
SCHEDULE += ("checkpoint_every", "freeze", "lora_rank", "lora_alpha", "plugin", *WEIGHTS_OF_LOSS)
# What a network need not have in common with a model that it begins with.
OWN = {"network", "labels", "rnn", *SIDE_OF.values(), *FREE}
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
        shape = parent.config.model
        fixed = {"model": {n: getattr(shape, n) for n in type(shape).model_fields if n not in FREE}}
        if not has_new_tokens:
            fixed["text"] = {name: getattr(parent.config.text, name) for name in TOKENIZER}
        for table, values in fixed.items():
            for name, value in values.items():
                result = getattr(getattr(config, table), name)
                if result != value:
                    raise ValueError(parent._explain(f"{table}.{name}", result, value))
        return parent

    def save(self, run: Path) -> None:
        """Copy the model, and its tokenizers if they are kept, into the run's folder."""
        save_model(run / PARENT, self.config, self.tokenizers, self.model.state_dict())
        if not self.has_new_tokens:
            self.tokenizers.save(run)

    def _explain(self, name: str, entry: object, value: object) -> str:
        if name.startswith("text."):
            return (
                f"{name}={entry} has no effect: the tokens of {self.folder} are kept "
                f"({name}={value}); add --new-tokenizer to learn new ones"
            )
        return (
            f"{name}={entry} does not fit {self.folder}, which has {name}={value}: its weights "
            f"are kept, so of [model] only {', '.join(FREE)} can change"
        )


def record_origin(folder: Path, tokens: str) -> dict[str, Any]:
    """Return the name and digest of a model, its data, and what it began with itself."""
    facts = read_facts(folder)
    return {
        "name": folder.resolve().name,
        "sha256": hash_file(folder / WEIGHTS),
        "tokens": tokens,
        **{name: facts[name] for name in ("data", "licence", "parent") if name in facts},
    }


def inherit(folder: Path | str, changes: Sequence[str] = ()) -> Config:
    """Return the settings for a training from a model: its own, without those of its schedule.

    Without train.batch_tokens, `train` chooses a batch for the new corpus.
    `changes` are applied on top.
    """
    raw = load_model(folder)[0].model_dump(exclude_none=True)
    raw["train"] = {name: value for name, value in raw["train"].items() if name not in SCHEDULE}
    raw["text"].pop("split_above", None)  # it depends on the corpus
    raw["data"].pop("stage", None)
    if len(raw["data"].get("corpus", ())) and len(Config.read(raw).data.pairs) == 1:
        del raw["data"]["corpus"]
    return Config.read(raw, changes)


@dataclass(frozen=True)
class InitialWeights:
    """The weights that a run begins with, opened once: the copies that its folder keeps."""

    whole: tuple[Tokenizers, WeightsFile] | None  # of the initial model, if there is one
    parts: Sequence[WeightsFile]  # of the models of which parts are taken by name

    @classmethod
    def open(cls, run: Path) -> InitialWeights:
        """Open the models in a run's folder. ValueError, in one sentence, if one is damaged."""
        whole = open_model(run / PARENT)[1:] if (run / PARENT).is_dir() else None
        numbered = sorted((run / INITIAL).glob("*"), key=lambda path: int(path.name))
        return cls(whole, [open_model(folder)[2] for folder in numbered])

    def copy_to(self, network: EncoderDecoder, tokenizers: Tokenizers) -> list[str]:
        """Give a fresh network its initial weights; return, in words, which parts came from where.

        A token that the initial model knows keeps its embeddings; a new one gets the mean of the
        embeddings of the tokens into which the initial tokenizer splits it.
        """
        if self.whole:
            known, weights = self.whole
            has_labels = bool(network.settings.labels)
            remapped = _remap_weights(load_fp32(weights), known, tokenizers, has_labels)
            network.load_state_dict(remapped)
        remarks, drawn = list[str](), dict(network.named_parameters())
        for number, weights in enumerate(self.parts):
            taken = _take(network, load_fp32(weights))
            for name in taken:
                drawn.pop(name, None)
            remarks.append(f"{', '.join(_sum_up(taken)) or 'nothing'} from model {number}")
        if remarks and drawn:
            remarks.append(f"drawn as usual: {', '.join(_sum_up(drawn))}")
        return remarks


def _remap_weights(
    weights: dict[str, Tensor], known: Tokenizers, new: Tokenizers, has_labels: bool
) -> dict[str, Tensor]:
    """Return the weights with the embeddings of both vocabularies remapped to others.

    has_labels: the outputs are classes, not tokens.
    """
    for name, rows in weights.items():
        if name.startswith("source_embedding.table"):
            weights[name] = _remap_embeddings(rows, known.source, new.source)
        elif name.startswith(("target_embedding.table", "output_")) and not has_labels:
            weights[name] = _remap_embeddings(rows, known.target, new.target)
    return weights


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


def inherit_shape(
    folders: Sequence[Path | str], raw: Mapping[str, Any], changes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return raw settings with the shape and the vocabulary of the models.

    The sides of a translation model get as many layers as the language model of that side has.
    `changes` will be applied on top; here they tell the network.
    """
    typed = dict(change.replace('"', "").split("=", 1) for change in changes if "=" in change)
    network = typed.get("model.network", "transformer")
    model: dict[str, Any] = {}
    text: dict[str, Any] = {}
    for folder in folders:
        config = open_model(folder)[0]
        model |= config.model.model_dump(exclude=OWN, exclude_none=True, exclude_unset=True)
        side = SIDE_OF.get(config.model.network, "")
        if side and side == SIDE_OF.get(network, side):
            model[side] = getattr(config.model, side)
        text |= {name: getattr(config.text, name) for name in TOKENIZER}
    return {**raw, "model": model, "text": text}


def copy_models(folders: Sequence[Path | str], run: Path, config: Config) -> list[dict[str, Any]]:
    """Copy the models to the run's folder, and the tokenizers of the first; return their origins.

    ValueError if one has another vocabulary than the first, or shares no layer with the network.
    """
    origins, first = list[dict[str, Any]](), None
    for number, folder in enumerate(map(locate, folders)):
        own, tokenizers, model = load_model(folder)
        first = first or tokenizers
        if tokenizers.source.vocabulary != first.source.vocabulary:
            raise ValueError(
                f"{folder} has other tokens than {folders[0]}: train it --init-from that"
            )
        _check(folder, own, config)
        save_model(run / INITIAL / str(number), own, tokenizers, model.state_dict())
        origins.append(record_origin(folder, "kept"))
    if first:
        first.save(run)
    return origins


def _check(folder: Path, own: Config, config: Config) -> None:
    """Raise ValueError for a setting that makes the weights of a model useless."""
    names = [name for name in type(own.model).model_fields if name not in OWN]
    then = {name: getattr(own.model, name) for name in names}
    for changed in config.model.list_changed((), **then):
        name = changed.partition("=")[0]
        known = f"{name}={attrgetter(name)(own.model)}"
        raise ValueError(f"model.{changed} does not fit {folder}, which has {known}")
    if config.text.vocabulary != own.text.vocabulary:
        raise ValueError(
            f"text.vocabulary={config.text.vocabulary} has no effect: the tokens of {folder} are "
            f"kept (text.vocabulary={own.text.vocabulary})"
        )


def _take(network: nn.Module, known: Mapping[str, Tensor]) -> list[str]:
    """Copy the weights of the same name and shape; return their names."""
    taken = []
    with torch.no_grad():
        for name, weight in network.named_parameters(remove_duplicate=False):
            if name in known and known[name].shape == weight.shape:
                weight.copy_(known[name])
                taken.append(name)
    return taken


def _sum_up(names: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """Return the parts that weights belong to: `encoder.self_attention`, `output_table`."""
    parts = [[part for part in name.split(".") if not part.isdigit()] for name in names]
    return list(dict.fromkeys(".".join(part[:2]) for part in parts))
