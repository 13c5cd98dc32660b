"""A Transformer whose residual stream is kept apart by who wrote it, so that an edge can be cut.

A node writes into the residual stream: the token, its positions, a head, a feed-forward network,
a recurrent unit. A reader reads from it: the query, the key and the value of each head, a
feed-forward network, the answer. An edge leads from a node to a reader that comes after it, at one
position (or, in a circuit for many sentences, at all). Where an edge is cut, the reader gets what
the node writes elsewhere instead (Conmy et al. 2023, "Towards Automated Circuit Discovery"). What a
post-norm network normalizes is a node, too.

What is not linear can be held as it was on one sentence: the attention patterns, the scales of the
norms, and the gates of the feed-forward networks (for ReLU: which neurons are on). If all of it is
held, what each reader gives is a sum over its edges, and a constant.

Letters: B sentences or circuits; N nodes; C readers; H heads; L positions of either side;
Q queries; M keys; K width of a head; D model width; F inner width.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from glassformer.config import PAD, Model
from glassformer.foundation.tap import Edit, Recorder, view_with
from glassformer.model.attention import MultiHeadAttention
from glassformer.model.embedding import Embedding
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.feed_forward import FeedForward
from glassformer.model.masks import padding_mask, target_mask
from glassformer.model.transformer import Transformer
from glassformer.model.variants.attention import VariedSelfAttention
from glassformer.model.variants.distances import rotate
from glassformer.model.variants.gated import GatedFeedForward
from glassformer.model.variants.ssru import SSRU

PATTERNS, NORMS, GATES = "patterns", "norms", "gates"  # what can be held
HELD = (PATTERNS, NORMS, GATES)
ANSWER = "answer"  # the last reader
QUERY, KEY, VALUE = "query", "key", "value"

Written = dict[str, Tensor]  # for each block what its nodes wrote, B N L D


class WordContrast(NamedTuple):
    """One step of a translation: what the network reads, and the two tokens that are compared."""

    source: tuple[int, ...]  # ids, with all marks
    given: tuple[int, ...]  # ids that the decoder reads; its last row is the step
    answers: tuple[int, int]  # the token and its rival


class Site(NamedTuple):
    """Readers that read the same stream at the same place."""

    side: str  # whose positions it has: source or target
    nodes: tuple[str, ...]
    readers: tuple[str, ...]


class SiteEdges(NamedTuple):
    """Edges of one site, and how much of each is there; the others have the base amount."""

    node_N: Tensor  # numbers of the nodes of the site; here N counts the edges
    reader_N: Tensor
    place_N: Tensor | None  # None: all positions
    amount_BN: Tensor


@dataclass(frozen=True)
class Cuts:
    """Amounts of edges: 1 is what the node wrote here, 0 what it writes elsewhere."""

    others: Written  # what nodes write elsewhere
    base: Tensor | float = 0.0  # of the edges that are not chosen; B 1 1 if it differs
    sites: Mapping[str, SiteEdges] = field(default_factory=dict)


@dataclass
class EdgeRun:
    """The result of one pass."""

    lead_B: Tensor  # logit of the token less that of its rival
    written: Written
    reads: dict[str, Tensor]  # for each site what its readers saw, B C L D, if it was asked for


@dataclass
class Stream:
    """The residual stream of one side so far."""

    side: str
    nodes: list[str] = field(default_factory=list)
    deltas: list[Tensor] = field(default_factory=list)  # blocks of B N L D: here less elsewhere
    here_BLD: Any = 0.0
    elsewhere_BLD: Any = 0.0

    def write(self, names: Iterable[str], x_BNLD: Tensor, other_BNLD: Tensor | None) -> None:
        """Append what nodes wrote here, and what they write elsewhere."""
        self.nodes += names
        self.here_BLD = self.here_BLD + x_BNLD.sum(1)
        if other_BNLD is not None:
            self.deltas.append(x_BNLD - other_BNLD)
            self.elsewhere_BLD = self.elsewhere_BLD + other_BNLD.sum(1)

    def add(self, constant_D: Tensor) -> None:
        """Add what no node wrote."""
        self.here_BLD, self.elsewhere_BLD = (
            each_BLD + constant_D for each_BLD in (self.here_BLD, self.elsewhere_BLD)
        )

    def read(self, cuts: Cuts | None, chosen: SiteEdges | None, readers: int) -> Tensor:
        """Return what readers see, B C L D; C is 1 if all see the same."""
        if cuts is None:
            here_B1LD: Tensor = self.here_BLD[:, None]
            return here_B1LD
        base_BLD = self.elsewhere_BLD + cuts.base * (self.here_BLD - self.elsewhere_BLD)
        seen_BCLD: Tensor = base_BLD[:, None]
        return seen_BCLD if chosen is None else self._choose(seen_BCLD, cuts.base, chosen, readers)

    def _choose(
        self, seen_BCLD: Tensor, base: Tensor | float, chosen: SiteEdges, readers: int
    ) -> Tensor:
        """Return what readers see if some edges have an amount of their own."""
        size = max(len(chosen.amount_BN), len(seen_BCLD), *map(len, self.deltas))
        delta_BNLD = torch.cat([each.expand(size, -1, -1, -1) for each in self.deltas], 1)
        seen_BCLD = seen_BCLD.expand(size, readers, -1, -1).contiguous()
        amount_BN = chosen.amount_BN - base
        if chosen.place_N is None:
            added_BNLD = delta_BNLD[:, chosen.node_N] * amount_BN[..., None, None]
            return seen_BCLD.index_add(1, chosen.reader_N, added_BNLD.expand(size, -1, -1, -1))
        added_BND = delta_BNLD[:, chosen.node_N, chosen.place_N] * amount_BN[..., None]
        length = seen_BCLD.size(2)
        flat_BLD = seen_BCLD.flatten(1, 2)
        at_N = chosen.reader_N * length + chosen.place_N
        return flat_BLD.index_add(1, at_N, added_BND).unflatten(1, (readers, length))


class EdgeNetwork:
    """A trained Transformer as nodes, readers and edges.

    by_head: whether each head is a node, whose query, key and value read apart; if not, a block of
    attention is one node, and reads once. `sites` and `blocks` are known after the first pass.
    Raises ValueError for a network that has no such edges.
    """

    def __init__(self, network: EncoderDecoder, *, by_head: bool = True):
        self.settings, self.by_head = network.settings, by_head
        check_edges(network)
        self.sites: dict[str, Site] = {}
        self.blocks: dict[str, tuple[str, ...]] = {}  # the nodes of each
        self.held: dict[str, Tensor] = {}
        self.kinds: Collection[str] = ()
        self.is_recording = False
        edits = {
            f"{name}.weights": self._hold_pattern(name) for name in list_attentions(self.settings)
        }
        view = view_with(network, Recorder(lambda name: False, edits))
        assert isinstance(view, Transformer)
        self.view = view

    def record(self, contrast: WordContrast) -> EdgeRun:
        """EdgeRun a sentence, and remember its patterns, norms and gates."""
        self.is_recording = True
        try:
            return self.run([contrast])
        finally:
            self.is_recording = False

    def run(
        self,
        questions: Sequence[WordContrast],
        cuts: Cuts | None = None,
        hold: Collection[str] = (),
        *,
        keep_reads: bool = False,
    ) -> EdgeRun:
        """EdgeRun sentences, with their edges cut.

        hold: what stays as it was recorded. keep_reads: keep what readers see, to differentiate by.
        """
        self.kinds = hold
        return Pass(self, cuts, keep_reads).run(questions)

    def _hold_pattern(self, name: str) -> Edit:
        return lambda weights_BHQM: self.hold(PATTERNS, name, weights_BHQM)

    def hold(self, kind: str, name: str, x: Tensor) -> Tensor:
        """Return what was recorded, if it is to be held; else x."""
        if self.is_recording:
            self.held[f"{name}.{kind}"] = x.detach()
        return self.held[f"{name}.{kind}"] if kind in self.kinds else x


def check_edges(network: EncoderDecoder) -> None:
    """Raise ValueError for a network that is no Transformer, or one with a part left out."""
    settings = network.settings
    if not isinstance(network, Transformer):
        raise ValueError(
            f"why reads a Transformer's residual stream, and model.network={settings.network} has "
            "none that its steps share: its states pass through gates (probe can cut its attention)"
        )
    left_out = {*settings.ablate} - {"scale"}
    if left_out:
        raise ValueError(f"why: this network was built without {', '.join(sorted(left_out))}")


def list_attentions(settings: Model) -> list[str]:
    """Return the names of all attentions."""
    decoder = ["cross_attention"]
    if settings.decoder != "ssru":
        decoder.insert(0, "self_attention")
    names = [f"encoder.{n}.self_attention" for n in range(settings.encoder_layers)]
    return names + [
        f"decoder.{n}.{each}" for n in range(settings.decoder_layers) for each in decoder
    ]


class Pass:
    """One pass of an `EdgeNetwork`."""

    def __init__(self, network: EdgeNetwork, cuts: Cuts | None, keep_reads: bool):
        self.network, self.view = network, network.view
        self.cuts, self.keep_reads = cuts, keep_reads
        self.written: Written = {}
        self.reads: dict[str, Tensor] = {}

    def run(self, questions: Sequence[WordContrast]) -> EdgeRun:
        device = next(self.view.parameters()).device
        source_BS, given_BT = (
            stack_ids([getattr(each, side) for each in questions], device)
            for side in ("source", "given")
        )
        source_mask = padding_mask(source_BS)
        memory = self.encode(source_BS, source_mask)
        target = self.decode(given_BT, memory, source_mask)
        step_B = torch.tensor([len(each.given) - 1 for each in questions], device=device)
        lead_B = self.answer(target, step_B, [each.answers for each in questions])
        return EdgeRun(lead_B, self.written, self.reads)

    def encode(self, source_BS: Tensor, mask: Tensor) -> Stream:
        stream = self.embed("source", self.view.source_embedding, source_BS)
        for number, layer in enumerate(self.view.encoder):
            name = f"encoder.{number}"
            self.attend(f"{name}.self_attention", layer, stream, None, mask)
            self.feed(f"{name}.feed_forward", layer, stream)
        return stream

    def decode(self, given_BT: Tensor, memory: Stream, source_mask: Tensor) -> Stream:
        mask = target_mask(given_BT, self.view.settings.attention)
        stream = self.embed("target", self.view.target_embedding, given_BT)
        for number, layer in enumerate(self.view.decoder):
            name = f"decoder.{number}"
            if self.view.settings.decoder == "ssru":
                self.recur(f"{name}.ssru", layer, stream)
            else:
                self.attend(f"{name}.self_attention", layer, stream, None, mask)
            self.attend(f"{name}.cross_attention", layer, stream, memory, source_mask)
            self.feed(f"{name}.feed_forward", layer, stream)
        return stream

    def embed(self, side: str, embedding: Any, ids_BL: Tensor) -> Stream:
        stream, name = Stream(side), f"{side}_embedding"
        if type(embedding) is not Embedding:  # what is mixed or normalized is one node
            self.write(stream, name, [name], embedding(ids_BL)[:, None])
            return stream
        words_BLD = embedding.table(ids_BL) * embedding.table.embedding_dim**0.5
        places_BLD = embedding.positions_LD[: ids_BL.size(1)].expand_as(words_BLD)
        nodes = [f"{name}.embedded", f"{name}.positions"]
        self.write(stream, name, nodes, torch.stack((words_BLD, places_BLD), 1))
        return stream

    def write(self, stream: Stream, block: str, nodes: Sequence[str], x_BNLD: Tensor) -> None:
        self.network.blocks.setdefault(block, tuple(nodes))
        self.written[block] = x_BNLD
        other = None
        if self.cuts is not None:
            other = stretch(self.cuts.others[block], x_BNLD.size(2))
        stream.write(nodes, x_BNLD, other)

    def read(self, site: str, readers: Sequence[str], stream: Stream) -> Tensor:
        """Return what each reader of a site sees, B C L D; C is 1 if all see the same."""
        if site not in self.network.sites:
            self.network.sites[site] = Site(stream.side, tuple(stream.nodes), tuple(readers))
        chosen = None if self.cuts is None else self.cuts.sites.get(site)
        seen_BCLD = stream.read(self.cuts, chosen, len(readers))
        if not self.keep_reads:
            return seen_BCLD
        kept_BCLD = seen_BCLD.expand(-1, len(readers), -1, -1).contiguous()
        self.reads[site] = kept_BCLD if kept_BCLD.requires_grad else kept_BCLD.requires_grad_()
        return kept_BCLD

    def attend(
        self, name: str, layer: Any, stream: Stream, memory: Stream | None, mask: Tensor
    ) -> None:
        """Let all heads of a block read, and write."""
        attention: MultiHeadAttention = getattr(layer, name.rpartition(".")[2])
        residual = getattr(layer, f"{name.rpartition('.')[2]}_residual")
        heads = range(attention.heads)
        readers = self.list_readers(name, heads, [QUERY] if memory else [QUERY, KEY, VALUE])
        read_BCLD = self.read(name, readers, stream)
        if not residual.post:
            read_BCLD = self.normalize(residual.norm, name, read_BCLD)
        if memory is None:
            parts = read_BCLD.chunk(3, 1) if len(read_BCLD[0]) > 1 else [read_BCLD] * 3
        else:
            parts = [read_BCLD, *self.read_memory(name, memory, heads)]
        z_BHQK = self.compute(attention, name, parts, mask)
        weight_DHK = attention.to_output.weight.unflatten(1, (attention.heads, -1))
        x_BHQD = torch.einsum("bhqk,dhk->bhqd", z_BHQK, weight_DHK)
        if self.network.by_head:
            self.write(stream, name, [f"{name}.{head}" for head in heads], x_BHQD)
        else:
            self.write(stream, name, [name], x_BHQD.sum(1, keepdim=True))
        stream.add(attention.to_output.bias)
        self.close(residual, name, stream)

    def read_memory(self, name: str, memory: Stream, heads: range) -> Sequence[Tensor]:
        """Return what keys and values of a cross-attention see: the encoder's normed output."""
        site = f"{name}.memory"
        readers = self.list_readers(name, heads, [KEY, VALUE]) if self.network.by_head else [site]
        read_BCLD = self.read(site, readers, memory)
        read_BCLD = self.normalize(self.view.encoder_norm, f"{name}.memory", read_BCLD)
        return read_BCLD.chunk(2, 1) if len(read_BCLD[0]) > 1 else [read_BCLD] * 2

    def list_readers(self, name: str, heads: range, kinds: Sequence[str]) -> list[str]:
        """Return the readers of a block of attention: those of each head, or the block."""
        if not self.network.by_head:
            return [name]
        return [f"{name}.{head}.{kind}" for kind in kinds for head in heads]

    def compute(
        self, attention: MultiHeadAttention, name: str, parts: Sequence[Tensor], mask: Tensor
    ) -> Tensor:
        """Return the context of each head, B H Q K, from what its query, key and value see."""
        width = attention.to_query.out_features // attention.heads
        linears = (attention.to_query, attention.to_key, attention.to_value)
        q_BHQK, k_BHMK, v_BHMK = (
            project(linear, part, attention.heads, width)
            for linear, part in zip(linears, parts, strict=True)
        )
        if not isinstance(attention, VariedSelfAttention):
            return attention.attend(q_BHQK, k_BHMK, v_BHMK, mask)
        at_BL = torch.arange(q_BHQK.size(2), device=q_BHQK.device)[None]
        if attention.is_rotary:
            q_BHQK, k_BHMK = rotate(q_BHQK, at_BL), rotate(k_BHMK, at_BL)
        return attention.attend_at(q_BHQK, k_BHMK, v_BHMK, mask, at_BL, at_BL)

    def feed(self, name: str, layer: Any, stream: Stream) -> None:
        """Let the feed-forward network read, and write."""
        residual = layer.feed_forward_residual
        x_BCLD = self.read(name, [name], stream)
        if not residual.post:
            x_BCLD = self.normalize(residual.norm, name, x_BCLD)
        self.write(stream, name, [name], self.transform(layer.feed_forward, name, x_BCLD))
        self.close(residual, name, stream)

    def transform(self, network: FeedForward, name: str, x_BCLD: Tensor) -> Tensor:
        """Return the output of a feed-forward network, B C L D, its bias included."""
        return network.outer(self.activate(network, name, x_BCLD))

    def activate(self, network: FeedForward, name: str, x_BCLD: Tensor) -> Tensor:
        """Return what the neurons give, B C L F; what a neuron lets pass of its input is a gate."""
        inner_BCLF = network.inner(x_BCLD)
        active_BCLF = network.activation(inner_BCLF)
        if isinstance(network, GatedFeedForward):
            return self.network.hold(GATES, name, active_BCLF) * network.gate(x_BCLD)
        gate_BCLF = active_BCLF / inner_BCLF.where(inner_BCLF != 0, 1.0)
        held_BCLF = self.network.hold(GATES, name, gate_BCLF)
        return inner_BCLF * held_BCLF if GATES in self.network.kinds else active_BCLF

    def recur(self, name: str, layer: Any, stream: Stream) -> None:
        """Let an SSRU read and write: its output at a position depends on all before."""
        unit: SSRU = layer.ssru
        x_BCLD = self.read(name, [name], stream)
        if not layer.ssru_residual.post:
            x_BCLD = self.normalize(layer.ssru_residual.norm, name, x_BCLD)
        forget_BTD, candidate_BTD = unit.read(x_BCLD[:, 0])
        forget_BTD = self.network.hold(GATES, f"{name}.forget", forget_BTD)
        before_B1D = torch.zeros_like(candidate_BTD[:, :1])
        cell_BTD = unit.run(forget_BTD, candidate_BTD, before_B1D)
        shown_BTD = self.network.hold(GATES, f"{name}.shown", (cell_BTD > 0).to(cell_BTD.dtype))
        self.write(stream, name, [name], (cell_BTD * shown_BTD)[:, None])
        self.close(layer.ssru_residual, name, stream)

    def close(self, residual: Any, name: str, stream: Stream) -> None:
        """In a post-norm network, let the norm read all and be the one node that is left."""
        if residual.post:
            site = f"{name}_residual"
            x_BCLD = self.normalize(residual.norm, site, self.read(site, [site], stream))
            stream.nodes, stream.deltas = [], []
            stream.here_BLD = stream.elsewhere_BLD = 0.0
            self.write(stream, site, [site], x_BCLD)

    def normalize(self, norm: nn.Module, name: str, x_BCLD: Tensor) -> Tensor:
        """Return what a norm makes of it; its scale can be held."""
        if isinstance(norm, nn.Identity):
            return x_BCLD
        assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
        if isinstance(norm, nn.LayerNorm):
            x_BCLD = x_BCLD - x_BCLD.mean(-1, keepdim=True)
        mean_BCL1 = x_BCLD.square().mean(-1, keepdim=True)
        scale_BCL1 = self.network.hold(NORMS, name, (mean_BCL1 + (norm.eps or 0.0)).rsqrt())
        normed_BCLD = x_BCLD * scale_BCL1 * norm.weight
        return normed_BCLD + norm.bias if isinstance(norm, nn.LayerNorm) else normed_BCLD

    def answer(self, stream: Stream, step_B: Tensor, answers: Sequence[tuple[int, int]]) -> Tensor:
        """Return the lead of each token over its rival, B."""
        x_B1LD = self.read(ANSWER, [ANSWER], stream)
        y_BLD = self.normalize(self.view.decoder_norm, ANSWER, x_B1LD)[:, 0]
        rows_B = torch.arange(len(y_BLD), device=y_BLD.device)
        y_BD = y_BLD[rows_B, step_B.expand(len(y_BLD))]
        ids_B2 = torch.tensor(answers, device=y_BLD.device)
        table, bias_V = self.view.output_table.weight, self.view.output_bias
        lead_B = (y_BD * (table[ids_B2[:, 0]] - table[ids_B2[:, 1]])).sum(-1)
        return lead_B if bias_V is None else lead_B + bias_V[ids_B2[:, 0]] - bias_V[ids_B2[:, 1]]


