"""The search protocol: the methods of a network that a search may call.

R rows of a search; B sentences at work; Q new tokens of each row; V vocabulary; S source tokens.
The rows of one sentence are neighbours, and every sentence has the same number of rows
(`state.beams`), so that R = B * beams. Rows may differ in length, because sentences may join late.
"""

from typing import Protocol, TypeVar

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
