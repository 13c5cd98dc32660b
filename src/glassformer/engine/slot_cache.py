"""The KV cache of the PyTorch engine: the search protocol's state.

Keys and values stay in the slots where they were written: see `lists`. Those of memory lie in a
second table of each layer, once for each sentence.

Letters: B sentences; R rows; Q new tokens of a row; N = R * Q queries; S source positions;
T target positions; C slots in a table; H heads; K width of one head.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..kernels.lookup import Places
from .lists import Lists

MASKED = -1e9  # added to a score, so that its weight is exactly 0


@dataclass
class CachedLayer:
    """The tables of keys and values of one decoder layer."""

    keys: Tensor  # C*H K: of the target positions
    values: Tensor  # C*H K
    memory_keys: Tensor  # B*H*K S: transposed, so that a sum of rows gives all scores of a query
    memory_values: Tensor  # B*H*S K

    @classmethod
    def make(cls, batch: int, size: int, heads: int, width: int, dtype: torch.dtype) -> CachedLayer:
        """Return tables without target positions, with space for the memory of a batch."""
        values = torch.zeros(batch * heads * size, width, dtype=dtype)
        keys = torch.zeros(batch * heads * width, size, dtype=dtype)
        return cls(torch.empty(0, width), values[:0], keys, values)

    def remember(self, both_ND: Tensor, first: int, count: int, batch: int) -> None:
        """Write the keys and values of memory, which lie side by side, for some sentences."""
        width, size = self.memory_values.size(1), self.memory_keys.size(1)
        heads = both_ND.size(1) // (2 * width)
        both = both_ND.view(count, -1, 2, heads, width).permute(2, 0, 3, 1, 4)
        seen, these = both.size(3), slice(first, first + count)
        self.memory_keys.view(batch, heads, width, size)[these, ..., :seen] = both[0].mT
        self.memory_values.view(batch, heads, size, width)[these, :, :seen] = both[1]


@dataclass(frozen=True)
class View:
    """The keys that each query attends to in one step: rows of the tables, and a mask."""

    places: Places  # N*H T: for each query and head
    mask: Tensor | None  # added to the scores, N 1 T; None: nothing is masked


class SlotCache(Lists):
    """The state of decoding; see `decode/protocol.py` for what a search does with it."""

    def __init__(
        self, layers: list[CachedLayer], source_length_B: Tensor, heads: int, longest: int
    ):
        super().__init__(source_length_B, longest)
        self.layers, self.heads = layers, heads
        self.slot_B = torch.arange(len(source_length_B))  # the slot of each sentence's memory
        self._memory: tuple[Places, View] | None = None

    # Methods for the layers.

    def make_room(self, queries: int) -> tuple[Tensor, View]:
        """Claim slots for new tokens of each row; return their positions, R Q, and the view of them
        and of all before."""
        shortest, needed = int(self.length_R.min()), int(self.length_R.max()) + queries
        position_RQ, _ = self.claim(queries)
        place_RT = self.place_RT[:, :needed]
        head_H1 = torch.arange(self.heads, dtype=torch.int32)[:, None]
        index_RHT = place_RT[:, None] * self.heads + head_H1
        if queries == 1 and shortest + 1 == needed:
            return position_RQ, View(Places(index_RHT.view(-1, needed)), None)
        index = index_RHT[:, None].expand(-1, queries, -1, -1).reshape(-1, needed)
        hidden_RQT = torch.arange(needed) > position_RQ[..., None]
        return position_RQ, View(Places(index), hide(hidden_RQT.flatten(0, 1)))

    def look_at_memory(self, queries: int) -> tuple[Places, View]:
        """Return the rows of memory in the tables of transposed keys, N*H K, and of values."""
        if (
            self._memory is None
            or len(self._memory[0].starts) != len(self.length_R) * queries * self.heads
        ):
            self._memory = self._find_memory(queries)
        return self._memory

    def _find_memory(self, queries: int) -> tuple[Places, View]:
        tables = self.layers[0]
        width, size = tables.memory_values.size(1), tables.memory_keys.size(1)
        seen = int(self.source_length_B.max())
        slot_N = self.slot_B.repeat_interleave(self.beams * queries).int()
        slot_NH = slot_N[:, None] * self.heads + torch.arange(self.heads, dtype=torch.int32)
        slot_N1 = slot_NH.view(-1, 1)
        keys = slot_N1 * width + torch.arange(width, dtype=torch.int32)
        values = slot_N1 * size + torch.arange(seen, dtype=torch.int32)
        length_N = self.source_length_B.repeat_interleave(self.beams * queries)
        hidden_NS = torch.arange(seen) >= length_N[:, None]
        mask = hide(hidden_NS) if bool(hidden_NS.any()) else None
        return Places(keys), View(Places(values), mask)

    # Methods of the search protocol.

    def keep(self, rows: Tensor) -> None:
        """Reorder the state: row i continues row rows[i]; sentences without a row are dropped."""
        sentences_B = self.reorder(rows)
        if sentences_B is not None:
            self.slot_B = self.slot_B[sentences_B]
            self._memory = None

    def join(self, other: SlotCache) -> None:
        """Append the sentences of a state without target tokens, with `beams` rows each."""
        count, taken = len(other.slot_B), set(self.slot_B.tolist())
        slots = self.layers[0].memory_keys.size(0) // (self.heads * self._width)
        free = [slot for slot in range(slots) if slot not in taken]
        free += range(slots, slots + count - len(free))
        slot_B = torch.tensor(free[:count])
        for layer, new in zip(self.layers, other.layers, strict=True):
            join_memory(layer, new, slot_B, self.heads)
        self.slot_B = torch.cat((self.slot_B, slot_B))
        self.append(other.source_length_B)
        self._memory = None

    # The tables.

    @property
    def _width(self) -> int:
        return self.layers[0].keys.size(1)

    @property
    def capacity(self) -> int:
        return len(self.layers[0].keys) // self.heads

    def move(self, live: Tensor, capacity: int) -> None:
        for layer in self.layers:
            layer.keys = _move(layer.keys, live, capacity, self.heads)
            layer.values = _move(layer.values, live, capacity, self.heads)


def hide(hidden_NT: Tensor) -> Tensor:
    """Return the mask to add to the scores of all heads, N 1 T: MASKED where hidden, else 0."""
    return torch.zeros(hidden_NT.shape).masked_fill_(hidden_NT, MASKED)[:, None]


def _move(table: Tensor, live: Tensor, capacity: int, heads: int) -> Tensor:
    moved = table.new_empty(capacity * heads, table.size(1))
    wide = table.view(-1, heads * table.size(1))
    torch.index_select(wide, 0, live, out=moved.view(capacity, -1)[: len(live)])
    return moved


def join_memory(layer: CachedLayer, new: CachedLayer, slot_B: Tensor, heads: int) -> None:
    """Write the memory of new sentences into the slots `slot_B`; widen the tables if necessary."""
    width, size = layer.memory_values.size(1), new.memory_keys.size(1)
    keys = layer.memory_keys.view(-1, heads, width, layer.memory_keys.size(1))
    values = layer.memory_values.view(len(keys), heads, -1, width)
    slots, longest = max(len(keys), int(slot_B.max()) + 1), max(keys.size(3), size)
    if (slots, longest) != (len(keys), keys.size(3)):
        wider_keys = keys.new_zeros(slots, heads, width, longest)
        wider_values = values.new_zeros(slots, heads, longest, width)
        wider_keys[: len(keys), ..., : keys.size(3)] = keys
        wider_values[: len(keys), :, : keys.size(3)] = values
        keys, values = wider_keys, wider_values
    keys[slot_B, ..., :size] = new.memory_keys.view(-1, heads, width, size)
    values[slot_B, :, :size] = new.memory_values.view(-1, heads, size, width)
    layer.memory_keys = keys.view(-1, longest)
    layer.memory_values = values.view(-1, width)
