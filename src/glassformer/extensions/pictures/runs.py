"""A watched training, read without torch from `run/watch`, or the toy that the package has."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.foundation.typed_json import check_type, read_typed
from glassformer.model.files.directory import RECORD

from .parts.selection import Array, tell_token

TOY = Path(__file__).with_name("toy.json")
WIDEST = 12  # tokens of a vocabulary that is drawn as a whole


@dataclass(frozen=True)
class RunSentence:
    source: str
    reference: str
    source_tokens: list[str]
    reference_tokens: list[str]


@dataclass(frozen=True)
class RunOrigin:
    name: str


@dataclass(frozen=True)
class RunRecord:
    """The models that a training started from, in `run.json`."""

    parent: RunOrigin | None = None
    initial: tuple[RunOrigin, ...] = ()


@dataclass(frozen=True)
class RunSnapshots:
    """The snapshots of one training: arrays by name, and the gradient norms of its updates."""

    sentences: list[RunSentence]
    vocabulary: list[str]
    steps: list[int]
    snapshots: list[Mapping[str, Array]]
    gradients: list[dict[str, float]]
    origins: Sequence[str] = ()  # the models that it started from

    def columns(self, sentence: int) -> list[int]:
        """Return the ids of the tokens whose probabilities are drawn, one for each column.

        Those of the reference come first, in its order: what is right lies on a diagonal. A large
        vocabulary has these alone.
        """
        requested = list(dict.fromkeys(self.wanted(sentence)))
        if len(self.vocabulary) > WIDEST:
            return requested
        return [*requested, *(id for id in range(len(self.vocabulary)) if id not in requested)]

    def share(self, snapshot: int, sentence: int, columns: Sequence[int] = ()) -> Array:
        """Return probabilities, T x columns; NaN where none was kept."""
        tensors, columns = self.snapshots[snapshot], columns or self.columns(sentence)
        whole = tensors.get(f"{sentence}.log_probabilities")
        if whole is not None:
            return np.exp(whole[:, columns].astype(np.float64))
        ids, kept = (tensors[f"{sentence}.top_{n}"] for n in ("ids", "log_probabilities"))
        result = np.full((len(ids), len(columns)), np.nan)
        for row, place in zip(*np.nonzero(np.isin(ids, columns)), strict=True):
            result[row, columns.index(int(ids[row, place]))] = np.exp(float(kept[row, place]))
        own = np.exp(self.own_logs(snapshot, sentence))
        for row, id in enumerate(self.wanted(sentence)):
            if id in columns:
                result[row, columns.index(id)] = own[row]
        return result

    def rank(self, snapshot: int, sentence: int) -> Array:
        """Return the ids of the tokens that were kept, the most probable first, T x K."""
        tensors = self.snapshots[snapshot]
        whole = tensors.get(f"{sentence}.log_probabilities")
        if whole is None:
            return tensors[f"{sentence}.top_ids"]
        return np.argsort(-whole, axis=1, kind="stable")

    def guesses(self, snapshot: int, sentence: int) -> list[int]:
        """Return the id of the most probable token of the vocabulary, for each position."""
        ids: list[int] = self.rank(snapshot, sentence)[:, 0].tolist()
        return ids

    def wanted(self, sentence: int) -> list[int]:
        return [self.vocabulary.index(token) for token in self.sentences[sentence].reference_tokens]

    def own_logs(self, snapshot: int, sentence: int) -> Array:
        """Return ln P of each token of a reference."""
        tensors = self.snapshots[snapshot]
        own = tensors.get(f"{sentence}.reference_log_probabilities")
        if own is None:
            table = tensors[f"{sentence}.log_probabilities"]
            own = table[np.arange(len(table)), self.wanted(sentence)]
        return own.astype(np.float64)

    def loss(self, snapshot: int, sentence: int) -> float:
        """Return the mean of -ln P over the tokens of a reference."""
        return float(-self.own_logs(snapshot, sentence).mean())

    def spell(self, ids: Sequence[int]) -> list[str]:
        """Return tokens without the space before them; where that makes two alike, with it."""
        texts = {id: tell_token(self.vocabulary[id]) for id in ids}
        count = Counter(texts.values())
        alike = {id: self.vocabulary[id].replace(" ", "▁") for id in ids if count[texts[id]] > 1}
        return [alike.get(id, texts[id]) for id in ids]

    def names(self, sentence: int) -> list[str]:
        return self.spell(self.columns(sentence))


def read_watched(path: Path | str | None = None) -> RunSnapshots:
    """Return a watched training; `path` is a model directory, its `run` or `run/watch`.

    None stands for the toy. Raise ValueError if there is no watched training.
    """
    if path is None:
        return _read_toy()
    places = [Path(path), Path(path) / "watch", Path(path) / "run" / "watch"]
    folder = next((p for p in places if (p / "sentences.json").is_file()), None)
    if folder is None:
        raise ValueError(f"{path}: no watched training here: train with train.watch=3")
    from glassformer.text.kinds import load_tokenizer

    sentences = read_typed(folder / "sentences.json", list[RunSentence])
    files = sorted(folder.glob("*.safetensors"))
    if not sentences or not files:
        raise ValueError(f"{folder}: nothing was kept of this training")
    homes = [folder.parent, folder.parent.parent]
    names = ("tokenizer.target.json", "tokenizer.json")
    tokenizer = next((h / n for h in homes for n in names if (h / n).is_file()), None)
    if tokenizer is None:
        raise ValueError(f"{folder.parent}: there is no tokenizer.json")
    return RunSnapshots(
        sentences,
        list(load_tokenizer(tokenizer).vocabulary),
        [int(file.stem) for file in files],
        [_load_snapshot(file) for file in files],
        _read_lines(folder / "gradients.jsonl"),
        _read_origins(folder.parent / RECORD),
    )


def _read_origins(path: Path) -> list[str]:
    """Return the names of the models that a training started from, by its record."""
    record = read_typed(path, RunRecord) if path.is_file() else RunRecord()
    return [each.name for each in (record.parent, *record.initial) if each]


def _load_snapshot(path: Path) -> dict[str, Array]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path}: damaged, or no safetensors file ({error})") from None


def _read_lines(path: Path) -> list[dict[str, float]]:
    """Return all lines that are complete JSON.

    A training may still be writing the last line, or was killed while it did.
    """
    lines = []
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        with suppress(ValueError, RecursionError):
            lines.append(check_type(json.loads(line), dict[str, float], str(path)))
    return lines


@lru_cache(maxsize=1)
def _read_toy() -> RunSnapshots:
    text: dict[str, Any] = json.loads(TOY.read_text(encoding="utf-8"))
    return RunSnapshots(
        [RunSentence(**each) for each in text["sentences"]],
        text["vocabulary"],
        [each["step"] for each in text["snapshots"]],
        [
            {
                f"{n}.log_probabilities": np.array(table)
                for n, table in enumerate(each["log_probabilities"])
            }
            for each in text["snapshots"]
        ],
        text["gradients"],
    )
