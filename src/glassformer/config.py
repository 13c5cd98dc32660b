"""The settings of a model and of its training, read from and written to one TOML file.

This module does not import torch. An unknown key is an error that names the nearest known one; a
setting that is None is left out of the file. Where a default is not the paper's, its line says so.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from .disk import check_file_size
from .former_names import rename_settings
from .sizes import SIZES as SIZES
from .validation_errors import explain_error

# Upper bounds. A settings file may come from somebody else, and its numbers decide how much memory
# is allocated.
WIDE, MANY = 1 << 17, 10**7

PAD, BOS, EOS = 0, 1, 2  # the ids that are not text: padding, begin and end of a sentence


# The settings that only one kind of search uses, and that search.
SEARCH_OF = {
    "beam": "beam",
    "stop": "beam",
    "temperature": "sample",
    "top_k": "sample",
    "top_p": "sample",
}


class Settings(BaseModel):
    """The base class of each table of the file: frozen, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Positions(Settings):
    """The settings of the positional encoding (3.5); see `model/positions.py`."""

    layout: Literal["interleaved", "concatenated", "learned"] = "interleaved"
    grid: Literal["paper", "tensor2tensor"] = "paper"  # exponents 2i/d, or i/(d/2-1)
    offset: int = Field(0, ge=0, le=MANY)  # the number of the first position
    amplitude: float = Field(1.0, ge=0, le=MANY)  # a factor on every value
    # positions in the table: the longest sentence, in tokens
    max_positions: int = Field(1024, ge=2, le=WIDE)

    @model_validator(mode="after")
    def _has_effect(self) -> Positions:
        if self.layout == "learned" and (self.grid, self.offset, self.amplitude) != ("paper", 0, 1):
            raise ValueError("grid, offset and amplitude have no effect with layout=learned")
        return self


class Model(Settings):
    """The shape of the network. The defaults are the paper's base model (table 3)."""

    d_model: int = Field(512, ge=2, le=WIDE)
    d_ff: int = Field(2048, ge=1, le=MANY)
    heads: int = Field(8, ge=1, le=WIDE)
    head_width: int | None = Field(None, ge=1, le=WIDE)  # None: d_model / heads
    encoder_layers: int = Field(6, ge=1, le=1000)
    decoder_layers: int = Field(6, ge=1, le=1000)
    dropout: float = Field(0.1, ge=0, lt=1)  # where the paper has it (5.4)
    attention_dropout: float = Field(0.0, ge=0, lt=1)  # on the weights; not in the paper
    activation_dropout: float = Field(0.0, ge=0, lt=1)  # inside the feed-forward; not in the paper
    norm: Literal["post", "pre"] = "post"
    norm_epsilon: float = Field(1e-5, gt=0)
    activation: Literal["relu", "silu", "gelu"] = "relu"
    tie: Literal["three-way", "two-way", "none"] = "three-way"  # two-way: target and output
    output_bias: bool = False  # a bias on the logits, as Marian has it; not in the paper
    positions: Positions = Positions()

    @model_validator(mode="after")
    def _fits(self) -> Model:
        if self.d_model % 2:
            raise ValueError(f"d_model={self.d_model} must be even: positions are sin/cos pairs")
        if self.head_width is None and self.d_model % self.heads:
            fitting = (h for h in range(1, self.d_model + 1) if self.d_model % h == 0)
            near = min(fitting, key=lambda h: abs(h - self.heads))
            raise ValueError(
                f"d_model={self.d_model} cannot be split over heads={self.heads}; "
                f"heads={near} fits, or set head_width"
            )
        return self

    @property
    def width(self) -> int:
        """Return K, the width of one head."""
        return self.head_width or self.d_model // self.heads


class Text(Settings):
    """The settings of the tokenizer (5.1: byte-pair encoding, one vocabulary for both sides)."""

    vocabulary: int = Field(8000, ge=300, le=MANY)  # tokens in all, control ids and bytes included
    shared: bool = True  # one vocabulary for both sides
    dropout: float = Field(0.0, ge=0, lt=1)  # subword sampling: the chance that a merge is skipped
    samples: int = Field(8, ge=1, le=1000)  # K, segmentations kept a side; epoch e reads e mod K
    # A source of more tokens is translated in parts. None: the 99th percentile of the training text
    split_above: int | None = Field(None, ge=1)


