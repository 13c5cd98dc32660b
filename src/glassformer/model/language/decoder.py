"""The decoder alone: a causal language model, as GPT is one (Radford et al. 2018).

It predicts each token of a text from those before it. There is no source, so that its layers are
those of the encoder under the decoder's causal mask.

Letters: B sentences; S source positions, which are not read; T positions of the text; R rows of a
search; Q new positions; D model width; V vocabulary.
"""

import torch
from torch import Tensor, nn

from ...config import Model
from ...foundation.tap import tap
from ..encoder_decoder import EncoderDecoder, make_tables
from ..kv_cache import DecodingState, KVCache
from ..layers import EncoderLayer
from ..masks import cached_mask, padding_mask, target_mask
from ..residual import make_norm
from ..variants import make_embedding


class CausalLayer(EncoderLayer):
    """A decoder layer without cross-attention: an encoder layer that decodes step by step."""

    def __init__(self, settings: Model):
        super().__init__(settings, is_causal=True)

    def step(self, y_RQD: Tensor, cache: KVCache, mask: Tensor) -> Tensor:
        """Return the output for the newest positions, R Q D; `cache` has the keys and values of all
        others and gets those of the newest."""

        y_RQD = self.self_attention_residual(
            y_RQD, lambda y: self.self_attention.step(y, cache, mask)
        )
        return self.feed_forward_residual(y_RQD, self.feed_forward)


class DecoderNetwork(EncoderDecoder):
    """The decoder of a Transformer without an encoder; its text is the target."""

    def __init__(self, settings: Model, source_vocabulary: int, target_vocabulary: int):
        super().__init__()
        self.settings = settings
        _, table, outputs = make_tables(settings, target_vocabulary, target_vocabulary)
        self.target_embedding = make_embedding(table, settings)
        self.decoder = nn.ModuleList(CausalLayer(settings) for _ in range(settings.decoder_layers))
        is_pre = settings.norm == "pre"
        self.decoder_norm = make_norm(settings) if is_pre else nn.Identity()
        self.output_table = outputs
        bias_V = nn.Parameter(torch.zeros(target_vocabulary))
        self.output_bias = bias_V if settings.output_bias else None
        for parameter in self.decoder.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def encode(self, source_BS: Tensor, source_mask: Tensor) -> None:
        """Return nothing: there is no source."""

    def decode(self, target_BT: Tensor, memory: None, source_mask: Tensor) -> Tensor:
        """Return the decoder's output, B T D."""
        mask = target_mask(target_BT, self.settings.attention)
        y_BTD = self.target_embedding(target_BT)
        for layer in self.decoder:
            y_BTD = layer(y_BTD, mask)
        return tap(self, "last", self.decoder_norm(y_BTD))

    # The search protocol (decode/protocol.py): one token at a time.

    def start(self, source_BS: Tensor) -> DecodingState:
        """Return a state with empty caches, a row for each of the sources."""
        rows, settings, layers = len(source_BS), self.settings, list[KVCache]()
        for layer in self.decoder:
            assert isinstance(layer, CausalLayer)
            shape = rows, layer.self_attention.cached_heads, 0, settings.width
            empty = self.output_table.weight.new_empty(shape)
            layers.append(KVCache((empty, empty), (empty, empty)))
        length_R = torch.zeros(rows, dtype=torch.long, device=source_BS.device)
        no_mask = padding_mask(source_BS[:, :0])
        return DecodingState(no_mask, layers, length_R, settings.positions.max_positions)

    def step(self, tokens_RQ: Tensor, state: DecodingState) -> Tensor:
        """Append tokens to each row; return the logits of the token after each, R Q V, in fp32."""
        position_RQ = state.make_room(tokens_RQ.size(1))
        mask = cached_mask(state.length_R, tokens_RQ.size(1), state.capacity)
        y_RQD = self.target_embedding(tokens_RQ, position_RQ)
        for layer, cache in zip(self.decoder, state.layers, strict=True):
            assert isinstance(layer, CausalLayer)
            y_RQD = layer.step(y_RQD, cache, mask)
        state.length_R = state.length_R + tokens_RQ.size(1)
        return self.logits(tap(self, "last", self.decoder_norm(y_RQD))).float()
