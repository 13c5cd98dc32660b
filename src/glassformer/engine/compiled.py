"""The network in int8 and in C: each step is one call. It implements the search protocol.

The plain twin is `Engine` in int8.

Letters: B sentences; S source positions; R rows of a search; Q new tokens of a row; N = R * Q
queries, or tokens of all sources; D model width; V vocabulary.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import torch
from torch import Tensor

from ..config import PAD, Model
from ..decode import Best
from ..kernels.calls import point
from ..kernels.int8 import (
    ACTIVATIONS,
    LayerStruct,
    LinearStruct,
    NormStruct,
    SideStruct,
    StoreStruct,
    get_library,
    has_int8_tiles,
)
from ..kernels.topk import can_topk, request_topk
from ..model.positions import check_reach, sinusoids
from .engine import Read, split_heads
from .paged_cache import Memory, PagedCache, StepQueries

ATTENTION = ("query", "key", "value")
TOGETHER = 256  # source positions encoded at once, so that their activations stay in a core's cache
SMALL = 1 << 22  # multiplications: with fewer, threads wait longer for each other than they compute


class Compiled:
    """The packed network in C, with int8 products throughout, and keys and values in bf16."""

    precision = "int8"
    refills = True  # sentences that join cost nothing but their encoding

    def __init__(self, settings: Model, read: Read):
        self.settings, self.store, self.library = settings, StoreStruct(), get_library()
        self.width = 2 * settings.heads * settings.width  # of a row of keys and values, in numbers
        read = _expect(settings, read)
        made: dict[str, int] = {}
        self.encoder = self._build(settings, read, "encoder", "source", made)
        self.decoder = self._build(settings, read, "decoder", "target", made)
        bias_V = read("output_bias") if settings.output_bias else None
        table_VD = read("output_table.weight")
        self.vocabulary, self.project = len(table_VD), self.store.pack(table_VD, bias_V)
        model, every = settings.d_model, settings.heads * settings.width
        attention, forward = 4 * model * every, 2 * model * settings.d_ff
        self.read_cost = settings.encoder_layers * (attention + forward)  # of one token
        self.step_cost = settings.decoder_layers * (2 * attention + forward) + table_VD.numel()

    def start(self, source_BS: Tensor) -> PagedCache:
        """Encode the sources; return a state with the keys and values of memory of each layer."""
        length_B = (source_BS != PAD).sum(1)
        memory: list[Memory] = []
        for lengths in split_heads(length_B.tolist(), TOGETHER):
            first = len(memory)
            check_reach(max(lengths), self.settings.positions.max_positions)
            part_BS = source_BS[first : first + len(lengths), : max(lengths)]
            memory += self._encode(part_BS, lengths)
        shape = self.settings.decoder_layers, self.width
        return PagedCache(memory, length_B, shape, self.settings.positions.max_positions)

    def step(self, tokens_RQ: Tensor, state: PagedCache) -> Tensor:
        """Append tokens to each row; return the logits of the token after each, R Q V, in fp32."""
        rows, queries = tokens_RQ.shape
        step = self._make_room(tokens_RQ, state)
        logits = torch.empty(rows * queries, self.project.outputs)
        self._run(step, state, (point(logits), logits.stride(0), None))
        if step.answer_R is not None:  # rows before the first shared one are in place
            there = int((step.answer_R == torch.arange(rows)).sum())
            logits[there:] = logits[step.answer_R[there:]]
        state.length_R = state.length_R + queries
        return logits[:, : self.vocabulary].view(rows, queries, -1)

    def find_best(self, tokens_R1: Tensor, state: PagedCache, size: int, first: int) -> Best | None:
        """Return the best tokens of each row, as the search protocol's `Finder` defines it.

        The logits never leave the processor's cache.
        """
        if not can_topk(self.vocabulary, size, first):
            return None
        step = self._make_room(tokens_R1, state)
        request, best = request_topk(len(step.token_N), self.vocabulary, size, first)
        self._run(step, state, (None, 0, ctypes.byref(request)))
        state.length_R = state.length_R + 1
        return Best(*best if step.answer_R is None else (each[step.answer_R] for each in best))

    def _make_room(self, tokens_RQ: Tensor, state: PagedCache) -> StepQueries:
        rows, queries = tokens_RQ.shape
        if rows != len(state.length_R):
            raise ValueError(f"step: tokens for {rows} rows, but there are {len(state.length_R)}")
        check_reach(int(state.length_R.max()) + queries, state.longest)
        return state.make_room(tokens_RQ)

    def _run(self, step: StepQueries, state: PagedCache, wanted: tuple[Any, ...]) -> None:
        """Compute one step in C.

        wanted: the address and row stride of the logits, or None, 0 and a request for the best.
        """
        queries = len(step.token_N)
        threads = count_threads(queries * self.step_cost)
        scratch = state.get_scratch(self._measure(self.decoder, queries, step.longest, threads))
        done = self.library.decode_step(
            ctypes.byref(self.decoder),
            ctypes.byref(self.project),
            queries,
            point(step.token_N, torch.long),
            point(step.position_N, torch.long),
            point(step.lists),
            point(step.list_N),
            point(step.count_N),
            point(step.new_N),
            point(step.tables),
            step.tables.stride(0),
            point(step.address_N),
            point(step.apart_N),
            point(step.length_N),
            step.longest,
            *wanted,
            point(scratch),
            threads,
        )
        _check(done)

    def keep(self, rows: Tensor, state: PagedCache) -> None:
        state.keep(rows)

    def admit(self, source_BS: Tensor, state: PagedCache) -> None:
        state.join(self.start(source_BS))

    def rewind(self, length_R: Tensor, state: PagedCache) -> None:
        state.length_R = length_R

    def _encode(self, source_BS: Tensor, lengths: list[int]) -> list[Memory]:
        """Encode sources without their padding: all tokens lie one after the other."""
        is_there_BS = source_BS != PAD
        ids_N = source_BS[is_there_BS]
        position_N = is_there_BS.nonzero()[:, 1].contiguous()
        start = torch.tensor([0, *lengths]).cumsum(0)
        if len(ids_N) != start[-1]:
            raise ValueError("start: a source has padding before its end")
        threads, longest = count_threads(len(ids_N) * self.read_cost), max(lengths)
        scratch = torch.empty(
            self._measure(self.encoder, len(ids_N), longest, threads), dtype=torch.uint8
        )
        table = torch.empty(len(ids_N), self.width, dtype=torch.bfloat16)
        memory = table.new_empty(self.settings.decoder_layers, *table.shape)
        there = self.library.decode_read(
            ctypes.byref(self.encoder),
            ctypes.byref(self.decoder),
            point(ids_N, torch.long),
            point(position_N),
            point(start),
            len(lengths),
            longest,
            point(table),
            point(memory),
            point(scratch),
            threads,
        )
        _check(there)
        address, apart = memory.data_ptr(), memory.stride(0)
        row = self.width * memory.element_size()
        return [Memory(memory, address + first * row, apart) for first in start[:-1].tolist()]

    def _measure(self, side: SideStruct, rows: int, longest: int, threads: int) -> int:
        return int(self.library.decode_room(ctypes.byref(side), rows, longest, threads))

    # The structures that the C library reads.

    def _build(
        self, settings: Model, read: Read, name: str, side: str, made: dict[str, int]
    ) -> SideStruct:
        count = settings.encoder_layers if name == "encoder" else settings.decoder_layers
        layers = [
            self._layer(settings, read, f"{name}.{i}", name == "decoder") for i in range(count)
        ]
        table = "source" if settings.tie == "three-way" else side
        if table not in made:
            words_VD = read(f"{table}_embedding.table.weight") * math.sqrt(settings.d_model)
            made[table] = self.store.point(words_VD, torch.bfloat16)
            made[f"{table} size"] = len(words_VD)
        if settings.positions.layout == "learned":
            positions_LD = read(f"{side}_embedding.positions_LD").clone()
        else:
            positions_LD = sinusoids(settings.positions, settings.d_model).float()
        return SideStruct(
            settings.width,
            settings.d_model,
            settings.d_ff,
            settings.heads,
            settings.norm == "post",
            ACTIVATIONS[settings.activation],
            has_int8_tiles(),
            count,
            settings.norm_epsilon,
            self.store.layers(layers),
            self._norm(read, f"{name}_norm") if settings.norm == "pre" else NormStruct(),
            made[table],
            self.store.point(positions_LD),
            made[f"{table} size"],
            len(positions_LD),
        )

    def _layer(self, settings: Model, read: Read, name: str, decodes: bool) -> LayerStruct:
        def attention(kind: str, parts: tuple[str, ...]) -> LinearStruct:
            names = [f"{name}.{kind}_attention.to_{part}" for part in parts]
            weights = [read(f"{each}.weight") for each in names]
            biases = [read(f"{each}.bias") for each in names]
            if parts[0] == "query":  # the query's weights include 1/√d_k
                scale = 1 / math.sqrt(settings.width)
                weights[0], biases[0] = weights[0] * scale, biases[0] * scale
            return self.store.pack(torch.cat(weights), torch.cat(biases))

        def plain(part: str) -> LinearStruct:
            path = f"{name}.feed_forward.{part}"
            return self.store.pack(read(f"{path}.weight"), read(f"{path}.bias"))

        layer = LayerStruct(
            query_key_value=attention("self", ATTENTION),
            output=attention("self", ("output",)),
            inner=plain("inner"),
            outer=plain("outer"),
            self_norm=self._norm(read, f"{name}.self_attention_residual.norm"),
            norm=self._norm(read, f"{name}.feed_forward_residual.norm"),
        )
        if decodes:
            layer.query = attention("cross", ATTENTION[:1])
            layer.memory = attention("cross", ATTENTION[1:])
            layer.cross_output = attention("cross", ("output",))
            layer.cross_norm = self._norm(read, f"{name}.cross_attention_residual.norm")
        return layer

    def _norm(self, read: Read, name: str) -> NormStruct:
        return self.store.norm(read(f"{name}.weight"), read(f"{name}.bias"))


def count_threads(products: int) -> int:
    """Return the number of threads that share so many multiplications."""
    return torch.get_num_threads() if products > SMALL else 1


def _expect(settings: Model, read: Read) -> Read:
    """Return `read` with a check: ValueError for a shape that contradicts the settings.

    The C library relies on the settings.
    """
    every, model, inside = settings.heads * settings.width, settings.d_model, settings.d_ff
    shapes = dict.fromkeys(("to_query", "to_key", "to_value"), (every, model))
    shapes |= {"to_output": (model, every), "inner": (inside, model), "outer": (model, inside)}

    def read_checked(name: str) -> Tensor:
        x, part = read(name), name.split(".")[-2:][0]
        outputs, inputs = shapes.get(part, (len(x) if x.dim() == 2 else model, model))
        shape = (outputs, inputs) if x.dim() == 2 else (outputs,)
        if x.shape != shape and part != "output_bias":
            raise ValueError(f"{name} has shape {[*x.shape]}; the settings say {[*shape]}")
        return x

    return read_checked


def _check(there: int) -> None:
    if not there:
        raise IndexError("a token is not in the vocabulary, or a position not in its table")
