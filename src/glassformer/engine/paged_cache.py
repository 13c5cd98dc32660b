"""The paged KV cache of the C engine: the search protocol's state.

Keys and values stay in the slots where they were written: see `lists`. The keys and values of
memory stay where the encoder's call wrote them, and each sentence has their address.

Letters: B sentences; R rows; Q new tokens of a row; N = R * Q queries; T target positions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from .lists import Lists


@dataclass(frozen=True)
class Memory:
    """The cross-attention keys and values of one sentence, in all decoder layers."""

    whole: Tensor  # layers, tokens of some sentences, keys and values; bf16; kept alive
    address: int  # the address of the sentence's first token
    apart: int  # the stride from layer to layer, in numbers


@dataclass(frozen=True)
class StepQueries:
    """The queries of one step and the keys that each attends to.

    `lists` and `new_N` are int32, `tables` is bf16, all others are int64.
    """

    token_N: Tensor
    position_N: Tensor
    list_N: Tensor  # where the slot list of a query begins
    count_N: Tensor  # how many entries of it the query attends to
    new_N: Tensor  # the slot for its own key and value
    address_N: Tensor  # the address of the sentence's memory
    apart_N: Tensor
    length_N: Tensor
    lists: Tensor  # R T: the slots of each row
    tables: Tensor  # layers, slots, keys and values; bf16
    longest: int  # the most positions that any query attends to
    answer_R: Tensor | None = None  # the query whose result each row takes; None: its own

    def select(self, ask_R: Tensor, answer_R: Tensor) -> StepQueries:
        """Return the step with these queries only."""
        names = [each.name for each in fields(self) if each.name.endswith("_N")]
        fewer = {name: getattr(self, name)[ask_R] for name in names}
        return replace(self, **fewer, answer_R=answer_R)


class PagedCache(Lists):
    """The state of decoding in C; see `decode/protocol.py` for what a search does with it."""

    def __init__(
        self, memory: list[Memory], source_length_B: Tensor, shape: tuple[int, int], longest: int
    ):
        super().__init__(source_length_B, longest)
        layers, width = shape
        self.memory = memory  # one for each sentence
        self.tables = torch.empty(layers, 0, width, dtype=torch.bfloat16)
        self._scratch = torch.empty(0, dtype=torch.uint8)
        self._free = torch.empty(0, dtype=torch.int32)  # slots, in ascending order
        self._until_search = 0  # slots to take before free ones are searched for again
        self._seen: tuple[Tensor, Tensor, Tensor, int] | None = None

    def make_room(self, tokens_RQ: Tensor) -> StepQueries:
        """Claim slots for new tokens of each row; return the queries of the step."""
        queries = tokens_RQ.size(1)
        position_RQ, new_RQ = self.claim(queries)
        list_R = torch.arange(len(position_RQ)) * self.place_RT.size(1)
        address_N, apart_N, length_N, seen = self._look_at_memory(queries)
        count_N = (position_RQ + 1).flatten()
        step = StepQueries(
            tokens_RQ.flatten().contiguous(),
            position_RQ.flatten(),  # a column is a view
            list_R.repeat_interleave(queries),
            count_N,
            new_RQ.flatten(),
            address_N,
            apart_N,
            length_N,
            self.place_RT,
            self.tables,
            max(int(count_N.max()), seen),
        )
        if queries > 1 or self.beams == 1 or self.length_R.all():
            return step
        ask_R, answer_R = self._share_beginnings(step.token_N)
        return step.select(ask_R, answer_R)

    def _share_beginnings(self, token_R: Tensor) -> tuple[Tensor, Tensor]:
        """Compute rows of a sentence that begin with the same token only once; they share a slot.

        Return the rows that are computed, and the index of the result that each row takes.
        """
        row_R = torch.arange(len(token_R))
        first_R = row_R - row_R % self.beams
        is_alike_R = (self.length_R == 0) & (token_R == token_R[first_R])
        like_R = torch.where(is_alike_R, first_R, row_R)
        self.place_RT[:, 0] = self.place_RT[like_R, 0]
        asks_R = like_R == row_R
        return asks_R.nonzero()[:, 0], (asks_R.cumsum(0) - 1)[like_R]

    def get_scratch(self, size: int) -> Tensor:
        """Return scratch memory of at least `size` bytes, kept from step to step."""
        if len(self._scratch) < size:
            self._scratch = torch.empty(size, dtype=torch.uint8)
        return self._scratch

    def keep(self, rows: Tensor) -> None:
        """Reorder the state: row i continues row rows[i]; sentences without a row are dropped."""
        sentences_B = self.reorder(rows)
        if sentences_B is not None:
            self.memory = [self.memory[each] for each in sentences_B.tolist()]
            self._seen = None

    def join(self, other: PagedCache) -> None:
        """Append the sentences of a state without target tokens, with `beams` rows each."""
        self.memory = self.memory + other.memory
        self.append(other.source_length_B)
        self._seen = None

    @property
    def capacity(self) -> int:
        return self.tables.size(1)

    def take(self, wanted: int) -> Tensor:
        """Return `wanted` free slots, int32, in ascending order.

        Slots that no row names any more come before those never written: they are in the
        processor's cache.
        """
        if wanted > self._until_search:
            self._find_free(wanted)
        self._until_search -= wanted
        new, self._free = self._free.split((wanted, len(self._free) - wanted))
        return new

    def _find_free(self, wanted: int) -> None:
        is_free = torch.ones(self.capacity, dtype=torch.bool)
        is_free[self.place_RT[self.find_named()].long()] = False
        self._free = is_free.nonzero()[:, 0].int()
        self.used = self.capacity - len(self._free)
        if len(self._free) < max(wanted, self.used):
            self.collect(wanted)
            self._free = torch.arange(self.used, self.capacity, dtype=torch.int32)
        self._until_search = min(max(4 * wanted, self.used // 2), len(self._free))

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
