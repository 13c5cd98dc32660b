"""A store of token ids on the disk, mapped into memory: a corpus may be larger than memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from ..foundation.disk import PARTIAL, name_file, put_folder, read_json, sync_files
from ..foundation.plurals import tell_count
from ..foundation.typed_json import check_type
from ..text import Sampler, Tokenizer, count_surrogates
from ..text.context import encode_sources
from .files import Fingerprint, cut_chunks
from .labels import Labels
from .tables import Pair

FORMAT = 1
INDEX = "index.json"  # written last: a folder without it is no store
CHUNK = 2_000  # pairs encoded at a time
SIDES = ("source", "target")

Progress = Callable[[int, int | None], None]  # pairs done; pairs in all, if that is known
Ids = npt.NDArray[np.unsignedinteger[Any]]
Offsets = npt.NDArray[np.int64]
Segmentations = list[list[list[int]]]  # K segmentations of the same texts
Encoder = Callable[[list[str]], Segmentations]


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of pairs kept and left out; `surrogates` counts characters in all pairs read."""

    kept: int = 0
    empty: int = 0
    too_long: int = 0
    surrogates: int = 0

    @property
    def read(self) -> int:
        return self.kept + self.empty + self.too_long

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(sum, zip(asdict(self).values(), asdict(other).values(), strict=True)))

    def __str__(self) -> str:
        message = f"{tell_count(self.kept, 'pair')} kept"
        if self.empty or self.too_long:
            message += (
                f", {self.empty:,} with an empty side and {self.too_long:,} too long left out"
            )
        if self.surrogates:
            message += f", {self.surrogates:,} lone surrogates replaced by U+FFFD"
        return message


@dataclass(frozen=True)
class StorePart:
    """The pairs of one of several corpora, and the ids before each of its sources and targets.

    separator: the id after each sentence of a context; None: the sources are not extended.
    """

    name: str
    pairs: Iterable[Pair]
    tags: tuple[int, ...] = ()
    separator: int | None = None
    begin: tuple[int, ...] = ()


class PartIndex(BaseModel):
    """How many pairs of a corpus are in a store; they follow those of the corpora before it."""

    name: str
    counts: Counts


class Index(BaseModel):
    """The part of the INDEX file that is needed to read the other files."""

    format: Literal[1]  # FORMAT
    ids: Literal["uint16", "uint32"]
    samples: int = Field(ge=1)
    counts: Counts
    parts: list[PartIndex] = []


