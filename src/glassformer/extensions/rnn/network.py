"""The recurrent encoder-decoder of Sutskever et al. (2014), with Luong et al.'s attention (2015).

Without attention, all that the decoder learns of the source is the state in which the encoder ends.

Letters: B sentences; S source positions; T target positions; R rows of a search; Q new
positions; D model width; N all numbers of a row's state; V vocabulary.
"""

import torch
from torch import Tensor, nn

from glassformer.config import Model
from glassformer.foundation.tap import each_position, tap
from glassformer.model.encoder_decoder import EncoderDecoder, make_tables
from glassformer.model.masks import padding_mask
from glassformer.model.positions import check_reach

from .cells import State
from .layers import RecurrentDecoderLayer, RecurrentEncoderLayer, WordEmbedding
from .state import EncoderOutput, RecurrentState

States = tuple[State, ...]  # of each layer; with input feeding, then the last attentional vector


class RecurrentNetwork(EncoderDecoder):
    """The encoder and the decoder.

    Raises ValueError where vocabularies of different size are to be tied three ways.
    """

    def __init__(self, settings: Model, source_vocabulary: int, target_vocabulary: int):
        super().__init__()
        self.settings = settings
        sources, targets, outputs = make_tables(settings, source_vocabulary, target_vocabulary)
        self.source_embedding = WordEmbedding(sources, settings)
        self.target_embedding = WordEmbedding(targets, settings)
        layers = range(settings.encoder_layers)
        self.encoder = nn.ModuleList(RecurrentEncoderLayer(settings) for _ in layers)
        self.decoder = nn.ModuleList(RecurrentDecoderLayer(settings, n) for n in layers)
        self.dropout = nn.Dropout(settings.dropout)  # between layers
        self.output_dropout = nn.Dropout(settings.dropout)
        self.output_table = outputs
        bias_V = nn.Parameter(torch.zeros(target_vocabulary))
        self.output_bias = bias_V if settings.output_bias else None

    def encode(self, source_BS: Tensor, source_mask: Tensor) -> EncoderOutput:
        """Return the encoder's hidden states, and the last one of each layer."""
        check_reach(source_BS.size(1), self.settings.positions.max_positions)
        x_BSD, final = self.source_embedding(source_BS), list[State]()
        for number, layer in enumerate(self.encoder):
            if number:
                x_BSD = self.dropout(x_BSD)
            x_BSD, last = layer(x_BSD, source_mask[:, 0, 0])
            final.append(last)
        attention, key_BSD = self.top.cross_attention, x_BSD
        if attention is not None:
            key_BSD = attention.keys(x_BSD)
        return EncoderOutput(x_BSD, key_BSD, tuple(final))

    def decode(self, target_BT: Tensor, memory: EncoderOutput, source_mask: Tensor) -> Tensor:
        """Return the decoder's output, B T D: one step after another."""
        check_reach(target_BT.size(1), self.settings.positions.max_positions)
        states, results = self.begin(memory, len(target_BT)), list[Tensor]()
        for position in each_position(self, range(target_BT.size(1))):
            token_B1 = target_BT[:, position, None]
            y_B1D, states = self.advance(token_B1, states, memory, source_mask)
            results.append(y_B1D)
        return torch.cat(results, 1)

    def begin(self, memory: EncoderOutput, rows: int) -> States:
        """Return the decoder's states before the first token, the same for each row."""
        states = tuple(
            tuple(x.expand(rows, -1, -1) if len(x) != rows else x for x in state)
            for state in memory.final
        )
        if self.settings.rnn.input_feeding:
            states = (*states, (torch.zeros_like(states[0][0]),))
        return states

    def advance(
        self, token_R1: Tensor, states: States, memory: EncoderOutput, source_mask: Tensor
    ) -> tuple[Tensor, States]:
        """Return the decoder's output for one token, R 1 D, and the states after it."""
        x_R1D, after = self.target_embedding(token_R1), list[State]()
        if self.settings.rnn.input_feeding:
            x_R1D = tap(self, "fed", torch.cat((x_R1D, states[-1][0]), -1))
        for number, layer in enumerate(self.decoder):
            assert isinstance(layer, RecurrentDecoderLayer)
            if number:
                x_R1D = self.dropout(x_R1D)
            _, state = layer.cell(x_R1D, states[number])
            after.append(state)
            x_R1D = state[0]
        y_R1D = self.top.look(x_R1D, memory.memory_BSD, memory.key_BSD, source_mask)
        y_R1D = tap(self, "last", self.output_dropout(y_R1D))
        if self.settings.rnn.input_feeding:
            after.append((y_R1D,))
        return y_R1D, tuple(after)

    @property
    def top(self) -> RecurrentDecoderLayer:
        """Return the decoder's topmost layer."""
        top = self.decoder[-1]
        assert isinstance(top, RecurrentDecoderLayer)
        return top

    # The search protocol (decode/protocol.py): one token at a time.

    def start(self, source_BS: Tensor) -> RecurrentState:
        """Encode the sources; return a state in which nothing is written."""
        source_mask = padding_mask(source_BS)
        encoded = self.encode(source_BS, source_mask)
        history_RCN = _pack(self.begin(encoded, len(source_BS)))
        length_R = torch.zeros(len(source_BS), dtype=torch.long, device=source_BS.device)
        longest = self.settings.positions.max_positions
        return RecurrentState(encoded, source_mask, history_RCN, length_R, longest)

    def step(self, tokens_RQ: Tensor, state: RecurrentState) -> Tensor:
        """Append tokens to each row; return the logits of the token after each, R Q V, in fp32."""
        check_reach(int(state.length_R.max()) + tokens_RQ.size(1), state.longest)
        results = []
        for number in each_position(self, range(tokens_RQ.size(1))):
            token_R1, before = tokens_RQ[:, number, None], self._unpack(state.read())
            y_R1D, after = self.advance(token_R1, before, state.encoded, state.source_mask)
            state.write(_pack(after))
            results.append(y_R1D)
        return self.logits(torch.cat(results, 1)).float()

    def _unpack(self, state_R1N: Tensor) -> States:
        """Return what `_pack` put side by side."""
        each = self.top.cell.states
        parts = state_R1N.split(self.settings.d_model, -1)
        layers = range(0, each * len(self.decoder), each)
        states = tuple(parts[first : first + each] for first in layers)
        return (*states, parts[-1:]) if self.settings.rnn.input_feeding else states


def _pack(states: States) -> Tensor:
    """Return the states of all layers side by side, R 1 N."""
    return torch.cat([x for state in states for x in state], -1)
