"""The whole Transformer (paper 3.1, figure 1), for training and for decoding step by step.

Letters: B sentences; S source positions; T target positions; R rows of a search; Q new
positions; D model width; V vocabulary.
"""

from typing import cast

import torch
from torch import Tensor, nn

from ..config import Model
from ..foundation.tap import tap
from .encoder_decoder import EncoderDecoder, make_tables
from .kv_cache import DecodingState
from .layers import DecoderLayer, EncoderLayer
from .masks import cached_mask, padding_mask, target_mask
from .residual import make_norm
from .variants import make_embedding
from .variants.ssru import make_layer


class Transformer(EncoderDecoder):
    """The encoder and the decoder.

    Raises ValueError where vocabularies of different size are to be tied three ways.
    """

    def __init__(self, settings: Model, source_vocabulary: int, target_vocabulary: int):
        super().__init__()
        self.settings = settings
        sources, targets, outputs = make_tables(settings, source_vocabulary, target_vocabulary)
        self.source_embedding = make_embedding(sources, settings)
        self.target_embedding = make_embedding(targets, settings)
        self.encoder = nn.ModuleList(EncoderLayer(settings) for _ in range(settings.encoder_layers))
        self.decoder = nn.ModuleList(make_layer(settings) for _ in range(settings.decoder_layers))
        is_pre = settings.norm == "pre"  # which leaves the residual stream unnormalized
        self.encoder_norm = make_norm(settings) if is_pre else nn.Identity()
        self.decoder_norm = make_norm(settings) if is_pre else nn.Identity()
        self.output_table = outputs  # 3.4: the linear map before the softmax shares its matrix
        bias_V = nn.Parameter(torch.zeros(target_vocabulary))
        self.output_bias = bias_V if settings.output_bias else None  # not in the paper
        for parameter in (*self.encoder.parameters(), *self.decoder.parameters()):
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def decode(self, target_BT: Tensor, memory_BSD: Tensor, source_mask: Tensor) -> Tensor:
        """Return the decoder's output, B T D."""
        mask = target_mask(target_BT, self.settings.attention)
        y_BTD = self.target_embedding(target_BT)
        for layer in self.decoder:
            y_BTD = layer(y_BTD, memory_BSD, mask, source_mask)
        return tap(self, "last", self.decoder_norm(y_BTD))

    def encode(self, source_BS: Tensor, source_mask: Tensor) -> Tensor:
        """Return the encoder's output, which is called memory, B S D."""
        x_BSD = self.source_embedding(source_BS)
        for layer in self.encoder:
            x_BSD = layer(x_BSD, source_mask)
        return tap(self, "memory", self.encoder_norm(x_BSD))

    # The search protocol (decode/protocol.py): one token at a time.

    def start(self, source_BS: Tensor) -> DecodingState:
        """Encode the sources; return a state with the keys and values of memory of each layer."""
        source_mask = padding_mask(source_BS)
        memory_BSD = self.encode(source_BS, source_mask)
        layers = [cast(DecoderLayer, layer).make_cache(memory_BSD) for layer in self.decoder]
        length_R = torch.zeros(len(source_BS), dtype=torch.long, device=source_BS.device)
        return DecodingState(source_mask, layers, length_R, self.settings.positions.max_positions)

    def step(self, tokens_RQ: Tensor, state: DecodingState) -> Tensor:
        """Append tokens to each row; return the logits of the token after each, R Q V, in fp32."""
        position_RQ = state.make_room(tokens_RQ.size(1))
        mask = cached_mask(state.length_R, tokens_RQ.size(1), state.capacity)
        y_RQD = self.target_embedding(tokens_RQ, position_RQ)
        for layer, cache in zip(self.decoder, state.layers, strict=True):
            assert isinstance(layer, DecoderLayer)
            y_RQD = layer.step(y_RQD, cache, mask, state.source_mask)
        state.length_R = state.length_R + tokens_RQ.size(1)
        return self.logits(tap(self, "last", self.decoder_norm(y_RQD))).float()
