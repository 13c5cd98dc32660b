"""The output of the recurrent encoder, and the state of decoding.

Letters: B sentences; R rows of a search; S source positions; C capacity, which grows; D model
width; N all numbers of a row's state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from glassformer.model.kv_cache import group_rows

from .cells import State

GROWTH = 32  # lengths added to a history that is full


class EncoderOutput(NamedTuple):
    """The encoder's output."""

    memory_BSD: Tensor  # the hidden states of its topmost layer, for attention
    key_BSD: Tensor  # what scores compare with
    final: tuple[State, ...]  # of each layer: where the decoder's layer of that number begins


@dataclass
class RecurrentState:
    """The state of decoding; see `decode/protocol.py` for what a search does with it.

    A row's state after each length that it has had is kept, to rewind to.
    """

    encoded: EncoderOutput
    source_mask: Tensor  # B 1 1 S
    history_RCN: Tensor  # at length l: the state after l tokens, of all layers side by side
    length_R: Tensor
    longest: int  # the number of tokens that a row may have
    beams: int = 1

    def read(self) -> Tensor:
        """Return the state of each row at its length, R 1 N."""
        rows_R = torch.arange(len(self.length_R), device=self.length_R.device)
        return self.history_RCN[rows_R, self.length_R][:, None]

    def write(self, state_R1N: Tensor) -> None:
        """Store the state of each row after one more token."""
        self.length_R = self.length_R + 1
        missing = int(self.length_R.max()) + 1 - self.history_RCN.size(1)
        if missing > 0:
            self.history_RCN = pad(self.history_RCN, (0, 0, 0, missing + GROWTH))
        rows_R = torch.arange(len(self.length_R), device=self.length_R.device)
        self.history_RCN[rows_R, self.length_R] = state_R1N[:, 0]

    def keep(self, rows: Tensor) -> None:
        """Reorder the state: row i continues row rows[i]; sentences without a row are dropped.

        Raise ValueError unless `rows` goes by sentence, with the same number for each.
        """
        sentences_B, self.beams = group_rows(rows, self.beams)
        if len(sentences_B) < len(self.source_mask):
            self.source_mask = self.source_mask.index_select(0, sentences_B)
            memory_BSD, key_BSD = (x.index_select(0, sentences_B) for x in self.encoded[:2])
            self.encoded = EncoderOutput(memory_BSD, key_BSD, ())
        self.history_RCN = self.history_RCN.index_select(0, rows)
        self.length_R = self.length_R.index_select(0, rows)

    def join(self, other: RecurrentState) -> None:
        """Append the sentences of another state, which has the same number of beams."""
        self.source_mask = _join((self.source_mask, other.source_mask), -1)
        pairs = zip(self.encoded[:2], other.encoded[:2], strict=True)
        memory_BSD, key_BSD = (_join(pair, 1) for pair in pairs)
        self.encoded = EncoderOutput(memory_BSD, key_BSD, ())
        self.history_RCN = _join((self.history_RCN, other.history_RCN), 1)
        self.length_R = torch.cat((self.length_R, other.length_R))


def _join(pair: tuple[Tensor, Tensor], axis: int) -> Tensor:
    """Concatenate two tensors; the shorter one is padded with zeros along `axis`."""
    widest = max(x.size(axis) for x in pair)
    behind = [0] * 2 * (pair[0].dim() - 1 - axis % pair[0].dim())
    return torch.cat([pad(x, (*behind, 0, widest - x.size(axis))) for x in pair])