class Store:
    """A store of pairs as ids, without control ids, in K segmentations; epoch e reads e mod K."""

    def __init__(self, folder: Path, index: dict[str, Any]) -> None:
        self.index = index  # the settings, counts and fingerprints of `build_store`
        self.counts = Counts(**index["counts"])
        self.samples: int = index["samples"]
        self.parts = [
            (each["name"], Counts(**each["counts"])) for each in index.get("parts", ())
        ] or [("", self.counts)]
        self._sides = [
            [_map(folder, side, k, index["ids"], len(self)) for k in range(self.samples)]
            for side in SIDES
        ]

    @classmethod
    def open(cls, folder: Path | str) -> Store:
        """Return the store in `folder`. ValueError if it is incomplete or of another version."""
        with suppress(OSError, ValueError):
            index = read_json(Path(folder) / INDEX)
            check_type(index, Index, INDEX)
            return cls(Path(folder), index)
        raise ValueError(f"{folder}: not a store of ids of this version, or a damaged one")

    def __len__(self) -> int:
        return self.counts.kept

    @property
    def starts(self) -> Offsets:
        """Return the number of the first pair of each part, and that of all pairs."""
        return np.cumsum([0, *(counts.kept for _, counts in self.parts)], dtype=np.int64)

    def source(self, pair: int, epoch: int) -> Ids:
        ids, offsets = self._sides[0][epoch % self.samples]
        return ids[offsets[pair] : offsets[pair + 1]]

    def target(self, pair: int, epoch: int) -> Ids:
        ids, offsets = self._sides[1][epoch % self.samples]
        return ids[offsets[pair] : offsets[pair + 1]]

    def lengths(self, epoch: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the number of tokens of each source, and of each target."""
        source, target = (side[epoch % self.samples][1] for side in self._sides)
        return np.diff(source).astype(np.int32), np.diff(target).astype(np.int32)

    def own_lengths(self, separator: int | None) -> npt.NDArray[np.int32]:
        """Return the number of tokens of each source without its context, as `lengths(0)` does.

        separator: the id after each sentence of a context; None: there is none.
        """
        if separator is None:
            return self.lengths(0)[0]
        ids, offsets = self._sides[0][0]
        ends = np.concatenate([[-1], np.flatnonzero(ids == separator)]) + 1
        last = ends[np.searchsorted(ends, offsets[1:], side="right") - 1]
        return (offsets[1:] - np.maximum(offsets[:-1], last)).astype(np.int32)


def build_store(folder: Path | str, pairs: Iterable[Pair], *args: Any, **keywords: Any) -> Counts:
    """Encode the pairs of one corpus; see `build_mixed_store`."""
    return build_mixed_store(folder, [StorePart("", pairs)], *args, **keywords)


def build_mixed_store(
    folder: Path | str,
    parts: Sequence[StorePart],
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer | Labels,
    *,
    max_length: int,
    samples: int = 1,
    sampling: float = 0.0,
    seed: int = 0,
    fingerprints: Sequence[Fingerprint] = (),
    total: int | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Encode the pairs of all parts into a new store in `folder`; return how many were kept.

    The folder appears when all is done, and replaces a store that was there. With sampling,
    `samples` segmentations of each side are kept. Pairs with an empty side are left out, and those
    with more than `max_length` tokens in any segmentation of either side. ValueError if no pair is
    left.
    """
    tokenizers = (source_tokenizer, target_tokenizer)
    samples = samples if sampling else 1
    index: dict[str, Any] = {
        "format": FORMAT,
        "ids": "uint16" if max(map(len, tokenizers)) < 1 << 16 else "uint32",
        "samples": samples,
        "max_length": max_length,
        "dropout": sampling,
        "seed": seed,
        "tokenizers": [tokenizer.fingerprint for tokenizer in tokenizers],
        "files": [asdict(each) for each in fingerprints],
    }
    encoders = [
        _encoder(tokenizer, samples, sampling, f"{seed} {side}")
        for tokenizer, side in zip(tokenizers, SIDES, strict=True)
    ]
    counts, listed = Counts(), list[dict[str, Any]]()
    with _growing(Path(folder)) as partial:
        for part in parts:
            own = Counts()
            for counted in _fill(partial, part, encoders, max_length, np.dtype(index["ids"])):
                own += counted
                if progress:
                    progress((counts + own).read, total)
            counts += own
            listed.append({"name": part.name, "counts": asdict(own)})
            if not own.kept:
                limits = "data.max_length or model.positions.max_positions"
                longest = f"; {limits} allows {max_length:,} tokens" if own.too_long else ""
                where = f"{part.name}: " if part.name else ""
                raise ValueError(f"{where}nothing to train on: {own}{longest}")
        facts = {"counts": asdict(counts), "parts": listed if len(listed) > 1 else []}
        text = json.dumps({**index, **facts}, indent=1)
        (partial / INDEX).write_text(text + "\n", encoding="utf-8")
    return counts


def _fill(
    folder: Path,
    part: StorePart,
    encoders: list[Encoder],
    max_length: int,
    ids: np.dtype[Any],
) -> Iterator[Counts]:
    """Encode and write chunk after chunk; yield the counts of each."""
    for chunk in cut_chunks(part.pairs, CHUNK):
        sides, counted = _encode(chunk, encoders, max_length, part)
        for side, segmentations in zip(SIDES, sides, strict=True):
            for k, rows in enumerate(segmentations):
                _append(folder, side, k, rows, ids)
        yield counted


def _encoder(tokenizer: Tokenizer | Labels, samples: int, rate: float, seed: str) -> Encoder:
    if not rate:
        return lambda texts: [tokenizer.encode_many(texts)]
    if isinstance(tokenizer, Labels):
        return lambda texts: [tokenizer.encode_many(texts)] * samples
    sampler = Sampler(tokenizer, rate, seed)

    def draw(texts: list[str]) -> Segmentations:
        drawn = [sampler.draw(text, samples) for text in texts]
        return [[segmentations[k] for segmentations in drawn] for k in range(samples)]

    return draw


def _encode(
    chunk: list[Pair], encoders: list[Encoder], max_length: int, part: StorePart
) -> tuple[list[Segmentations], Counts]:
    """Return the ids of the pairs that are kept, for each side, and the counts of all pairs."""
    whole = [pair for pair in chunk if pair[0].strip() and pair[1].strip()]
    sources, targets = [pair[0] for pair in whole], [pair[1] for pair in whole]
    if part.separator is None:
        sides = [encoders[0](sources)]
    else:
        lines, room = [source.split("\n") for source in sources], max_length - len(part.tags)
        sides = [encode_sources(lines, encoders[0], part.separator, room)]
    sides.append(encoders[1](targets))
    for side, tags in enumerate((part.tags, part.begin)):
        if tags:
            sides[side] = [[[*tags, *row] for row in rows] for rows in sides[side]]
    fits = [
        max(map(len, every)) <= max_length
        for every in zip(*chain.from_iterable(sides), strict=True)
    ]
    kept = [[list(compress(rows, fits)) for rows in side] for side in sides]
    surrogates = sum(map(count_surrogates, chain.from_iterable(chunk)))
    empty, fitting = len(chunk) - len(whole), sum(fits)
    return kept, Counts(fitting, empty, len(whole) - fitting, surrogates)


def _append(folder: Path, side: str, k: int, rows: list[list[int]], ids: np.dtype[Any]) -> None:
    """Append rows to the files of one side in segmentation `k`.

    The ids are concatenated; pair i has those from offset i to offset i + 1.
    """
    ends = np.cumsum([len(row) for row in rows], dtype=np.int64)
    with _path(folder, side, k, "ids").open("ab") as file:
        ends += file.tell() // ids.itemsize
        file.write(np.fromiter(chain.from_iterable(rows), ids).tobytes())
    with _path(folder, side, k, "offsets").open("ab") as file:
        if file.tell() == 0:
            file.write(np.int64(0).tobytes())
        file.write(ends.tobytes())


def _map(folder: Path, side: str, k: int, kind: str, pairs: int) -> tuple[Ids, Offsets]:
    """Return ids and offsets of one side in one segmentation, mapped into memory.

    ValueError if a file was cut short.
    """
    offsets = np.memmap(_path(folder, side, k, "offsets"), np.int64, "r")
    ids = np.memmap(_path(folder, side, k, "ids"), np.dtype(kind), "r")
    if len(offsets) != pairs + 1 or offsets[-1] != len(ids):
        raise ValueError("a file was cut short")
    return np.asarray(ids), np.asarray(offsets)


def _path(folder: Path, side: str, k: int, what: str) -> Path:
    return folder / f"{side}.{k}.{what}"


@contextmanager
def _growing(folder: Path) -> Iterator[Path]:
    """Yield a folder beside `folder` that replaces it at the end, and is removed after an error."""
    if folder.exists() and not (folder / INDEX).is_file():
        raise ValueError(f"{folder}: exists and is no store of ids, so it is not replaced")
    partial = folder.with_name(folder.name + PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        sync_files(partial)
        put_folder(partial, folder)
    except OSError as error:
        raise error if error.filename else name_file(error, folder) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
