"""A layer of the recurrent encoder and one of the decoder, and the embedding that they read.

Letters: B sentences; R rows of a search; S source positions; L positions; D model width.
"""

import math

import torch
from torch import Tensor, nn

from glassformer.config import Model
from glassformer.foundation.tap import Watchable, tap

from .attention import AttentionalVector, SourceAttention
from .cells import CELLS, State


class WordEmbedding(Watchable):
    """Scaled token embeddings, as the Transformer's (3.4), without positions: a recurrent network
    knows the order, since it reads one token after another."""

    def __init__(self, table: nn.Embedding, settings: Model):
        super().__init__()
        self.table = table
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, ids_BL: Tensor) -> Tensor:
        """Return the embedded tokens, B L D, after dropout."""
        embedded_BLD = self.table(ids_BL) * math.sqrt(self.table.embedding_dim)
        return tap(self, "embedded", self.dropout(embedded_BLD))


class RecurrentEncoderLayer(Watchable):
    """A cell that reads the sentence forwards and, if it is bidirectional, one backwards."""

    def __init__(self, settings: Model):
        super().__init__()
        cell, size = CELLS[settings.rnn.cell], settings.width
        self.forward_cell = cell(settings.d_model, size)
        both = settings.rnn.bidirectional
        self.backward_cell = cell(settings.d_model, size, backward=True) if both else None

    def forward(self, x_BSD: Tensor, real_BS: Tensor) -> tuple[Tensor, State]:
        """Return the hidden states of both directions side by side, B S D, and the last ones.

        The last state, B 1 D, is that of each direction once it has read the whole sentence.
        """
        cells = [cell for cell in (self.forward_cell, self.backward_cell) if cell is not None]
        read = [cell(x_BSD, cell.make_start(x_BSD), real_BS) for cell in cells]
        output_BSD = tap(self, "output", torch.cat([hidden for hidden, _ in read], -1))
        last = [torch.cat(each, -1) for each in zip(*(state for _, state in read), strict=True)]
        final = tap(self, "final", last[0])
        if len(last) == 1:
            return output_BSD, (final,)
        return output_BSD, (final, tap(self, "final_cell", last[1]))


class RecurrentDecoderLayer(Watchable):
    """A cell that writes; in the topmost layer it is followed by attention, if there is any."""

    def __init__(self, settings: Model, number: int):
        super().__init__()
        fed = number == 0 and settings.rnn.input_feeding
        self.cell = CELLS[settings.rnn.cell]((1 + fed) * settings.d_model, settings.d_model)
        is_attending = number in settings.attending_layers
        self.cross_attention = SourceAttention(settings) if is_attending else None
        self.attentional = AttentionalVector(settings) if is_attending else None

    def look(self, hidden_RLD: Tensor, memory_BSD: Tensor, key_BSD: Tensor, mask: Tensor) -> Tensor:
        """Return the layer's output, R L D; the rows of a sentence share its memory."""
        if self.cross_attention is None or self.attentional is None:
            return hidden_RLD
        hidden_BLD = hidden_RLD
        if len(memory_BSD) != len(hidden_RLD):
            hidden_BLD = hidden_RLD.reshape(len(memory_BSD), -1, hidden_RLD.size(-1))
        context_BLD = self.cross_attention(hidden_BLD, memory_BSD, key_BSD, mask)
        return self.attentional(context_BLD, hidden_BLD).view_as(hidden_RLD)
