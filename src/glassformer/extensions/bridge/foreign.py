"""A model of another toolkit as it was read, and what becomes of it here.

The names of weights and settings are data: `toolkits.toml`.
"""

from __future__ import annotations

import functools
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glassformer.config import BOS, PAD, Config
from glassformer.extensions.foreign_tokenizers.imported import UNKNOWN
from glassformer.model.files.directory import Tokenizers, build_model
from glassformer.model.transformer import Transformer
from glassformer.text import Tokenizer
from glassformer.text.layout import CONTROLS

TABLE = Path(__file__).with_name("toolkits.toml")
NEVER = -200.0  # a bias that makes a token's probability 0 in fp32
LAYER = re.compile(r"(encoder|decoder)\.(\d+)\.(.+)\.(weight|bias)")
# Our names of whole tensors, and the key of each in [X.tables]. Learned positions have two rows
# that no position uses in some toolkits, so their number of rows is looked up.
WHOLE = {
    "source_embedding.table.weight": "source",
    "target_embedding.table.weight": "target",
    "output_table.weight": "output",
    "output_bias": "output_bias",
    "source_embedding.positions_LD": "source_positions",
    "target_embedding.positions_LD": "target_positions",
    "source_embedding.norm": "source_norm",
    "target_embedding.norm": "target_norm",
    "encoder_norm": "encoder_norm",
    "decoder_norm": "decoder_norm",
}

Weights = dict[str, Tensor]
Row = int | None  # of a table; None: a row that is not there, of zeros


@dataclass(frozen=True)
class ForeignSide:
    """The vocabulary of one side, in the order of the rows of its table, and what cuts its text.

    `start`: the row that the decoder begins with, None for zeros. `cut`: returns our tokenizer for
    a vocabulary. `tags`: our name for each token that only callers add.
    """

    tokens: Sequence[str]
    pad: Row
    start: Row
    end: Row
    unknown: Row
    cut: Callable[[Sequence[str]], Tokenizer]
    tags: Mapping[str, str] = field(default_factory=dict)

    def order(self, rows: int) -> tuple[list[str], list[Row]]:
        """Return our vocabulary, and the row of a table of `rows` for each of its ids.

        ValueError if the table is smaller than the vocabulary. Rows without a token, which fill
        the table up, get a name.
        """
        if rows < len(self.tokens):
            raise ValueError(f"{rows:,} rows for {len(self.tokens):,} tokens")
        own = {self.pad, self.end} | ({self.start} if self._starts_alone else set())
        others = [row for row in range(rows) if row not in own]
        return [*CONTROLS, *(self._name(row) for row in others)], [
            self.pad,
            self.start,
            self.end,
            *others,
        ]

    @property
    def _starts_alone(self) -> bool:
        """Return whether a token of its own begins a translation, not the end mark or a tag."""
        is_token = self.start is not None and self.start != self.end and self.start != self.pad
        return is_token and self.tokens[self.start or 0] not in self.tags

    def _name(self, row: int) -> str:
        if row == self.unknown:
            return UNKNOWN
        token = self.tokens[row] if row < len(self.tokens) else ""
        if token in self.tags:
            return self.tags[token]
        return f" unused {row}" if token in ("", UNKNOWN, *CONTROLS) else token


