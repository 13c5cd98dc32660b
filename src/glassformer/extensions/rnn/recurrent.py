"""Recurrent layers in PyTorch's fused cells: the weights and results of `rnn/network.py`, faster.

Without input feeding, a layer of the decoder runs over all positions before the next one begins,
and attention is computed for all of them at once.

Letters: B sentences; S source positions; T target positions; L any positions; D model width.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from . import RecurrentNetwork
from .cells import GRU, LSTM, RecurrentCell, State
from .layers import RecurrentDecoderLayer
from .state import EncoderOutput


class FastGRU(GRU):
    """A GRU whose positions are computed in one call."""

    def forward(
        self, x_BLD: Tensor, start: State, real_BL: Tensor | None = None
    ) -> tuple[Tensor, State]:
        return _scan(self, torch.gru, x_BLD, start, real_BL)


class FastLSTM(LSTM):
    """An LSTM whose positions are computed in one call."""

    def forward(
        self, x_BLD: Tensor, start: State, real_BL: Tensor | None = None
    ) -> tuple[Tensor, State]:
        return _scan(self, torch.lstm, x_BLD, start, real_BL)


class FastRecurrentNetwork(RecurrentNetwork):
    """A recurrent network that computes each layer for all positions at once, if it can."""

    def decode(self, target_BT: Tensor, memory: EncoderOutput, source_mask: Tensor) -> Tensor:
        if self.settings.rnn.input_feeding:
            return super().decode(target_BT, memory, source_mask)
        x_BTD, states = self.target_embedding(target_BT), self.begin(memory, len(target_BT))
        for number, layer in enumerate(self.decoder):
            assert isinstance(layer, RecurrentDecoderLayer)
            if number:
                x_BTD = self.dropout(x_BTD)
            x_BTD, _ = layer.cell(x_BTD, states[number])
        look = self.top.look(x_BTD, memory.memory_BSD, memory.key_BSD, source_mask)
        y_BTD: Tensor = self.output_dropout(look)
        return y_BTD


TWINS: dict[type[nn.Module], type[nn.Module]] = {
    GRU: FastGRU,
    LSTM: FastLSTM,
    RecurrentNetwork: FastRecurrentNetwork,
}


def _scan(
    cell: RecurrentCell,
    function: Callable[..., Any],
    x_BLD: Tensor,
    start: State,
    real_BL: Tensor | None,
) -> tuple[Tensor, State]:
    """Return the hidden state at each position, and the last state, as the plain cell does."""
    length, lengths_B = x_BLD.size(1), None
    if real_BL is not None:
        lengths_B = real_BL.sum(1).clamp(min=1)
        if cell.is_backward:
            x_BLD = _turn_round(x_BLD, lengths_B)
    first = tuple(x.float().transpose(0, 1).contiguous() for x in start)  # 1 B D
    state = first[0] if len(first) == 1 else first
    arguments = _list_weights(cell), True, 1, 0.0, cell.training, False
    with torch.autocast(x_BLD.device.type, enabled=False):
        if lengths_B is None:
            hidden_BLD, *last = function(x_BLD.float(), state, *arguments, True)
            return hidden_BLD, tuple(x.transpose(0, 1) for x in last)
        packed = pack_padded_sequence(x_BLD.float(), lengths_B.cpu(), True, False)
        order = packed.sorted_indices
        assert order is not None and packed.unsorted_indices is not None
        state = first[0][:, order] if len(first) == 1 else tuple(x[:, order] for x in first)
        hidden, *last = function(packed.data, packed.batch_sizes, state, *arguments)
        sequence = PackedSequence(hidden, packed.batch_sizes, order, packed.unsorted_indices)
        hidden_BLD, _ = pad_packed_sequence(sequence, True, total_length=length)
        last = [x[:, packed.unsorted_indices].transpose(0, 1) for x in last]
    if cell.is_backward:
        hidden_BLD = _turn_round(hidden_BLD, lengths_B)
    return hidden_BLD, tuple(last)


def _turn_round(x_BLD: Tensor, lengths_B: Tensor) -> Tensor:
    """Return each sentence from its last position to its first; the padding stays behind it."""
    place_L = torch.arange(x_BLD.size(1), device=x_BLD.device)
    turned_BL = lengths_B[:, None] - 1 - place_L
    turned_BL = torch.where(turned_BL < 0, place_L, turned_BL)
    return x_BLD.gather(1, turned_BL[..., None].expand_as(x_BLD))


def _list_weights(cell: RecurrentCell) -> tuple[Tensor, ...]:
    """Return the weights in the order of PyTorch's own cells."""
    x, h = cell.from_input, cell.from_hidden
    return x.weight, h.weight, x.bias, h.bias
