"""Slot lists of a paged KV cache: reordering hypotheses reorders lists, not keys and values.

Keys and values of all rows lie in one table, in the order of writing. Each row has a list of the
slots (called places in the code) that hold its positions. When the table is full, slots that no
list names are dropped.

Letters: B sentences; R rows; Q new tokens of a row; T target positions.
"""

from __future__ import annotations

import torch
from torch import Tensor

ROOM = 16  # positions by which the lists and the table grow


class Lists:
    """The slot list of each row of a search.

    A subclass holds the tables and implements `capacity` and `move`.
    """

    def __init__(self, source_length_B: Tensor, longest: int):
        self.longest = longest
        self.source_length_B = source_length_B
        self.length_R = torch.zeros_like(source_length_B)
        self.beams = 1
        self.place_RT = torch.zeros(len(source_length_B), 0, dtype=torch.int32)
        self.used = 0  # slots written

    @property
    def capacity(self) -> int:
        raise NotImplementedError

    def move(self, live: Tensor, capacity: int) -> None:
        """Replace the tables by new ones of that capacity, which begin with the slots `live`."""
        raise NotImplementedError

    def claim(self, queries: int) -> tuple[Tensor, Tensor]:
        """Claim slots for `queries` new tokens of each row; return positions and slots, R Q."""
        position_RQ = self.length_R[:, None] + torch.arange(queries)
        needed, rows = int(self.length_R.max()) + queries, len(position_RQ)
        if needed > self.place_RT.size(1):
            more = torch.zeros(rows, needed - self.place_RT.size(1) + ROOM, dtype=torch.int32)
            self.place_RT = torch.cat((self.place_RT, more), 1)
        new_RQ = self.take(rows * queries).view(rows, queries)
        self.place_RT.scatter_(1, position_RQ, new_RQ)
        return position_RQ, new_RQ

    def take(self, wanted: int) -> Tensor:
        """Return `wanted` slots, int32, which follow all that are written."""
        if self.used + wanted > self.capacity:
            self.collect(wanted)
        first, self.used = self.used, self.used + wanted
        return torch.arange(first, self.used, dtype=torch.int32)

    def reorder(self, rows: Tensor) -> Tensor | None:
        """Reorder the lists: row i continues row rows[i].

        Return the sentences that stay, or None where neither they nor `beams` changed. Raise
        ValueError unless `rows` goes by sentence, in order, with the same number for each.
        """
        sentence_R = rows.div(self.beams, rounding_mode="floor")
        sentences_B = sentence_R.unique_consecutive()
        beams, uneven = divmod(len(rows), max(len(sentences_B), 1))
        grouped = sentences_B.repeat_interleave(beams)
        if uneven or not torch.equal(grouped, sentence_R) or bool((sentences_B.diff() < 0).any()):
            raise ValueError("keep: rows go by sentence, in order, the same number for each")
        changed = beams != self.beams or len(sentences_B) < len(self.source_length_B)
        if changed:
            self.source_length_B = self.source_length_B[sentences_B]
        self.place_RT = self.place_RT.index_select(0, rows)
        self.length_R, self.beams = self.length_R.index_select(0, rows), beams
        return sentences_B if changed else None

    def append(self, source_length_B: Tensor) -> None:
        """Append sentences without target tokens, with `beams` rows each."""
        self.source_length_B = torch.cat((self.source_length_B, source_length_B))
        rows = len(source_length_B) * self.beams
        self.length_R = torch.cat((self.length_R, self.length_R.new_zeros(rows)))
        more = self.place_RT.new_zeros(rows, self.place_RT.size(1))
        self.place_RT = torch.cat((self.place_RT, more))

    def find_named(self) -> Tensor:
        """Return which entries of the lists are in use, R T."""
        return torch.arange(self.place_RT.size(1)) < self.length_R[:, None]

    def collect(self, wanted: int) -> None:
        """Drop the slots that no list names; make room for `wanted` slots and growth."""
        named_RT = self.find_named()
        live, place = self.place_RT[named_RT].unique(return_inverse=True)
        self.place_RT = torch.zeros_like(self.place_RT).masked_scatter_(named_RT, place.int())
        self.used = len(live)
        self.move(live, 2 * len(live) + ROOM * wanted)
