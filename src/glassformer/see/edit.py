"""Edits of a sentence and of the network's tensors, written as JSON.

{"do": "silence", "name": "encoder.1.self_attention", "head": 2}     without "head": the block
{"do": "mean", "name": "decoder.0.cross_attention", "head": 0}       the mean over positions
{"do": "pin", "name": "decoder.1.cross_attention", "head": 0, "query": 3, "key": 5}
{"do": "row", "name": "memory", "position": 2, "factor": 0.5}        or "values": [...]
{"do": "swap", "name": "memory", "position": 2, "sentence": "a dog", "other": 1}
{"do": "word", "word": "street", "by": "road"}
{"do": "prefix", "text": "Das"}
{"do": "without", "what": "scale", "name": "decoder.1"}              without "name": everywhere
{"do": "cut", "word": "tired"}                                       or "layer", "head", "query"

An edit is a function of a tensor and of tensors earlier in the same pass. Positions are
absolute, so that a step of edited decoding equals its row of the edited pass. The one exception
is the mask: without it a row attends to later tokens, which decoding has not written yet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, TypeAdapter, ValidationError, model_validator
from torch import Tensor

from ..decode import Network
from ..foundation.disk import check_file_size
from ..foundation.settings.schema import StrictModel
from ..foundation.tap import Edit
from ..foundation.tap import record as watch
from ..text.spacing import word_pattern
from ..translate.stages import TranslationStages
from .changes import Changes
from .document import Token
from .recorded import RecordedTensors
from .search_networks import UncachedNetwork
from .tokens import find_word_tokens, read_source


class Silence(StrictModel):
    do: Literal["silence"]
    name: str
    head: int | None = None


class Mean(StrictModel):
    do: Literal["mean"]
    name: str
    head: int | None = None


class Pin(StrictModel):
    do: Literal["pin"]
    name: str
    key: int
    head: int | None = None
    query: int | None = None


class RowEdit(StrictModel):
    do: Literal["row"]
    name: str
    position: int
    head: int | None = None
    values: tuple[float, ...] | None = None
    factor: float | None = None

    @model_validator(mode="after")
    def _says_one(self) -> RowEdit:
        if (self.values is None) == (self.factor is None):
            raise ValueError("give either values or a factor")
        return self


class Swap(StrictModel):
    do: Literal["swap"]
    name: str
    position: int
    sentence: str
    other: int


class WordEdit(StrictModel):
    do: Literal["word"]
    word: str = Field(min_length=1)
    by: str


class Prefix(StrictModel):
    do: Literal["prefix"]
    text: str


class Without(StrictModel):
    do: Literal["without"]
    what: Literal["positions", "scale", "mask", "residual", "norm"]
    name: str | None = None


class Cut(StrictModel):
    do: Literal["cut"]
    word: str = Field(min_length=1)
    occurrence: int | None = None
    layer: int | None = None
    head: int | None = None
    query: int | None = None


Change = Annotated[
    Silence | Mean | Pin | RowEdit | Swap | WordEdit | Prefix | Without | Cut,
    Field(discriminator="do"),
]
NAMES = ("silence", "mean", "pin", "row", "swap", "word", "prefix", "without", "cut")
_ADAPTER: TypeAdapter[Change] = TypeAdapter(Change)


@dataclass(frozen=True)
class EditedSentence:
    """A sentence and a network with edits applied."""

    translator: TranslationStages
    text: str
    prefix: str | Sequence[int]
    edits: tuple[dict[str, Any], ...]
    vectors: Mapping[int, Tensor]  # the vectors of each "swap", by number of the edit
    source: tuple[Token, ...]  # of the sentence, EOS included

    def functions(self) -> dict[str, Edit]:
        """Return new functions for one view; they keep tensors of its pass, so never share them."""
        return self._read().compose()

    def _read(self) -> Changes:
        size = len(self.source)
        changes = Changes(self.translator.config.model, size, self.translator.reader.longest)
        for number, edit in enumerate(self.edits):
            change = _ADAPTER.validate_python(edit)
            try:
                self._apply(changes, change, self.vectors.get(number))
            except ValueError as error:
                raise ValueError(f"edit {number + 1}: {error}") from None
        return changes

    def _apply(self, changes: Changes, change: Change, vector: Tensor | None) -> None:
        match change:
            case Silence():
                changes.silence(change.name, change.head)
            case Mean():
                changes.average(change.name, change.head)
            case Pin():
                changes.pin(change.name, change.head, change.query, change.key)
            case RowEdit(values=None, factor=float(factor)):
                changes.multiply(change.name, change.position, change.head, factor)
            case RowEdit():
                values = torch.tensor(change.values)
                changes.replace(change.name, change.position, change.head, values)
            case Swap():
                assert vector is not None
                changes.replace(change.name, change.position, None, vector)
            case Without():
                changes.remove(change.what, change.name)
            case Cut():
                keys = find_word_tokens(self.source, self.text, change.word, change.occurrence)
                changes.cut(keys, change.layer, change.head, change.query)

    @contextmanager
    def network(self) -> Iterator[Network[Any]]:
        """Yield the network for a search: the model itself, or a view with the edits.

        The view decodes without a KV cache if an edit does not change all rows alike.
        """
        changes = self._read()
        if not (functions := changes.compose()):
            yield self.translator.model
            return
        with watch(self.translator.model, lambda name: False, functions) as (view, _):
            yield view if changes.is_cacheable else UncachedNetwork(view)


def read_edits(path: Path | str) -> list[dict[str, Any]]:
    """Return the edits of a JSON file: a list, or an object with a list under "edits".

    Raises ValueError if the file is neither.
    """
    try:
        check_file_size(Path(path))
        payload = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: no JSON ({error})") from None
    edits = payload.get("edits") if isinstance(payload, dict) else payload
    if not isinstance(edits, list) or not all(isinstance(edit, dict) for edit in edits):
        raise ValueError(f'{path}: a list of edits is needed, such as [{{"do": "silence", ...}}]')
    return edits


def prepare_edits(
    translator: TranslationStages,
    text: str,
    prefix: str | Sequence[int],
    edits: Iterable[Mapping[str, Any]],
    record: Callable[..., RecordedTensors],
) -> EditedSentence:
    """Check the edits, and apply those that change the text.

    record: `recording.record`, with which a swap records the other sentence. Raises ValueError
    that names the wrong edit, counted from 1.
    """
    plain, vectors = [dict(edit) for edit in edits], {}
    for number, edit in enumerate(plain):
        change = _check(number, edit)
        if isinstance(change, WordEdit):
            text, result = _replace_word(text, change.word, change.by)
            if not result:
                raise ValueError(f"edit {number + 1}: there is no word {change.word!r} in {text!r}")
        elif isinstance(change, Prefix):
            prefix = change.text
        elif isinstance(change, Swap):
            vectors[number] = _borrow(record, translator, number, change)
    source = tuple(read_source(translator, text))
    edited = EditedSentence(translator, text, prefix, tuple(plain), vectors, source)
    edited.functions()  # raises now if an edit is wrong
    return edited


def _replace_word(text: str, word: str, by: str) -> tuple[str, int]:
    """Replace a word wherever it is not part of another; return the text and how often it was."""
    return word_pattern(word).subn(lambda _: by, text) if word.strip() else (text, 0)


def _check(number: int, edit: dict[str, Any]) -> Change:
    try:
        return _ADAPTER.validate_python(edit)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"].startswith("union_tag"):
            raise ValueError(f'edit {number + 1}: "do" is one of {", ".join(NAMES)}') from None
        where = ".".join(map(str, first["loc"][1:])) + ": " if first["loc"][1:] else ""
        message = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"edit {number + 1}: {where}{message}") from None


def _borrow(
    record: Callable[..., RecordedTensors],
    translator: TranslationStages,
    number: int,
    change: Swap,
) -> Tensor:
    """Return the vector that a swap takes from another sentence."""
    try:
        array = record(translator, change.sentence, split=False)[change.name]
    except ValueError as error:
        raise ValueError(f"edit {number + 1}: {error}") from None
    if not -array.shape[-2] <= change.other < array.shape[-2]:
        raise ValueError(
            f"edit {number + 1}: other {change.other} is out of range: "
            f"{change.name} of {change.sentence!r} goes from 0 to {array.shape[-2] - 1}"
        )
    return torch.tensor(array[..., change.other, :])
