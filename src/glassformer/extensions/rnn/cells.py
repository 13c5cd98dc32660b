"""Recurrent cells: GRU (Cho et al., 2014) and LSTM (Hochreiter and Schmidhuber, 1997).

A cell reads one position after another, and all that it knows of those before is its state. The
gates are PyTorch's, whose `nn.GRU` and `nn.LSTM` have the same weights in the same order.

Letters: B sentences; L positions; D width of the state.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from glassformer.foundation.tap import Watchable, each_position, tap

State = tuple[Tensor, ...]  # the hidden state and, in an LSTM, the cell; each B 1 D


class RecurrentCell(Watchable):
    """A recurrent cell, which reads a sentence forwards or backwards."""

    gates: int  # how many times D numbers are computed of the input
    states: int  # how many tensors its state has

    def __init__(self, inputs: int, size: int, *, backward: bool = False):
        super().__init__()
        self.size, self.is_backward = size, backward
        self.from_input = nn.Linear(inputs, self.gates * size)
        self.from_hidden = nn.Linear(size, self.gates * size)

    def forward(
        self, x_BLD: Tensor, start: State, real_BL: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """Return the hidden state at each position, B L D, and the state after the last.

        Positions where `real_BL` is False are padding, at which the state stays as it is.
        """
        length, state = x_BLD.size(1), start
        order: Sequence[int] = range(length)
        hidden: dict[int, Tensor] = {}
        for position in each_position(self, order[::-1] if self.is_backward else order):
            after = self.step(x_BLD[:, position, None], state)
            if real_BL is not None:
                is_real = real_BL[:, position, None, None]
                after = tuple(
                    torch.where(is_real, *each) for each in zip(after, state, strict=True)
                )
            state = after
            hidden[position] = state[0]
        return torch.cat([hidden[position] for position in order], 1), state

    def step(self, x_B1D: Tensor, state: State) -> State:
        """Return the state after one more position."""
        raise NotImplementedError

    def make_start(self, like: Tensor) -> State:
        """Return a state of zeros for each sentence of a batch."""
        return (like.new_zeros(like.size(0), 1, self.size),) * self.states


class GRU(RecurrentCell):
    """A gated recurrent unit: the new hidden state lies between the old one and a candidate."""

    gates, states = 3, 1

    def step(self, x_B1D: Tensor, state: State) -> State:
        before = tap(self, "before", state[0])
        x_reset, x_update, x_candidate = self.from_input(x_B1D).chunk(3, -1)
        h_reset, h_update, h_candidate = self.from_hidden(before).chunk(3, -1)
        reset = tap(self, "reset", (x_reset + h_reset).sigmoid())
        update = tap(self, "update", (x_update + h_update).sigmoid())
        candidate = tap(self, "candidate", (x_candidate + reset * h_candidate).tanh())
        return (tap(self, "hidden", (1 - update) * candidate + update * before),)


class LSTM(RecurrentCell):
    """A long short-term memory: gates decide what its cell forgets, takes in and shows."""

    gates, states = 4, 2

    def step(self, x_B1D: Tensor, state: State) -> State:
        before, cell_before = tap(self, "before", state[0]), tap(self, "cell_before", state[1])
        gates = (self.from_input(x_B1D) + self.from_hidden(before)).chunk(4, -1)
        taken = tap(self, "input_gate", gates[0].sigmoid())
        kept = tap(self, "forget_gate", gates[1].sigmoid())
        candidate = tap(self, "candidate", gates[2].tanh())
        shown = tap(self, "output_gate", gates[3].sigmoid())
        cell = tap(self, "cell", kept * cell_before + taken * candidate)
        return tap(self, "hidden", shown * cell.tanh()), cell


CELLS: dict[str, type[RecurrentCell]] = {"gru": GRU, "lstm": LSTM}
