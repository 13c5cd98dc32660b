"""The KV cache of each decoder layer, and the decoding state of the search protocol.

Letters: B sentences; R rows of a search; Q new positions; C capacity of a cache, which grows;
M source positions; H heads; K width of one head.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from .positions import check_reach

Pair = tuple[Tensor, Tensor]  # keys and values

GROWTH = 32  # positions added to a cache that is full


@dataclass
class KVCache:
    """The keys and values of one decoder layer.

    Those of its own positions grow from step to step; those of the source stay.
    """

    source: Pair  # B H M K, one for each sentence
    own: Pair  # R H C K, one for each row
    places: tuple[Tensor, Tensor] | None = None  # rows R 1 and positions R Q to write

    def append(self, k_RHQK: Tensor, v_RHQK: Tensor) -> Pair:
        """Write the newest keys and values at the end of each row; return all, each R H C K."""
        assert self.places is not None
        rows, positions = self.places
        for cache_RHCK, new_RHQK in zip(self.own, (k_RHQK, v_RHQK), strict=True):
            cache_RHCK[rows, :, positions] = new_RHQK.transpose(1, 2).to(cache_RHCK.dtype)
        return self.own


@dataclass
class DecodingState:
    """The state of decoding; see `decode/protocol.py` for what a search does with it."""

    source_mask: Tensor  # B 1 1 M
    layers: list[KVCache]
    length_R: Tensor
    longest: int  # the number of positions that the network has
    beams: int = 1

    @property
    def capacity(self) -> int:
        """Return the number of positions for which the caches have memory."""
        return self.layers[0].own[0].size(2)

    def make_room(self, queries: int) -> Tensor:
        """Grow the caches by `queries` positions in each row; return these positions, R Q.

        Raise ValueError where the network has fewer positions.
        """
        position_RQ = self.length_R[:, None] + torch.arange(queries, device=self.length_R.device)
        needed = int(self.length_R.max()) + queries
        check_reach(needed, self.longest)
        missing = needed - self.capacity
        rows_R1 = torch.arange(len(position_RQ), device=position_RQ.device)[:, None]
        for cache in self.layers:
            if missing > 0:
                cache.own = _each(cache.own, lambda x: pad(x, (0, 0, 0, missing + GROWTH)))
            cache.places = rows_R1, position_RQ
        return position_RQ

    def keep(self, rows: Tensor) -> None:
        """Reorder the state: row i continues row rows[i]; sentences without a row are dropped.

        Raise ValueError unless `rows` goes by sentence, with the same number for each.
        """
        sentences_B, beams = group_rows(rows, self.beams)
        fewer = len(sentences_B) < self.source_mask.size(0)
        for cache in self.layers:
            cache.own = _each(cache.own, lambda x: x.index_select(0, rows))
            if fewer:
                cache.source = _each(cache.source, lambda x: x.index_select(0, sentences_B))
        if fewer:
            self.source_mask = self.source_mask.index_select(0, sentences_B)
        self.length_R, self.beams = self.length_R.index_select(0, rows), beams

    def join(self, other: "DecodingState") -> None:
        """Append the sentences of another state, which has the same number of beams."""
        for cache, new in zip(self.layers, other.layers, strict=True):
            cache.source = _joined(cache.source, new.source)
            cache.own = _joined(cache.own, new.own)
        widest = max(self.source_mask.size(-1), other.source_mask.size(-1))
        masks = (self.source_mask, other.source_mask)
        self.source_mask = torch.cat([pad(mask, (0, widest - mask.size(-1))) for mask in masks])
        self.length_R = torch.cat((self.length_R, other.length_R))


def group_rows(rows: Tensor, beams: int) -> tuple[Tensor, int]:
    """Return the sentences of these rows, where each had `beams`, and how many rows each has now.

    Raise ValueError unless `rows` goes by sentence, with the same number for each.
    """
    sentence_R = rows.div(beams, rounding_mode="floor")
    sentences_B = sentence_R.unique()
    beams, uneven = divmod(len(rows), max(len(sentences_B), 1))
    if uneven or not torch.equal(sentences_B.repeat_interleave(beams), sentence_R):
        raise ValueError("keep: rows go by sentence, in order, the same number for each")
    return sentences_B, beams


def _each(pair: Pair, change: Callable[[Tensor], Tensor]) -> Pair:
    return change(pair[0]), change(pair[1])


def _joined(pair: Pair, others: Pair) -> Pair:
    """Concatenate two pairs; the shorter one is padded with zeros, which masks hide."""
    longest = max(pair[0].size(2), others[0].size(2))
    filled = [_each(p, lambda x: pad(x, (0, 0, 0, longest - x.size(2)))) for p in (pair, others)]
    return torch.cat((filled[0][0], filled[1][0])), torch.cat((filled[0][1], filled[1][1]))