@dataclass(frozen=True)
class Foreign:
    """A model of another toolkit, as it was read.

    toolkit: its table in `toolkits.toml`. path: the file of its weights, for messages. settings:
    its own, by name. model: ours that do not follow from the table; `positions` among them.
    is_scaled: whether it multiplies embeddings by √d_model, as the paper does.
    """

    toolkit: str
    path: Path
    weights: Weights
    settings: Mapping[str, Any]
    sides: Sequence[ForeignSide]  # source and target
    model: Mapping[str, Any]
    is_scaled: bool = True
    skipped: int = 0  # rows of learned positions that no position has
    text: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    decode: Mapping[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()  # patterns of names that are no weights of ours
    steps: Mapping[str, float] = field(
        default_factory=dict
    )  # of matrices of int8 numbers: one of 1
    shortlist: Path | None = None

    @property
    def source(self) -> ForeignSide:
        return self.sides[0]

    @property
    def target(self) -> ForeignSide:
        return self.sides[1]

    @property
    def names(self) -> Mapping[str, Any]:
        return read_toolkits()[self.toolkit]


@functools.cache
def read_toolkits() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def convert(foreign: Foreign) -> tuple[Config, Tokenizers, Transformer]:
    """Return settings, tokenizers and network of the model, which compute the same.

    ValueError, in one sentence that names the file, for what this product does not compute.
    """
    weights = _Renamed(foreign)
    settings = _translate_settings(foreign, weights)
    vocabularies, rows = [], []
    for side, key in ((foreign.source, "source"), (foreign.target, "target")):
        try:
            vocabulary, order = side.order(len(weights.find_table(key)))
        except ValueError as error:
            raise ValueError(f"{foreign.path}: the {key} side: {error}") from None
        vocabularies.append(vocabulary)
        rows.append(order)
    is_shared = foreign.source is foreign.target
    source = foreign.source.cut(vocabularies[0])
    target = source if is_shared else foreign.target.cut(vocabularies[1])
    tokenizers = Tokenizers(source, target)
    settings["tie"] = weights.find_tie(rows[0] == rows[1])
    text = {"vocabulary": max(300, *map(len, vocabularies)), "shared": is_shared, **foreign.text}
    if tokenizers.source.sampling == "sampling_alpha":
        text["tokenizer"] = "unigram"
    tables = {"model": settings, "text": text, "data": foreign.data, "decode": foreign.decode}
    config = Config.read(tables, name=str(foreign.path.parent))
    network = build_model(config, tokenizers).eval()
    assert isinstance(network, Transformer)
    network.load_state_dict(weights.rename(network, rows))
    return config, tokenizers, network


def list_steps(foreign: Foreign, names: Iterable[str]) -> dict[str, float]:
    """Return the value of an int8 number 1 of each weight that is one of these numbers there.

    names: of our weights.
    """
    weights, steps = _Renamed(foreign), dict[str, float]()
    for name in names:
        for theirs in weights.spell(name):
            step = foreign.steps.get(theirs.removesuffix(".weight"))
            if step is not None:
                steps[name] = step
                break
    return steps


def order_rows(foreign: Foreign) -> tuple[list[Row], list[Row]]:
    """Return their row of each of our ids, of the source's and of the target's."""
    weights = _Renamed(foreign)
    sides = (foreign.source, "source"), (foreign.target, "target")
    source, target = (side.order(len(weights.find_table(key)))[1] for side, key in sides)
    return source, target


def check_values(path: Path, fields: Mapping[str, Any], requested: Mapping[str, list[Any]]) -> None:
    """Raise ValueError for the first setting with a value that is not among those wanted."""
    for name, values in requested.items():
        entry = find_entry(fields, name)
        if entry is not None and (entry or "") not in [value or "" for value in values]:
            known = " or ".join(str(value) or "none" for value in values)
            raise ValueError(f"{path}: {name}={entry}: only models with {known} can be imported")


def find_entry(fields: Mapping[str, Any], name: str) -> Any:
    """Return the value of a setting, "encoder.type" in the table encoder; None if it is absent."""
    if name in fields or "." not in name:
        return fields.get(name)
    table, _, rest = name.partition(".")
    inner = fields.get(table)
    return find_entry(inner, rest) if isinstance(inner, Mapping) else None


def _translate_settings(foreign: Foreign, weights: _Renamed) -> dict[str, Any]:
    """Return our settings of the network: from theirs, and sizes from the weights themselves."""
    names, path = foreign.names, foreign.path
    check_values(path, foreign.settings, names.get("must", {}))
    result = weights.measure()
    for ours, theirs in names["settings"].items():
        value = find_entry(foreign.settings, theirs)
        if ours == "activation" and value is not None:
            if value not in names["activations"]:
                known = ", ".join(names["activations"])
                raise ValueError(f"{path}: {theirs}={value}: known are {known}")
            value = names["activations"][value]
        if value is not None:
            result[ours] = value
    if "heads" not in result:
        raise ValueError(f"{path}: {names['settings']['heads']} is missing in its settings")
    return {**result, "output_bias": True, **foreign.model}


class _Renamed:
    """The weights under our names, in our order of ids, in fp32; each is asked for once."""

    def __init__(self, foreign: Foreign) -> None:
        self.foreign, self.path, self.names = foreign, foreign.path, foreign.names
        self.weights, self.left = foreign.weights, set[str]()
        self.first = self.names.get("first_layer", 0)
        for side in ("encoder", "decoder"):
            begin = self.names[f"{side}_layer"].split("{}")[0]
            self.left |= {name for name in self.weights if name.startswith(begin)}
        for pattern in foreign.ignored:
            self.left -= {name for name in self.left if re.search(pattern, name)}

    def measure(self) -> dict[str, Any]:
        """Return the sizes of the network and the kind of its norm, as its weights show them."""
        layers = {side: self._count_layers(side) for side in ("encoder", "decoder")}
        inner = self._find("encoder.0.feed_forward.inner.weight")
        return {
            "d_model": self.find_table("source").size(1),
            "d_ff": len(inner),
            "encoder_layers": layers["encoder"],
            "decoder_layers": layers["decoder"],
            "norm": "pre" if self._has("encoder_norm") else "post",
            "embedding_norm": self._has("source_embedding.norm"),
        }

    def _count_layers(self, side: str) -> int:
        begin, end = self.names[f"{side}_layer"].split("{}")
        pattern = re.compile(re.escape(begin) + r"(\d+)" + re.escape(end))
        layers = {int(m[1]) for name in self.weights if (m := pattern.match(name))}
        if layers != set(range(self.first, self.first + len(layers))) or not layers:
            raise ValueError(f"{self.path}: there is no {side} of layers, one after the other")
        return len(layers)

    def find_table(self, key: str) -> Tensor:
        """Return a whole table of embeddings, as theirs has it. ValueError if it is missing."""
        names = self.names["tables"][key].split()
        for name in names:
            for each in (name, f"{name}.weight"):
                if each in self.weights:
                    table = self.weights[each]
                    if key == "output" and self.names.get("transposed") and name.endswith("_W"):
                        table = table.T
                    return table
        raise ValueError(f"{self.path}: {names[0]} is missing")

    def find_tie(self, has_same_rows: bool) -> str:
        """Return which of the three tables are one, as their numbers show it."""
        source, target, output = map(self.find_table, ("source", "target", "output"))
        if not self.foreign.is_scaled or not _is_same(target, output):
            return "none"
        return "three-way" if has_same_rows and _is_same(source, target) else "two-way"

    def rename(self, network: Transformer, rows: Sequence[Sequence[Row]]) -> Weights:
        """Return the weights of `network`. ValueError if some are missing, left over or wrong."""
        weights: Weights = {}
        for name, value in network.state_dict().items():
            weight = self._make(name, rows)
            if weight.shape != value.shape:
                there, here = list(weight.shape), list(value.shape)
                raise ValueError(f"{self.path}: {name} is {there}, but the settings say {here}")
            if not weight.is_floating_point() or not weight.isfinite().all():
                raise ValueError(f"{self.path}: {name} is not of finite floats")
            weights[name] = weight.float()
        if self.left:
            raise ValueError(f"{self.path}: {min(self.left)} is no weight of a plain Transformer")
        return weights

    def _make(self, name: str, rows: Sequence[Sequence[Row]]) -> Tensor:
        if name == "output_bias":
            return self._make_bias(rows[1])
        if name.endswith(".table.weight") or name == "output_table.weight":
            key = WHOLE[name]
            table = _choose(self.find_table(key), rows[0] if key == "source" else rows[1])
            if self.foreign.is_scaled or key == "output":
                return table
            return table / math.sqrt(table.size(1))  # ours multiplies by it
        if name.endswith("positions_LD"):
            return self._find(name)[self.foreign.skipped :]
        return self._find(name)

    def _make_bias(self, rows: Sequence[Row]) -> Tensor:
        """Return the bias of the logits, which forbids what only we have: <s>, if not theirs."""
        count = len(self.find_table("output"))
        names = self.names["tables"].get("output_bias", "").split()
        first = next((self.weights[name] for name in names if name in self.weights), None)
        bias = torch.zeros(count) if first is None else first.flatten()
        if len(bias) < count:
            raise ValueError(f"{self.path}: {len(bias)} rows for {count} tokens")
        result = _choose(bias[:count], rows)
        if rows[PAD] is None:
            result[PAD] = NEVER
        if rows[BOS] is None or rows.count(rows[BOS]) > 1:
            result[BOS] = NEVER
        return result

    def _has(self, ours: str) -> bool:
        return any(name in self.weights for name in self.spell(f"{ours}.weight"))

    def _find(self, ours: str) -> Tensor:
        """Return the tensor of our name; a bias that theirs has not is zero."""
        for name in self.spell(ours):
            if name in self.weights:
                self.left.discard(name)
                return self._orient(ours, self.weights[name])
        if ours.endswith(".bias") and self._has(ours.removesuffix(".bias")):
            return torch.zeros(len(self._find(f"{ours.removesuffix('.bias')}.weight")))
        raise ValueError(f"{self.path}: {next(self.spell(ours), ours)} is missing")

    def _orient(self, ours: str, weight: Tensor) -> Tensor:
        if not self.names.get("transposed"):
            return weight
        is_vector = ours.endswith("bias") or ".norm." in ours
        return weight.flatten() if is_vector or weight.dim() != 2 else weight.T

    def spell(self, ours: str) -> Iterator[str]:
        """Yield the names that theirs may have for a tensor of ours."""
        if not (match := LAYER.fullmatch(ours)):
            whole, _, kind = ours.rpartition(".")
            key = WHOLE.get(ours) or WHOLE.get(whole, "")
            for name in self.names["tables"].get(key, "").split():
                yield f"{name}.{kind}" if ours not in WHOLE else f"{name}.weight"
            return
        side, number, part, kind = match.groups()
        begin = self.names[f"{side}_layer"].format(int(number) + self.first)
        parts = self.names[side]
        if part in parts:
            theirs, inner = parts[part], ""
        else:
            block, _, inner = part.partition(".")
            theirs = self.names["attention"][inner]
            begin += parts[block]
        both = theirs.split()
        yield begin + (both[kind == "bias"] if len(both) == 2 else f"{theirs}.{kind}")


def _is_same(one: Tensor, other: Tensor) -> bool:
    return one is other or (one.shape == other.shape and torch.equal(one, other))


def _choose(table: Tensor, rows: Sequence[Row]) -> Tensor:
    """Return one row for each of our ids, zeros where theirs has none."""
    chosen = table[torch.tensor([row or 0 for row in rows])].float()
    chosen[torch.tensor([row is None for row in rows])] = 0
    return chosen
