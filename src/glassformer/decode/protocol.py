"""The search protocol: the methods of a network that a search may call.

R rows of a search; B sentences at work; Q new tokens of each row; V vocabulary; S source tokens;
C tokens of a row that the search considers.
The rows of one sentence are neighbours, and every sentence has the same number of rows
(`state.beams`), so that R = B * beams. Rows may differ in length, because sentences may join late.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from torch import Tensor


class State(Protocol):
    """The state of decoding. It belongs to the network; a search reads only these two fields."""

    length_R: Tensor  # int64: the tokens given to each row so far
    beams: int  # rows of each sentence


S = TypeVar("S", bound=State)


class Network(Protocol[S]):
    """A network that encodes the source once and then predicts one token after another."""

    def start(self, source_BS: Tensor) -> S:
        """Encode the sources (int64, padded with 0 on the right).

        Return a state with one row for each sentence, of length 0.
        """
        ...

    def step(self, tokens_RQ: Tensor, state: S) -> Tensor:
        """Append Q tokens to every row; return logits_RQV of the token after each of them, in fp32.

        A row with fewer new tokens is padded on the right, with any id, and cut back with
        `rewind`. A row without a hypothesis gets any id, PAD included, and its logits are finite
        too. The caller may overwrite the logits.
        """
        ...

    def keep(self, rows: Tensor, state: S) -> None:
        """Reorder the state: row i continues row rows[i]; rows may repeat or be left out.

        `rows` is grouped by sentence, in ascending order of the sentences that stay, the same
        number for each: that number becomes `state.beams`. A sentence without a row in `rows` is
        dropped. `rows` is not empty.
        """
        ...

    def admit(self, source_BS: Tensor, state: S) -> None:
        """Append new sentences at the end, with `state.beams` rows each, of length 0."""
        ...

    def rewind(self, length_R: Tensor, state: S) -> None:
        """Cut each row back to a length that it has had before."""
        ...


class Best(NamedTuple):
    """The largest logits of each row, and what makes log-probabilities of them."""

    value_RC: Tensor  # the largest, in descending order; of equal ones the first
    place_RC: Tensor
    sum_R1: Tensor  # the logsumexp over all V


@runtime_checkable
class Finder(Network[S], Protocol[S]):
    """A network with a fast method for a search that needs only the best tokens of each row."""

    def find_best(self, tokens_R1: Tensor, state: S, size: int, first: int) -> Best | None:
        """Append one token to every row, as `step` does; return the `size` largest logits among the
        ids from `first` on, their ids, and the logsumexp of all V.

        Return None, and change nothing, where `size` is too large: the caller then calls `step`.
        """
        ...