def project(linear: nn.Linear, x_BCLD: Tensor, heads: int, width: int) -> Tensor:
    """Return the queries, keys or values of each head, B H L K, from what each sees.

    Heads that share keys and values have the same rows of the matrix.
    """
    groups = linear.weight.size(0) // width
    weight_HKD = linear.weight.unflatten(0, (groups, width)).repeat_interleave(heads // groups, 0)
    bias_HK = linear.bias.unflatten(0, (groups, width)).repeat_interleave(heads // groups, 0)
    x_BHLD = x_BCLD.expand(-1, heads, -1, -1)
    return torch.einsum("bhld,hkd->bhlk", x_BHLD, weight_HKD) + bias_HK[:, None]


def stack_ids(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return ids of several sentences, padded to the longest, B L."""
    return nn.utils.rnn.pad_sequence(
        [torch.tensor(row, device=device) for row in rows], batch_first=True, padding_value=PAD
    )


def stretch(x_BNLD: Tensor, length: int) -> Tensor:
    """Return what nodes write, for as many positions; what is missing is its last position."""
    size = x_BNLD.size(2)
    if size in (1, length):
        return x_BNLD
    if size > length:
        return x_BNLD[:, :, :length]
    return torch.cat((x_BNLD, x_BNLD[:, :, -1:].expand(-1, -1, length - size, -1)), 2)