class Data(Settings):
    """The settings of the sentence pairs. Paths are given on the command line, not stored here."""

    source_lang: str | None = None
    target_lang: str | None = None
    # tokens; longer pairs are left out, and their number is reported
    max_length: int = Field(256, ge=1, le=WIDE)


class Train(Settings):
    """The settings of training (section 5 of the paper)."""

    seed: int = Field(1, ge=0, lt=1 << 63)
    steps: int | None = Field(None, ge=1, le=10**9)
    minutes: float | None = Field(None, gt=0, le=10**7)  # instead of steps; turned into steps
    batch_tokens: int = Field(4096, ge=16, le=10**9)  # a side of a micro-batch, with padding
    pad_to: int | None = Field(None, ge=1, le=64)  # a multiple for lengths; None: what is fastest
    gradient_accumulation: int = Field(1, ge=1, le=10**6)  # micro-batches summed into one update
    optimizer: Literal["adam", "muon"] = "adam"
    learning_rate: float | None = Field(None, gt=0)  # the peak; None: (d_model * warmup) ** -0.5
    embedding_lr_scale: float = Field(1.0, gt=0, le=1000)  # of embeddings, times the learning rate
    warmup: int | None = Field(None, ge=1)  # updates; None: the paper's 4000, or a tenth of all
    schedule: Literal["inverse_sqrt", "cosine", "linear"] = "inverse_sqrt"
    final_rate: float = Field(0.0, ge=0, le=1)  # where cosine and linear end, a share of the peak
    betas: tuple[float, float] = (0.9, 0.98)
    epsilon: float = Field(1e-9, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    rdrop_alpha: float = Field(0.0, ge=0, le=1000)  # R-Drop's alpha: two forward passes a batch
    max_grad_norm: float | None = Field(1.0, gt=0)  # largest gradient norm; not in the paper
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    ema: float | None = Field(None, gt=0, lt=1)  # decay of a moving average of the weights
    validate_every: int | None = Field(None, ge=1)  # updates; None: ten times in all
    checkpoint_every: int | None = Field(None, ge=1)  # updates; None: at each validation
    keep: int = Field(1, ge=1)  # latest checkpoints kept, for resuming and averaging
    best_by: Literal["bleu", "chrf", "loss"] = "bleu"
    patience: int | None = Field(None, ge=1)  # validations without a better score before stopping
    freeze: tuple[str, ...] = ()  # parts that are not trained, like "encoder" or "decoder.0"
    watch: int = Field(3, ge=0)  # sentences recorded during training, in run/watch; 0: none
    shard: bool = False  # with torchrun: spread one model over all processes, to save memory

    @model_validator(mode="after")
    def _ends(self) -> Train:
        if self.steps is not None and self.minutes is not None:
            raise ValueError("steps and minutes both say when to stop: give one of them")
        if self.schedule == "inverse_sqrt" and self.final_rate:
            raise ValueError("final_rate has no effect with schedule=inverse_sqrt")
        return self


class Decode(Settings):
    """The settings of the search: the defaults of `translate`. The paper has beam 4, alpha 0.6."""

    search: Literal["beam", "greedy", "sample"] = "beam"
    beam: int = Field(5, ge=1, le=1000)
    length_penalty: Literal["gnmt", "power", "none"] = "gnmt"  # ((5+n)/6)^alpha, n^alpha, 1
    alpha: float = Field(0.6, ge=0, le=100)
    stop: Literal["exact", "first"] = "exact"
    max_ratio: float = Field(1.5, ge=0, le=1000)  # longest: ratio * source + extra; see find_ratio
    max_extra: int = Field(50, ge=1, le=WIDE)  # the paper: input length + 50
    min_length: int = Field(0, ge=0, le=WIDE)
    no_repeat_ngram_size: int = Field(0, ge=0, le=WIDE)  # no n-gram of this size twice; 0: off
    temperature: float = Field(1.0, gt=0)
    top_k: int = Field(0, ge=0, le=MANY)  # 0: all
    top_p: float = Field(1.0, gt=0, le=1)

    def override(
        self, given: Decode | Mapping[str, Any] | None = None, n_best: int | None = None
    ) -> Decode:
        """Return these settings, with those that are given in the place of ours.

        A setting that only one search uses selects that search, unless `search` is given as well.
        `n_best` translations need a beam of at least that width. If `given` is a `Decode`, the
        settings that it was made with count as given, and its defaults do not. The command line,
        Python, the server and `see` all choose their search here. ValueError names what is wrong.
        """
        if isinstance(given, Decode):
            given = {} if given is self else given.model_dump(exclude_unset=True)
        changes = {name: value for name, value in (given or {}).items() if value is not None}
        meant = {SEARCH_OF[name]: name for name in changes if name in SEARCH_OF}
        if n_best is not None and n_best > 1:
            changes = {"beam": max(self.beam, n_best), **changes}
            meant.setdefault("beam", "n_best")
        if "search" not in changes and len(meant) > 1:
            asked = " and ".join(f"{name} asks for search={kind}" for kind, name in meant.items())
            raise ValueError(f"{asked}: give one of the two, or say which search")
        implied = {"search": min(meant)} if meant else {}
        return Config.read({"decode": {**self.model_dump(), **implied, **changes}}).decode


class Config(Settings):
    """All settings. `size` gives the defaults of `model`; what `model` sets itself overrides them.

    A setting that is not given has the paper's value. With the recipe auto, which the size auto
    needs, training chooses it once it knows the corpus: see `train/auto.py`.
    """

    recipe: Literal["auto", "paper"] | None = None  # None: the paper's, but for the size auto
    size: Literal["auto", "tiny", "small", "base", "big"] | None = None
    model: Model = Model()
    text: Text = Text()
    data: Data = Data()
    train: Train = Train()
    decode: Decode = Decode()

    @model_validator(mode="before")
    @classmethod
    def _grow_from_size(cls, raw: Any) -> Any:
        if isinstance(raw, Mapping) and str(raw.get("size")) in SIZES:
            shape, model = SIZES[raw["size"]], raw.get("model", {})
            if isinstance(model, Mapping):
                raw = {**raw, "model": {**shape, **model}}
        return raw

    @model_validator(mode="after")
    def _has_a_size(self) -> Config:
        if self.recipe == "paper" and self.size == "auto":
            raise ValueError("size=auto is chosen by recipe=auto, not by the paper's: name a size")
        return self

    @property
    def is_open(self) -> bool:
        """Return whether settings are still to be chosen for a corpus and a machine."""
        return self.recipe == "auto" or self.size == "auto"

    @classmethod
    def load(cls, path: Path | str, changes: Sequence[str] = ()) -> Config:
        """Read a TOML file; `changes` are `train.steps=500` and the like, applied on top.

        Raises ValueError, in one sentence, for an unreadable file, an unknown key or a bad value.
        """
        try:
            check_file_size(Path(path))
            raw = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ValueError(f"{path}: not a TOML file: {error}") from None
        except RecursionError:
            raise ValueError(f"{path}: not a TOML file of ours: nested too deeply") from None
        return cls.read(raw, changes, name=str(path))

    @classmethod
    def read(
        cls, raw: Mapping[str, Any], changes: Sequence[str] = (), name: str = "settings"
    ) -> Config:
        """Return the settings of a nested mapping, with `changes` applied on top.

        ValueError, in one sentence that begins with `name`, if one is unknown or has a bad value.
        """
        merged = rename_settings(raw)
        for change in changes:
            _apply(merged, change)
        merged = rename_settings(merged)
        try:
            return cls.model_validate(merged)
        except ValidationError as error:
            raise ValueError(f"{name}: {explain_error(error, Config)}") from None

    def changed(self, **tables: Mapping[str, Any]) -> Config:
        """Return a copy with some settings changed: `config.changed(train={"steps": 10})`."""
        raw = self.model_dump(exclude_none=True, exclude_unset=True)
        for table, values in tables.items():
            raw[table] = {**raw.get(table, {}), **values}
            raw[table] = {key: value for key, value in raw[table].items() if value is not None}
        return Config.read(raw)

    def to_toml(self) -> str:
        raw = self.model_dump(mode="json", exclude_none=True, exclude_unset=self.is_open)
        return tomli_w.dumps(raw)


def _apply(raw: dict[str, Any], change: str) -> None:
    """Set `train.steps=500` in a nested dict. The value is TOML; a bare word is a string."""
    key, equals, text = change.partition("=")
    if not equals:
        raise ValueError(f"--set {change}: write it as key=value, for example train.steps=500")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        value = text
    *tables, last = key.strip().split(".")
    for table in tables:
        raw = raw.setdefault(table, {})
        if not isinstance(raw, dict):
            raise ValueError(f"--set {change}: {table} is a value, not a table of settings")
    raw[last] = value
