"""The encoder alone: a network that reads a text both ways, as BERT does (Devlin et al. 2019).

It predicts tokens that were hidden, from those on both sides. Its text begins with the class token,
`config.CLASS`; with labels, the network predicts the class of the text from that position instead.

Letters: B sentences; S positions of the text, the class token first; T target positions, which are
not read; D model width; V vocabulary, or the classes and one for padding.
"""

from typing import Never

import torch
from torch import Tensor, nn

from ...config import Model
from ...foundation.tap import tap
from ..encoder_decoder import EncoderDecoder, make_tables
from ..layers import EncoderLayer
from ..masks import padding_mask
from ..residual import make_norm
from ..variants import make_embedding


class EncoderNetwork(EncoderDecoder):
    """The encoder of a Transformer without a decoder; its text is the source.

    Its logits are those of each source position. It cannot write, so it has no search.
    """

    def __init__(self, settings: Model, source_vocabulary: int, target_vocabulary: int):
        super().__init__()
        self.settings = settings
        table, _, outputs = make_tables(settings, source_vocabulary, source_vocabulary)
        if settings.labels:  # row 0 is that of padding, as in every table
            outputs = nn.Embedding(1 + len(settings.labels), settings.d_model)
            nn.init.normal_(outputs.weight, std=settings.d_model**-0.5)
        self.source_embedding = make_embedding(table, settings)
        self.encoder = nn.ModuleList(EncoderLayer(settings) for _ in range(settings.encoder_layers))
        is_pre = settings.norm == "pre"
        self.encoder_norm = make_norm(settings) if is_pre else nn.Identity()
        self.output_table = outputs
        bias_V = nn.Parameter(torch.zeros(outputs.num_embeddings))
        self.output_bias = bias_V if settings.output_bias else None
        for parameter in self.encoder.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def read(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Return what the last linear map reads, B S D; the target is not read."""
        return self.encode(source_BS, padding_mask(source_BS))

    def encode(self, source_BS: Tensor, source_mask: Tensor) -> Tensor:
        """Return the encoder's output, B S D."""
        x_BSD = self.source_embedding(source_BS)
        for layer in self.encoder:
            x_BSD = layer(x_BSD, source_mask)
        return tap(self, "memory", self.encoder_norm(x_BSD))

    def decode(self, target_BT: Tensor, memory: Tensor, source_mask: Tensor) -> Never:
        """Raise ValueError."""
        raise self._explain()

    def start(self, source_BS: Tensor) -> Never:
        """Raise ValueError."""
        raise self._explain()

    def step(self, tokens_RQ: Tensor, state: Never) -> Never:
        """Raise ValueError."""
        raise self._explain()

    def _explain(self) -> ValueError:
        return ValueError("network=encoder reads a text both ways, so it writes none")
