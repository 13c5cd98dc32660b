"""A model directory: all files that translating raw text needs, without any pickle.

model.safetensors   the weights, a tied one only once; fp32, or fp16 to save space
config.toml         every setting
tokenizer.json      or tokenizer.source.json and tokenizer.target.json
characters.json     optional: how often each side of the training text has which marks
card.md             the data that the model was trained on, and its scores
golden.json         a few inputs with their expected translations
alignment.json      optional: which head aligns words best
heads.json          optional: what each head reads, and what breaks without it
words.txt           optional: the words of the training text's source side
shortlist.safetensors  optional: the likely translations of each token
evaluation.json     optional: the worst sentences of a test set; `publish` leaves it behind
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...config import Config, Model
from ...foundation.disk import read_json as read_json
from ...foundation.disk import write_json as write_json
from ...foundation.disk import write_text as write_text
from ...foundation.hashing import sha256_hex
from ...foundation.typed_json import check_type, read_typed
from ...text import Normalization, Tokenizer
from ...text.kinds import load_tokenizer
from ...text.normalization import KINDS
from ...text.spacing import name_base
from .shapes import list_shapes
from .weights_file import Shapes, WeightsFile

if TYPE_CHECKING:  # a model is opened without PyTorch
    from torch import Tensor

    from ..encoder_decoder import EncoderDecoder

WEIGHTS, CONFIG, CARD, GOLDEN = "model.safetensors", "config.toml", "card.md", "golden.json"
MODELS = "GLASSFORMER_MODELS"  # an environment variable
DOUBT = "doubt.json"  # below which confidence a translation is doubted
SHORTLIST = "shortlist.safetensors"
ALIGNMENT, HEADS, EVALUATION = "alignment.json", "heads.json", "evaluation.json"
LATER = (SHORTLIST, ALIGNMENT, DOUBT, GOLDEN)  # made for a model, and change what it translates
# What a training leaves in the folder `run` of a model, for going on with it.
RUN, RECORD, CHECKPOINTS, BEST = "run", "run.json", "checkpoints", "best"
LOCK = "lock"  # in RUN, while it is being trained: the process that holds it
VALID = ("valid.source", "valid.target")
VALID_CONTEXT = "valid.context"  # the sentences before each source, if they are read
SHIPPED = Path(__file__).parents[2] / "models"  # the models that come with the package
ORIGIN = "origin"  # the key of the note beside the weights
FREE = ("dropout", "attention_dropout", "activation_dropout")  # of [model]: they have no weights
CHARACTERS, SIDES = "characters.json", ("source", "target")
SHARED, SEPARATE = "tokenizer.json", ("tokenizer.source.json", "tokenizer.target.json")


def read_findings(folder: Path, name: str) -> dict[str, Any] | None:
    """Return what was measured of a model: HEADS or EVALUATION, say; None without that file."""
    path = folder / name
    findings: dict[str, Any] | None = read_json(path) if path.is_file() else None
    return findings


class Tokenizers(NamedTuple):
    """The tokenizers of both sides."""

    source: Tokenizer
    target: Tokenizer

    @property
    def is_shared(self) -> bool:
        """Return whether both sides have the same tokens and may differ in characters alone."""
        before, after = (each.normalization._replace(characters=None) for each in self)
        return self.source.vocabulary is self.target.vocabulary and before == after

    def know_characters(
        self, config: Config, counts: Mapping[str, Mapping[str, int]] | None
    ) -> Tokenizers:
        """Return tokenizers that read what people type as characters that the model has seen.

        counts: of each side of the training text. Without them, a French source keeps the no-break
        spaces before its marks, if these are tokens: training had them there.
        """
        if config.model.is_language_model:
            return self
        narrow = counts is None and name_base(config.data.source_lang) == "fr"
        before, after = (counts[side] if counts else None for side in SIDES)
        source = self.source.know_characters(before, is_source=True, keeps_narrow=narrow)
        return Tokenizers(source, self.target.know_characters(after, is_source=False))

    def save(self, folder: Path) -> None:
        if self.is_shared:
            self.source.save(folder / SHARED)
        else:
            for name, tokenizer in zip(SEPARATE, self, strict=True):
                tokenizer.save(folder / name)
        maps = [each.normalization.characters for each in self]
        if all(each and each.is_counted for each in maps):
            counts = {side: each.counts for side, each in zip(SIDES, maps, strict=True) if each}
            write_json(folder / CHARACTERS, counts)

    @classmethod
    def load(cls, folder: Path) -> Tokenizers:
        if (folder / SEPARATE[0]).is_file():
            return cls(*(load_tokenizer(folder / name) for name in SEPARATE))
        shared = load_tokenizer(folder / SHARED)
        return cls(shared, shared)


def open_tokenizers(folder: Path, config: Config) -> Tokenizers:
    """Return the tokenizers of a model that read text in the characters that it has seen.

    ValueError if a file of theirs is damaged.
    """
    path, counts = folder / CHARACTERS, None
    if path.is_file():
        counts = read_typed(path, dict[str, dict[str, int]])
        if counts.keys() != {*SIDES}:
            raise ValueError(f"{path}: it has to have the counts of source and target")
    return Tokenizers.load(folder).know_characters(config, counts)


def build_model(config: Config, tokenizers: Tokenizers) -> EncoderDecoder:
    """Return a network with fresh weights, shaped by the settings and the vocabulary sizes."""
    from ..networks import build_network

    return build_network(config.model, len(tokenizers.source), len(tokenizers.target))


def locate(model: Path | str) -> Path:
    """Return the folder of a model, given as a path or as the name of an installed model.

    Those are the models of the package, and those that were fetched. A model of that name in the
    working directory takes precedence. Languages after an @ are left out. `hub:USER/NAME` is
    fetched from the Hugging Face hub: see `hub.py`.
    """
    model = split_pair(model)[0]
    if str(model).startswith("hub:"):
        from ...foundation.hub import fetch_model

        return fetch_model(str(model))
    folder = Path(model)
    is_here = any((folder / name).exists() for name in (CONFIG, WEIGHTS))
    if len(folder.parts) == 1 and not is_here:
        for home in (SHIPPED, find_models()):
            if (home / model / WEIGHTS).is_file():
                return home / model
    return folder


def find_models() -> Path:
    """Return the folder of the models that were fetched; $GLASSFORMER_MODELS names another one."""
    if chosen := os.environ.get(MODELS):
        return Path(chosen)
    try:
        if os.name == "nt":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "glassformer" / "models"
        shared = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    except RuntimeError:  # the home folder is unknown
        shared = Path()
    return Path(shared) / "glassformer" / "models"


def name_pair(model: Path, pair: str | None) -> Path:
    """Return a model with the languages that are wanted of it, as "folder@de"."""
    return model if pair is None else model.with_name(f"{model.name}@{pair}")


def split_pair(model: Path | str) -> tuple[Path | str, str | None]:
    """Return a model and its pair of languages: "folder@en-de" or "folder@de"; else None.

    A folder whose own name has an @ is taken as it is.
    """
    name, at, pair = str(model).rpartition("@")
    if not (at and name and pair) or Path(model).exists():
        return model, None
    return name, pair


def save_model(
    folder: Path,
    config: Config,
    tokenizers: Tokenizers,
    weights: Mapping[str, Tensor],
    *,
    half: bool = False,
) -> None:
    """Write a model directory; each file is written whole or not at all. `half`: in fp16."""
    import torch

    from .tensors import save_tensors

    folder.mkdir(parents=True, exist_ok=True)
    tokenizers.save(folder)
    write_text(folder / CONFIG, config.to_toml())
    origin, dtype = _describe_origin(config, tokenizers), torch.float16 if half else None
    save_tensors(folder / WEIGHTS, weights, dtype=dtype, notes={ORIGIN: origin})


def open_checkpoint(folder: Path) -> tuple[Config, Tokenizers, WeightsFile]:
    """Open a checkpoint, or one of the best, as a model: its averaged weights, if it has some."""
    run = folder.resolve().parents[1]
    averaged = folder / "averaged.safetensors"
    weights = WeightsFile(averaged if averaged.is_file() else folder / "weights.safetensors")
    config = Config.load(folder / CONFIG)
    tokenizers = open_tokenizers(run, config)
    weights.check_shapes(_expect_shapes(config, tokenizers, weights.shapes))
    weights.check_finite()
    return config, tokenizers, weights


def open_model(
    model: Path | str, *, in_memory: bool = False
) -> tuple[Config, Tokenizers, WeightsFile]:
    """Open a model directory; return settings, tokenizers and the weights as they lie in the file.

    `in_memory`: nothing that is done to the file later changes them. They are checked to have the
    names and shapes that the settings ask for, and finite values. ValueError, in one sentence,
    if it is not a complete model directory.
    """
    folder = locate(model)
    if folder.resolve().parent.name in (CHECKPOINTS, BEST) and (folder / CONFIG).is_file():
        return open_checkpoint(folder)
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            from ...foundation.extensions import find_addition

            explain = find_addition("explain_folder")
            if explain and (advice := explain(folder)):
                raise ValueError(advice)
            if not folder.exists():
                raise ValueError(f"{folder}: no such folder, nor a model's name{_suggest(folder)}")
            raise ValueError(f"{folder} is no model directory: it has no {name}")
    config = Config.load(folder / CONFIG)
    if not config.model_fields_set >= set(Config.model_fields) - {"size", "recipe"}:
        raise ValueError(f"{folder / CONFIG}: cut short, or not written by a training")
    tokenizers = open_tokenizers(folder, config)
    layers = config.model.encoder_layers + config.model.decoder_layers
    weights = WeightsFile(folder / WEIGHTS, in_memory=in_memory)
    held = len(weights.tensors)
    if layers > held:  # checked before so many layers are listed
        raise ValueError(f"{folder / CONFIG}: {layers} layers, but {WEIGHTS} has {held} tensors")
    weights.check_shapes(_expect_shapes(config, tokenizers, weights.shapes))
    _check_origin(folder, config, tokenizers, weights.notes)
    check_normalization(config, tokenizers, str(folder))
    weights.check_finite()
    return config, tokenizers, weights


def _expect_shapes(config: Config, tokenizers: Tokenizers, results: Shapes) -> Shapes:
    """Return the shapes that the weights must have.

    Whoever changes the code of `model/` gets other weights than those listed: if the ones found
    are not listed, the network is asked for its own, where PyTorch is installed.
    """
    sizes = len(tokenizers.source), len(tokenizers.target)
    if config.model.tie == "three-way" and sizes[0] != sizes[1]:
        raise ValueError(
            f"tie=three-way needs one vocabulary, but the source has {sizes[0]} tokens and the "
            f"target {sizes[1]}: use tie=two-way, or text.shared=true"
        )
    shapes = list_shapes(config.model, *sizes)
    if results == shapes or find_spec("torch") is None:
        return shapes
    from .meta_model import find_shapes

    return find_shapes(config.model, *sizes)


def _check_origin(
    folder: Path, config: Config, tokenizers: Tokenizers, notes: Mapping[str, Any]
) -> None:
    """Raise ValueError if tokenizers or settings differ from those noted beside the weights."""
    then = check_type(notes.get(ORIGIN, {}), dict[str, Any], f"{folder / WEIGHTS}: {ORIGIN}")
    for name, value in _describe_origin(config, tokenizers).items():
        if then.get(name, value) != value:
            reason = f"but the weights were made with {then[name]}"
            raise ValueError(f"{folder}: {name} is {value}, {reason}")


def check_normalization(config: Config, tokenizers: Tokenizers, name: str) -> None:
    """Raise ValueError, which begins with `name`, if the tokens belong to other text.

    What the settings say of nfkc, punctuation and lowercase is done by the tokenizer.
    """
    sides = ("source",) if config.model.is_language_model else ("source", "target")
    for side in sides:
        configured = Normalization.choose(config.text, side)
        normalization = getattr(tokenizers, side).normalization
        for kind in KINDS:
            then = getattr(normalization, kind)
            if getattr(configured, kind) != then:
                raise ValueError(
                    f"{name}: text.{kind}={getattr(config.text, kind)} does not fit its tokens, "
                    f"which were learned {'with' if then else 'without'} it on the {side} side"
                )


def _describe_origin(config: Config, tokenizers: Tokenizers) -> dict[str, Any]:
    """Return what the weights depend on although no shape shows it: tokenizers and settings."""
    model = config.model.model_dump(mode="json", exclude={*FREE, "positions"})
    model |= config.model.positions.model_dump(exclude={"max_positions"})
    return {"tokenizer": tell_tokenizers(tokenizers), **model}


def tell_tokenizers(tokenizers: Tokenizers) -> str:
    """Return the digest by which both vocabularies are known."""
    source, target = (each.vocabulary for each in tokenizers)  # most models share them
    first = json.dumps(source)
    second = first if source is target else json.dumps(target)
    return sha256_hex(f"[{first}, {second}]".encode())[:16]


def load_model(model: Path | str) -> tuple[Config, Tokenizers, EncoderDecoder]:
    """Return settings, tokenizers and network of a model directory, the weights in fp32.

    ValueError, in one sentence, if it is not a complete model directory.
    """
    config, tokenizers, weights = open_model(model)
    return config, tokenizers, make_network(config.model, weights)


def make_network(settings: Model, weights: WeightsFile) -> EncoderDecoder:
    """Return the network of an opened model directory, in eval mode."""
    from ..networks import build_network
    from .tensors import load_fp32

    names = "source_embedding.table.weight", "output_table.weight"  # a decoder alone has one
    sizes = [weights[name].shape[0] for name in names if name in weights.tensors]
    network = build_network(settings, sizes[0], sizes[-1])
    network.load_state_dict(load_fp32(weights))
    return network.eval()


def _suggest(folder: Path) -> str:
    """Return a hint at the shipped model that may be meant."""
    from difflib import get_close_matches

    names = sorted(path.name for path in SHIPPED.glob("*"))
    near = get_close_matches(str(folder), names, 1)
    return f" (did you mean {near[0]}?)" if near else ""
