"""The packed network: the same mathematics as `model/`, in fewer and larger operations.

Letters: B sentences; S source positions; R rows of a search; Q new tokens of a row; N = R * Q
queries; T target positions; D model width; H heads; K width of one head; V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import embedding, layer_norm

from ..config import PAD, Model
from ..kernels.lookup import Places, dot_rows, sum_rows
from ..kernels.packed import Linear, pack_linear
from ..model.positions import check_reach, sinusoids
from .slot_cache import CachedLayer, SlotCache, View, hide

Read = Callable[[str], Tensor]  # returns a tensor of the model by its name
TOGETHER = 1024  # source positions encoded at once


class Engine:
    """The encoder and decoder with packed weights; implements the search protocol.

    read: returns each weight by its name in the model; called for one after another, so that
    few tensors are held beside the packed ones. precision: fp32, bf16 or int8.
    """

    def __init__(self, settings: Model, read: Read, precision: str = "fp32"):
        self.settings, self.precision = settings, precision
        self.low = torch.float32 if precision == "fp32" else torch.bfloat16
        encoder, decoder = range(settings.encoder_layers), range(settings.decoder_layers)
        self.encoder = [
            PackedEncoderLayer(settings, read, f"encoder.{i}", precision) for i in encoder
        ]
        self.decoder = [
            PackedDecoderLayer(settings, read, f"decoder.{i}", precision) for i in decoder
        ]
        self.encoder_norm, self.decoder_norm = (
            PackedNorm(settings, read, f"{side}_norm") if settings.norm == "pre" else None
            for side in ("encoder", "decoder")
        )
        self.source, self.target = _tables(settings, read)
        bias_V = read("output_bias") if settings.output_bias else None
        self.project = pack_linear(read("output_table.weight"), bias_V, precision)

    def start(self, source_BS: Tensor) -> SlotCache:
        """Encode the sources; return a state with the keys and values of memory of each layer.

        A few sentences are encoded at a time: their padding is cut off, and their activations
        stay in the processor's cache.
        """
        batch, size = source_BS.shape
        heads, width = self.settings.heads, self.settings.width
        length_B = (source_BS != PAD).sum(1)
        layers = [CachedLayer.make(batch, size, heads, width, self.low) for _ in self.decoder]
        first = 0
        for lengths in split_heads(length_B.tolist()):
            part_BS = source_BS[first : first + len(lengths), : max(lengths)]
            memory_ND = self._encode(part_BS)
            for layer, tables in zip(self.decoder, layers, strict=True):
                tables.remember(layer.memory(memory_ND), first, len(lengths), batch)
            first += len(lengths)
        return SlotCache(layers, length_B, heads, self.settings.positions.max_positions)

    def step(self, tokens_RQ: Tensor, state: SlotCache) -> Tensor:
        """Append tokens to each row; return the logits of the token after each, R Q V, in fp32."""
        rows, queries = tokens_RQ.shape
        check_reach(int(state.length_R.max()) + queries, state.longest)
        position_RQ, past = state.make_room(queries)
        memory = state.look_at_memory(queries)
        y_ND = self.target(tokens_RQ.flatten(), position_RQ.flatten())
        for layer, tables in zip(self.decoder, state.layers, strict=True):
            y_ND = layer(y_ND, tables, state.used, past, memory)
        if self.decoder_norm:
            y_ND = self.decoder_norm(y_ND)
        state.length_R = state.length_R + queries
        return self.project(y_ND).float().view(rows, queries, -1)

    def keep(self, rows: Tensor, state: SlotCache) -> None:
        state.keep(rows)

    def admit(self, source_BS: Tensor, state: SlotCache) -> None:
        state.join(self.start(source_BS))

    def rewind(self, length_R: Tensor, state: SlotCache) -> None:
        state.length_R = length_R

    def _encode(self, source_BS: Tensor) -> Tensor:
        batch, size = source_BS.shape
        check_reach(size, self.settings.positions.max_positions)
        mask = hide(source_BS == PAD)[:, None]
        x_ND = self.source(source_BS.flatten(), torch.arange(size).repeat(batch))
        for layer in self.encoder:
            x_ND = layer(x_ND, batch, mask)
        return self.encoder_norm(x_ND) if self.encoder_norm else x_ND


class PackedNorm:
    """Layer normalisation in fp32."""

    def __init__(self, settings: Model, read: Read, name: str):
        self.shape, self.epsilon = (settings.d_model,), settings.norm_epsilon
        self.weight_D, self.bias_D = read(f"{name}.weight").clone(), read(f"{name}.bias").clone()

    def __call__(self, x_ND: Tensor) -> Tensor:
        return layer_norm(x_ND, self.shape, self.weight_D, self.bias_D, self.epsilon)


class PackedEmbedding:
    """The sum of scaled token embeddings and position vectors, N D, in fp32."""

    def __init__(self, table_VD: Tensor, positions_LD: Tensor):
        self.table_VD, self.positions_LD = table_VD, positions_LD
        self.scale = math.sqrt(table_VD.size(1))

    def __call__(self, ids_N: Tensor, position_N: Tensor) -> Tensor:
        words_ND = embedding(ids_N, self.table_VD).float()
        return words_ND.mul_(self.scale).add_(embedding(position_N, self.positions_LD))


class Sublayers:
    """The parts that both kinds of layer have: self-attention's maps, residual connections (3.1)
    and the feed-forward network (3.3)."""

    def __init__(self, settings: Model, read: Read, name: str, precision: str):
        self.heads, self.width = settings.heads, settings.width
        self.is_post = settings.norm == "post"
        inner, outer = (_both(read, f"{name}.feed_forward.{each}") for each in ("inner", "outer"))
        self.inner = pack_linear(*inner, precision, settings.activation)
        self.outer = pack_linear(*outer, precision)
        self.norm = PackedNorm(settings, read, f"{name}.feed_forward_residual.norm")
        self.self_norm = PackedNorm(settings, read, f"{name}.self_attention_residual.norm")
        attention = f"{name}.self_attention"
        self.query_key_value = _stack(
            read, attention, ("query", "key", "value"), self.width, precision
        )
        self.output = pack_linear(*_both(read, f"{attention}.to_output"), precision)

    def _think(self, x_ND: Tensor) -> Tensor:
        return self._go(x_ND, self.norm, lambda x_ND: self.outer(self.inner(x_ND)))

    def _go(self, x_ND: Tensor, norm: PackedNorm, sublayer: Linear) -> Tensor:
        """Apply a sub-layer in a residual connection, post- or pre-norm; the stream is fp32."""
        if self.is_post:
            return norm(x_ND + sublayer(x_ND))
        return x_ND + sublayer(norm(x_ND))


class PackedEncoderLayer(Sublayers):
    """Self-attention, then the feed-forward network."""

    def __call__(self, x_ND: Tensor, batch: int, mask: Tensor) -> Tensor:
        def look(x_ND: Tensor) -> Tensor:
            all_heads = self.query_key_value(x_ND).view(batch, -1, 3, self.heads, self.width)
            q_BHSK, k_BHSK, v_BHSK = all_heads.permute(2, 0, 3, 1, 4)
            scores_BHSS = (q_BHSK @ k_BHSK.mT).float()
            weights_BHSS = scores_BHSS.add_(mask).softmax(-1).to(v_BHSK.dtype)
            return self.output((weights_BHSS @ v_BHSK).transpose(1, 2).reshape(len(x_ND), -1))

        return self._think(self._go(x_ND, self.self_norm, look))


class PackedDecoderLayer(Sublayers):
    """Self-attention, cross-attention and the feed-forward network."""

    def __init__(self, settings: Model, read: Read, name: str, precision: str):
        super().__init__(settings, read, name, precision)
        attention = f"{name}.cross_attention"
        self.query = _stack(read, attention, ("query",), self.width, precision)
        self.memory = _stack(read, attention, ("key", "value"), self.width, precision)
        self.cross_output = pack_linear(*_both(read, f"{attention}.to_output"), precision)
        self.cross_norm = PackedNorm(settings, read, f"{name}.cross_attention_residual.norm")

    def __call__(
        self, y_ND: Tensor, tables: CachedLayer, used: int, past: View, memory: tuple[Places, View]
    ) -> Tensor:
        def look_back(y_ND: Tensor) -> Tensor:
            q_ND, k_ND, v_ND = self.query_key_value(y_ND).chunk(3, 1)
            stop = used * self.heads
            start = stop - len(y_ND) * self.heads
            tables.keys[start:stop].view(k_ND.shape).copy_(k_ND)
            tables.values[start:stop].view(v_ND.shape).copy_(v_ND)
            q_NK = q_ND.to(tables.keys.dtype).reshape(-1, self.width)
            scores_NT = dot_rows(q_NK, tables.keys, past.places)
            return self.output(self._read(scores_NT, tables.values, past))

        def look_at_source(y_ND: Tensor) -> Tensor:
            q_NK = self.query(y_ND).view(-1, self.width)
            places, view = memory
            scores_NS = sum_rows(q_NK, tables.memory_keys, places)
            if scores_NS.size(1) > view.places.index_NT.size(1):
                scores_NS = scores_NS[:, : view.places.index_NT.size(1)]
            return self.cross_output(self._read(scores_NS, tables.memory_values, view))

        y_ND = self._go(y_ND, self.self_norm, look_back)
        y_ND = self._go(y_ND, self.cross_norm, look_at_source)
        return self._think(y_ND)

    def _read(self, scores_NT: Tensor, values: Tensor, view: View) -> Tensor:
        """Return the weighted sum of values, N D; `scores_NT` has a row for each query and head."""
        if view.mask is not None:
            scores_NHT = scores_NT.view(-1, self.heads, scores_NT.size(1))
            scores_NT = (scores_NHT + view.mask).view(scores_NT.shape)
        weights_NT = scores_NT.softmax(-1, torch.float32)
        return sum_rows(weights_NT, values, view.places).view(-1, self.heads * self.width)


def split_heads(lengths: list[int], together: int = TOGETHER) -> Iterator[list[int]]:
    """Yield the lengths in groups of neighbours, each of at most `together` padded positions.

    A single longer sentence is a group of its own.
    """
    part: list[int] = []
    for length in lengths:
        if part and max(*part, length) * (len(part) + 1) > together:
            yield part
            part = []
        part.append(length)
    yield part


def _both(read: Read, name: str) -> tuple[Tensor, Tensor]:
    return read(f"{name}.weight"), read(f"{name}.bias")


def _stack(read: Read, name: str, parts: tuple[str, ...], width: int, precision: str) -> Linear:
    """Return several linear maps of the same input as one; the query's includes 1/√d_k."""
    weights, biases = zip(*(_both(read, f"{name}.to_{part}") for part in parts), strict=True)
    if parts[0] == "query":
        scale = 1 / math.sqrt(width)
        weights, biases = (weights[0] * scale, *weights[1:]), (biases[0] * scale, *biases[1:])
    return pack_linear(torch.cat(weights), torch.cat(biases), precision)


def _tables(settings: Model, read: Read) -> tuple[PackedEmbedding, PackedEmbedding]:
    """Return the source and the target embedding, with one table where tie=three-way."""
    made = []
    words: list[Tensor] = []
    for side in ("source", "target"):
        if not (words and settings.tie == "three-way"):
            words.append(read(f"{side}_embedding.table.weight").clone())
        if settings.positions.layout == "learned":
            positions_LD = read(f"{side}_embedding.positions_LD").clone()
        else:
            positions_LD = sinusoids(settings.positions, settings.d_model).float()
        made.append(PackedEmbedding(words[-1], positions_LD))
    return made[0], made[1]
