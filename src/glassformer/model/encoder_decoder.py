"""The class of all networks that translate: an encoder, a decoder and tables of embeddings.

Training, decoding and recording know a network by this class; `build_network` makes the one that
the settings name.

Letters: B sentences; S source positions; T target positions; R rows of a search; Q new
positions; D model width; V vocabulary.
"""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ..config import Model
from ..foundation.tap import Watchable, tap
from .masks import padding_mask


class EncoderDecoder(Watchable):
    """A network that encodes a source and decodes a target.

    It speaks the search protocol (`decode/protocol.py`) with `start`, `step`, `keep`, `admit` and
    `rewind`.
    """

    settings: Model
    output_table: nn.Embedding
    output_bias: nn.Parameter | None

    def forward(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Return the logits of all target positions at once, B T V; row t predicts token t + 1."""
        return self.logits(self.read(source_BS, target_BT))

    def read(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Return what the last linear map reads, B T D."""
        source_mask = padding_mask(source_BS)
        return self.decode(target_BT, self.encode(source_BS, source_mask), source_mask)

    def logits(self, y_BTD: Tensor) -> Tensor:
        """Return a logit for each token of the vocabulary, B T V (3.4)."""
        return tap(self, "logits", linear(y_BTD, self.output_table.weight, self.output_bias))

    @abstractmethod
    def encode(self, source_BS: Tensor, source_mask: Tensor) -> Any:
        """Return what the decoder reads of the source."""

    @abstractmethod
    def decode(self, target_BT: Tensor, memory: Any, source_mask: Tensor) -> Tensor:
        """Return the decoder's output, B T D; `memory` is what `encode` returned."""

    @abstractmethod
    def start(self, source_BS: Tensor) -> Any:
        """Encode the sources; return the state of decoding."""

    @abstractmethod
    def step(self, tokens_RQ: Tensor, state: Any) -> Tensor:
        """Append tokens to each row; return the logits of the token after each, R Q V, in fp32."""

    def keep(self, rows: Tensor, state: Any) -> None:
        """Reorder the state: row i continues row rows[i]."""
        state.keep(rows)

    def admit(self, source_BS: Tensor, state: Any) -> None:
        """Append new sentences to the state, with `state.beams` rows each."""
        new, rows = self.start(source_BS), torch.arange(len(source_BS), device=source_BS.device)
        new.keep(rows.repeat_interleave(state.beams))
        state.join(new)

    def rewind(self, length_R: Tensor, state: Any) -> None:
        """Cut each row back to a length that it has had before."""
        state.length_R = length_R


def make_tables(settings: Model, source: int, target: int) -> tuple[nn.Embedding, ...]:
    """Return the source, target and output matrices: one, two or three (3.4 has one).

    Raise ValueError for tie=three-way with vocabularies of different size.
    """

    def table(vocabulary: int) -> nn.Embedding:
        embedding = nn.Embedding(vocabulary, settings.d_model)
        nn.init.normal_(embedding.weight, std=settings.d_model**-0.5)
        return embedding

    if settings.tie == "three-way":
        if source != target:
            raise ValueError(
                f"tie=three-way needs one vocabulary, but the source has {source} tokens and the "
                f"target {target}: use tie=two-way, or text.shared=true"
            )
        return (table(source),) * 3
    targets = table(target)
    return table(source), targets, targets if settings.tie == "two-way" else table(target)
