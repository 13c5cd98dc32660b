"""What decoding in C remembers between steps: the search protocol's state.

Nothing that a hypothesis has written ever moves: see `lists`. Memory lies where it was read to,
and each sentence knows where.

Letters: B sentences; R rows; Q new pieces of a row; N = R * Q askers; T target positions.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .lists import Lists


@dataclass(frozen=True)
class Memory:
    """Keys and values of one sentence."""

    whole: Tensor  # layers, pieces of some sentences, keys and values; bf16
    first: int  # piece that is this sentence's

    @property
    def address(self) -> int:
        return self.whole[0, self.first :].data_ptr()

    @property
    def apart(self) -> int:
        """From layer to layer, in numbers."""
        return self.whole.stride(0)


@dataclass(frozen=True)
class Asked:
    """Who looks where in one step; all int64 but `lists` and `new_N`, int32."""

    position_N: Tensor
    lists: Tensor  # R T: the places of each row
    list_N: Tensor  # where an asker's list begins
    count_N: Tensor  # how many of it are to be seen
    new_N: Tensor  # where its own keys and values go
    tables: Tensor  # layers, places, keys and values; bf16
    address_N: Tensor  # of memory
    apart_N: Tensor
    length_N: Tensor
    longest: int  # the most places that any asker looks at


class Past(Lists):
    """Where decoding stands; see `decode/protocol.py` for what may be asked of it."""

    def __init__(
        self, memory: list[Memory], source_length_B: Tensor, shape: tuple[int, int], longest: int
    ):
        super().__init__(source_length_B, longest)
        layers, width = shape
        self.memory = memory  # one a sentence
        self.tables = torch.empty(layers, 0, width, dtype=torch.bfloat16)
        self._room = torch.empty(0, dtype=torch.uint8)
        self._seen: tuple[Tensor, Tensor, Tensor, int] | None = None

    def make_room(self, queries: int) -> Asked:
        """Places for so many new pieces a row, and where each may look when they are written."""
        position_RQ, new_RQ = self.claim(queries)
        list_R = torch.arange(len(position_RQ)) * self.place_RT.size(1)
        address_N, apart_N, length_N, seen = self._look_at_memory(queries)
        count_N = (position_RQ + 1).flatten()
        return Asked(
            position_RQ.flatten(), self.place_RT, list_R.repeat_interleave(queries),
            count_N, new_RQ.flatten(), self.tables, address_N, apart_N, length_N,
            max(int(count_N.max()), seen),
        )  # fmt: skip

    def find_room(self, size: int) -> Tensor:
        """To compute in, kept from step to step."""
        if len(self._room) < size:
            self._room = torch.empty(size, dtype=torch.uint8)
        return self._room

    def keep(self, rows: Tensor) -> None:
        """Row i of the new state continues row rows[i]; sentences without a row are forgotten."""
        sentences_B = self.reorder(rows)
        if sentences_B is not None:
            self.memory = [self.memory[each] for each in sentences_B.tolist()]
            self._seen = None

    def join(self, other: Past) -> None:
        """Sentences of which nothing is written yet join behind these, with as many rows each."""
        self.memory = self.memory + other.memory
        self.append(other.source_length_B)
        self._seen = None

    @property
    def capacity(self) -> int:
        return self.tables.size(1)

    def move(self, live: Tensor, capacity: int) -> None:
        moved = self.tables.new_empty(self.tables.size(0), capacity, self.tables.size(2))
        for table, old in zip(moved, self.tables, strict=True):
            torch.index_select(old, 0, live, out=table[: len(live)])
        self.tables = moved

    def _look_at_memory(self, queries: int) -> tuple[Tensor, Tensor, Tensor, int]:
        times = self.beams * queries
        if self._seen is None or len(self._seen[0]) != times * len(self.memory):
            columns = torch.tensor([(each.address, each.apart) for each in self.memory])
            address_N, apart_N = columns.repeat_interleave(times, 0).T.contiguous()
            length_N = self.source_length_B.repeat_interleave(times)
            self._seen = address_N, apart_N, length_N, int(length_N.max())
        return self._seen
