"""What a search may ask of a network, whatever the network is.

R rows of a search; B sentences at work; Q new tokens a row; V vocabulary; S source tokens.
The rows of one sentence are neighbours, and every sentence has the same number of rows
(`state.beams`), so that R = B * beams. Every row has its own length: sentences may join late.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

from torch import Tensor

from ..kernels.topk import Best


class State(Protocol):
    """Where decoding stands. The network's own; a search reads only these two."""

    length_R: Tensor  # int64: tokens given to each row so far
    beams: int  # rows of each sentence


S = TypeVar("S", bound=State)


class Network(Protocol[S]):
    """Read the source once, then ask for the next token as often as needed."""

    def start(self, source_BS: Tensor) -> S:
        """Read the sources (int64, padded with 0 on the right). One row a sentence, length 0."""
        ...

    def step(self, tokens_RQ: Tensor, state: S) -> Tensor:
        """Append Q tokens to every row; return fp32 logits_RQV of the token after each of them.

        A row with fewer new tokens is padded on the right, with any id, and cut back with
        `rewind`. A row in which nobody lives any more is stepped along on any id, PAD included:
        its logits are finite too. The logits are the caller's to write on.
        """
        ...

    def keep(self, rows: Tensor, state: S) -> None:
        """Row i of the new state continues row rows[i]; rows may repeat or vanish.

        `rows` is grouped by sentence, in ascending order of the sentences that stay, the same
        number for each: that number becomes `state.beams`. A sentence of which no row is named
        is forgotten. At least one row is named.
        """
        ...

    def admit(self, source_BS: Tensor, state: S) -> None:
        """New sentences join at the end, with `state.beams` rows each, at length 0."""
        ...

    def rewind(self, length_R: Tensor, state: S) -> None:
        """Cut each row back to a length it has had."""
        ...


@runtime_checkable
class Finder(Network[S], Protocol[S]):
    """A network with a shortcut for a search that wants only the best tokens of each row."""

    def find_best(self, tokens_R1: Tensor, state: S, size: int, first: int) -> Best | None:
        """As `step`, of one token a row; the `size` largest logits from the id `first` on, their
        ids, and the logsumexp of all V.

        None: not so many; nothing has been done, and `step` is to be asked.
        """
        ...
