"""Batches of pairs of about equal length (5.1), each a pure function of seed, epoch and index."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..text import BOS, EOS, PAD
from .mixing import Mixture
from .store import Ids, Store

Integers = npt.NDArray[np.int64]

FEW_SHAPES, ROWS = 4, 8


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of B sentence pairs as token ids, int64, padded on the right with PAD."""

    source_BS: Integers  # tokens, EOS
    target_BT: Integers  # BOS, tokens, EOS; the decoder reads [:, :-1] and predicts [:, 1:]
    rows: Integers  # the numbers of the pairs in the store
    number: int = 0  # among the micro-batches of its update
    part: tuple[int, int] | None = None  # of a batch cut by rows: first row, rows of the whole

    @property
    def cells(self) -> int:
        """Return the number of tokens of both sides, padding included: memory grows with it."""
        return self.source_BS.size + self.target_BT.size

    def numbered(self, number: int) -> Batch:
        return replace(self, number=number)

    def cut(self, parts: int) -> list[Batch]:
        """Return the batch cut by rows into so many parts of about equally many rows.

        The padding stays. If there are few rows, some parts are empty. `part` keeps the position of
        each row in the whole, so that dropout removes the same values.
        """
        first, whole = self.part or (0, len(self.rows))
        ends = [len(self.rows) * n // parts for n in range(parts + 1)]
        return [
            Batch(
                self.source_BS[a:b],
                self.target_BT[a:b],
                self.rows[a:b],
                self.number,
                (first + a, whole),
            )
            for a, b in pairwise(ends)
        ]


class Batches:
    """The batches of every epoch: pairs are sorted by length, cut into batches, and shuffled.

    A batch of B pairs has B * longest <= batch_tokens; a source counts its EOS, a target one
    control id, as the decoder reads it. A pair that is longer still is a batch by itself. Lengths
    are rounded up to multiples of `pad_to` and B down to multiples of ROWS, so that few shapes
    occur: where a matrix product is prepared for each shape, that costs more than the padding. They
    stay within `positions`, those of the network.
    """

    def __init__(
        self,
        store: Store,
        *,
        batch_tokens: int,
        seed: int,
        pad_to: int = FEW_SHAPES,
        positions: int = 1 << 30,
        weights: Sequence[float] = (),
        source_end: int = EOS,
    ) -> None:
        """`weights`: how often an epoch has each pair of each part of the store; once, if not.

        source_end: PAD if sources have no EOS.
        """
        self._store, self._budget, self._seed = store, batch_tokens, seed
        self._pad_to, self._positions, self._source_end = pad_to, positions, source_end
        self.mixture = Mixture(store.starts, weights or [1.0] * len(store.parts), seed)
        self._period = store.samples if self.mixture.is_periodic else None
        self._cuts: dict[int, Integers] = {}  # of the latest epochs, or of all segmentations
        self._counts: dict[int, int] = {}
        self._plan: tuple[int, Integers, Integers] | None = None  # epoch, order, turns
        # Stages of a curriculum: until which share of the training each lasts, and its batches.
        self.stages: list[tuple[float, Batches]] = []
        self.share: Callable[[int], float] = lambda step: 0.0  # of the training, before a step

    def count(self, epoch: int) -> int:
        """Return the number of batches in an epoch."""
        number = epoch % self._period if self._period else epoch
        if number not in self._counts:
            self._counts[number] = len(self._cut(epoch)) - 1
        return self._counts[number]

    def batch(self, epoch: int, index: int) -> Batch:
        if not 0 <= index < self.count(epoch):
            raise IndexError(f"epoch {epoch} has {self.count(epoch)} batches, no batch {index}")
        order, turns = self._planned(epoch)
        return self._read(epoch, order, int(turns[index]))

    def worst(self) -> tuple[Batch, Batch]:
        """Return the batch with most cells, padding included, and that with the longest side.

        They are the worst of all segmentations. Which of the two needs more memory depends on the
        network: try both. Where epochs have parts of a corpus, these are of one with all of it.
        """
        if not self._period:
            whole = [float(math.ceil(weight)) for weight in self.mixture.weights]
            same = {"seed": self._seed, "pad_to": self._pad_to, "positions": self._positions}
            return Batches(self._store, batch_tokens=self._budget, **same, weights=whole).worst()
        most, longest = [], []
        for epoch in range(self._store.samples):
            starts, order = self._cut(epoch), self._planned(epoch)[0]
            widths = np.array(
                [
                    self._pad(np.maximum.reduceat(side[order], starts[:-1]))
                    for side in self._store.lengths(epoch)
                ]
            )
            cells = np.diff(starts) * widths.sum(axis=0)
            most.append((cells.max(), epoch, cells.argmax()))
            longest.append((widths.max(), epoch, len(cells) - 1))
        _, epoch, number = max(most)
        first = self._read(epoch, self._planned(epoch)[0], int(number))
        _, epoch, number = max(longest)
        return first, self._read(epoch, self._planned(epoch)[0], number)

    def place(self, step: int, accumulate: int = 1) -> tuple[int, int]:
        """Return epoch and index of the first of the `accumulate` batches of update `step`.

        Updates are counted from 0.
        """
        epoch, index = 0, step * accumulate
        if self._period:
            rounds, index = divmod(index, sum(map(self.count, range(self._period))))
            epoch = rounds * self._period
        while index >= self.count(epoch):
            index -= self.count(epoch)
            epoch += 1
        return epoch, index

    def count_updates(self, epochs: float, accumulate: int = 1) -> int:
        """Return how many updates read so many epochs; a part of one counts by its batches."""
        whole = int(epochs)
        last = round((epochs - whole) * self.count(whole)) if epochs > whole else 0
        if self._period:
            rounds, rest = divmod(whole, self._period)
            counts = [self.count(epoch) for epoch in range(self._period)]
            total = rounds * sum(counts) + sum(counts[:rest])
        else:
            total = sum(self.count(epoch) for epoch in range(whole))
        return max(1, -(-(total + last) // accumulate))

    def at(self, step: int) -> Batches:
        """Return the batches that update `step`, counted from 0, reads: those of its stage."""
        share = self.share(step)
        return next((each for until, each in self.stages if share < until), self)

    def places(self, step: int, accumulate: int = 1) -> list[tuple[int, int]]:
        """Return epoch and index of every batch of update `step`, counted from 0."""
        return [self.place(step * accumulate + n) for n in range(accumulate)]

    def from_step(self, step: int, accumulate: int = 1) -> Iterator[Batch]:
        """Yield the batches from update `step` on, without end."""
        epoch, first = self.place(step, accumulate)
        while True:
            for index in range(first, self.count(epoch)):
                yield self.batch(epoch, index)
            epoch, first = epoch + 1, 0

    def count_pairs(self, step: int, accumulate: int = 1) -> list[int]:
        """Return how many pairs of each corpus the updates before update `step` have read."""
        epoch, index = self.place(step, accumulate)
        order, turns = self._planned(epoch)
        starts = self._cut(epoch)
        read = [order[starts[turn] : starts[turn + 1]] for turn in turns[:index].tolist()]
        last = self.mixture.corpora_of(np.concatenate([order[:0], *read]))
        pairs: list[int] = (epoch * self.mixture.counts + last).tolist()
        return pairs

    def _cut(self, epoch: int) -> Integers:
        """Return where each batch starts among the sorted pairs, and where the last one ends."""
        number = epoch % self._period if self._period else epoch
        if number not in self._cuts:
            if not self._period:
                self._cuts.clear()
            longest = np.sort(np.maximum(*self._lengths(epoch)))
            self._cuts[number] = cut_batches(self._pad(longest), self._budget)
        return self._cuts[number]

    def _lengths(self, epoch: int) -> list[Integers]:
        """Return the lengths of the sources and the targets of an epoch's rows."""
        rows = slice(None) if self.mixture.is_plain else self.mixture.rows(epoch)
        return [side.astype(np.int64)[rows] for side in self._store.lengths(epoch)]

    def _planned(self, epoch: int) -> tuple[Integers, Integers]:
        """Return the pairs of an epoch, sorted, and the numbers of its batches in random order.

        Pairs are sorted by their longer side, then by how much longer the source is: ascending for
        one length and descending for the next, so that neighbours of unequal length are alike too.
        Equal pairs are in random order.
        """
        if self._plan is None or self._plan[0] != epoch:
            source, target = self._lengths(epoch)
            longest = np.maximum(source, target)
            keys = (longest << 32) + np.where(longest % 2, source - target, target - source)
            pairs = self._shuffle(len(longest), epoch, 0)
            order = pairs[np.argsort(keys[pairs], kind="stable")]
            if not self.mixture.is_plain:
                order = self.mixture.rows(epoch)[order]
            self._plan = epoch, order, self._shuffle(self.count(epoch), epoch, 1)
        return self._plan[1:]

    def _shuffle(self, count: int, epoch: int, stream: int) -> Integers:
        """Return a permutation made of raw bits, which NumPy promises never to change."""
        bits = np.random.PCG64(np.random.SeedSequence((self._seed, epoch, stream)))
        return np.argsort(bits.random_raw(count), kind="stable")

    def _read(self, epoch: int, order: Integers, number: int) -> Batch:
        start, end = self._cut(epoch)[number : number + 2]
        rows = order[start:end]
        return Batch(
            self._frame([self._store.source(row, epoch) for row in rows], [], self._source_end),
            self._frame([self._store.target(row, epoch) for row in rows], [BOS]),
            rows,
        )

    def _pad(self, lengths: Integers) -> Integers:
        """Return how wide batches are whose longest rows, without EOS, are so long."""
        padded = -(-(lengths.astype(np.int64) + 1) // self._pad_to) * self._pad_to
        return np.minimum(padded, self._positions)

    def _frame(self, rows: Sequence[Ids], begin: list[int], last: int = EOS) -> Integers:
        """Return rows of equal width: `begin`, tokens, `last` (EOS if there are none), padding."""
        first = len(begin)
        width = first + int(self._pad(np.array(max(map(len, rows)))))
        framed = np.full((len(rows), width), PAD, dtype=np.int64)
        framed[:, :first] = begin
        for place, ids in enumerate(rows):
            end = first + len(ids)
            framed[place, first:end], framed[place, end] = ids, last if len(ids) else EOS
        return framed


def cut_batches(longest: Integers, budget: int) -> Integers:
    """Return where to cut ascending lengths into runs, each with count * last <= budget.

    Each run is as long as the budget allows, but for rounding down to a multiple of ROWS.
    """
    starts = [0]
    while (start := starts[-1]) < len(longest):
        window = longest[start : start + max(1, budget // int(longest[start]))]
        areas = window * np.arange(1, len(window) + 1)
        fitting = max(1, int(np.searchsorted(areas, budget, side="right")))
        if fitting > ROWS and start + fitting < len(longest):
            fitting -= fitting % ROWS
        starts.append(start + fitting)
    return np.array(starts)
