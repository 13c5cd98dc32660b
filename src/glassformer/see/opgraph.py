"""How each tensor of a recording is made of others, declared once for every reader. No torch.

An op says of the cells of one tensor which cells they are made of: `scores[h,q,m]` is the sum
over k of `query[h,q,k] * key[h,m,k]`, times a scale. From that come the arithmetic of any cell,
the test that recomputes every tensor, formulas, code and pictures.

The letters of an index are told in `ops`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..config import Model
from .ops import Axis, Graph, Op


@dataclass(frozen=True)
class Sizes:
    """What the letters count up to."""

    settings: Model
    source: int
    target: int
    source_vocabulary: int
    target_vocabulary: int

    def place(self, side: str, letter: str = "q", dim: str | None = None) -> Axis:
        return Axis(letter, dim or side, self.source if side == "source" else self.target)

    @property
    def model(self) -> Axis:
        return Axis("d", "d_model", self.settings.d_model)

    @property
    def summed(self) -> Axis:
        return Axis("i", "d_model", self.settings.d_model)

    @property
    def head(self) -> Axis:
        return Axis("h", "head", self.settings.heads)

    @property
    def width(self) -> Axis:
        return Axis("k", "width", self.settings.width)


def build(
    settings: Model, source: int, target: int, source_vocabulary: int, target_vocabulary: int
) -> Graph:
    """The graph of a network with these settings, for a recording of so many positions."""
    graph, sizes = Graph(), Sizes(settings, source, target, source_vocabulary, target_vocabulary)
    x = _embed(graph, sizes, "source")
    for layer in range(settings.encoder_layers):
        x = _lay(graph, sizes, f"encoder.{layer}", "source", ("self_attention",), x)
    memory = _end(graph, sizes, "memory", "encoder_norm", "source", x)
    y = _embed(graph, sizes, "target")
    for layer in range(settings.decoder_layers):
        looks = ("self_attention", "cross_attention")
        y = _lay(graph, sizes, f"decoder.{layer}", "target", looks, y, memory)
    last = _end(graph, sizes, "last", "decoder_norm", "target", y)
    _choose(graph, sizes, last)
    return graph


def _embed(graph: Graph, sizes: Sizes, side: str) -> str:
    """Words and places, and their sum (3.4, 3.5)."""
    graph[f"{side}.ids"] = Op(f"{side}.ids", "input", (sizes.place(side),))
    part, axes, d_model = f"{side}_embedding", (sizes.place(side), sizes.model), sizes.model.size
    words = graph.make(
        "gather",
        f"{part}.words",
        axes,
        f"{part}.table.weight[ids[q],d]",
        scale=d_model**0.5,
        scale_formula=f"√{d_model}",
        detail=f"{side}.ids",
    )
    positions = sizes.settings.positions
    if positions.layout == "learned":
        places = graph.make("copy", f"{part}.places", axes, f"{part}.places_LD[q,d]")
    else:
        places = graph.make("position", f"{part}.places", axes, detail=positions)
    return graph.make("add", f"{part}.sum", axes, f"{words}[q,d]", f"{places}[q,d]")


def _lay(
    graph: Graph, sizes: Sizes, name: str, side: str, looks: Iterable[str], x: str, memory: str = ""
) -> str:
    """One layer (3.1): each sub-layer on its residual road."""
    for look in looks:
        asked = (memory, "source") if look == "cross_attention" else None
        x = _travel(graph, sizes, f"{name}.{look}", side, x, asked)
    return _travel(graph, sizes, f"{name}.feed_forward", side, x)


def _travel(
    graph: Graph, sizes: Sizes, name: str, side: str, x: str, asked: tuple[str, str] | None = None
) -> str:
    """A residual road, with the norm at its end or at its beginning; returns where it leads."""
    axes, post = (sizes.place(side), sizes.model), sizes.settings.norm == "post"
    read = x if post else _norm(graph, sizes, f"{name}_road.normed", f"{name}_road", side, x)
    if name.endswith("feed_forward"):
        made = _think(graph, sizes, name, side, read)
    else:
        made = _attend(graph, sizes, name, side, read, *(asked or (read, side)))
    total = graph.make("add", f"{name}_road.sum", axes, f"{x}[q,d]", f"{made}[q,d]")
    if not post:
        return total
    return _norm(graph, sizes, f"{name}_road.normed", f"{name}_road", side, total)


def _norm(graph: Graph, sizes: Sizes, name: str, module: str, side: str, x: str) -> str:
    """LayerNorm over d_model; its mean and deviation are derived."""
    place, epsilon = sizes.place(side), sizes.settings.norm_epsilon
    weight = module if module.endswith("_norm") else f"{module}.norm"
    graph.make(
        "layernorm",
        name,
        (place, sizes.model),
        f"{x}[q,i]",
        f"{x}[q,d]",
        f"{weight}.weight[d]",
        bias=f"{weight}.bias[d]",
        over=sizes.summed,
        detail=epsilon,
    )
    stem = name.removesuffix(".normed")
    for kind in ("mean", "deviation"):
        graph.make(
            kind,
            f"{stem}.{kind}",
            (place,),
            f"{x}[q,i]",
            over=sizes.summed,
            detail=epsilon,
            derived=True,
        )
    return name


def _attend(
    graph: Graph, sizes: Sizes, name: str, side: str, x: str, memory: str, other: str
) -> str:
    """Multi-head attention (3.2): `x` asks, `memory` answers."""
    head, width, asks = sizes.head, sizes.width, sizes.place(side, "q", "query")
    answers, size = sizes.place(other, "m", "key"), sizes.width.size
    reads = {"key": (memory, other), "value": (memory, other), "query": (x, side)}
    for window, (read, place) in reads.items():
        linear = f"{name}.to_{window}"
        graph.make(
            "matmul",
            f"{name}.{window}",
            (head, sizes.place(place), width),
            f"{read}[q,i]",
            f"{linear}.weight[h*{size}+k,i]",
            over=sizes.summed,
            bias=f"{linear}.bias[h*{size}+k]",
        )
    grid, causal = (head, asks, answers), name.startswith("decoder") and other == side
    scores = graph.make(
        "dot",
        f"{name}.scores",
        grid,
        f"{name}.query[h,q,k]",
        f"{name}.key[h,m,k]",
        over=width,
        scale=size**-0.5,
        scale_formula=f"1/√{size}",
    )
    once = (Axis("a", "any", 1), asks if causal else Axis("b", "any", 1), answers)
    graph.make("mask", f"{name}.mask", once, f"{other}.ids[m]", detail=causal)
    allowed = f"{name}.mask[0,{'q' if causal else 0},m]"
    graph.make("masked", f"{name}.masked", grid, f"{scores}[h,q,m]", mask=allowed, derived=True)
    weights = graph.make("softmax", f"{name}.weights", grid, f"{scores}[h,q,m]", mask=allowed)
    heads = graph.make(
        "weighted_sum",
        f"{name}.heads",
        (head, sizes.place(side), width),
        f"{weights}[h,q,m]",
        f"{name}.value[h,m,k]",
        over=answers,
    )
    output, joined = f"{name}.to_output", Axis("j", "heads side by side", head.size * size)
    graph.make(
        "matmul",
        f"{name}.contributions",
        (head, sizes.place(side), sizes.model),
        f"{heads}[h,q,k]",
        f"{output}.weight[d,h*{size}+k]",
        over=width,
        derived=True,
    )
    return graph.make(
        "concat",
        f"{name}.output",
        (sizes.place(side), sizes.model),
        f"{heads}[j//{size},q,j%{size}]",
        f"{output}.weight[d,j]",
        over=joined,
        bias=f"{output}.bias[d]",
    )


def _think(graph: Graph, sizes: Sizes, name: str, side: str, x: str) -> str:
    """The feed-forward network (3.3)."""
    place, wide = sizes.place(side), Axis("f", "d_ff", sizes.settings.d_ff)
    graph.make(
        "matmul",
        f"{name}.inner",
        (place, wide),
        f"{x}[q,i]",
        f"{name}.inner.weight[f,i]",
        over=sizes.summed,
        bias=f"{name}.inner.bias[f]",
    )
    activation = sizes.settings.activation
    hidden = graph.make(activation, f"{name}.hidden", (place, wide), f"{name}.inner[q,f]")
    return graph.make(
        "matmul",
        f"{name}.output",
        (place, sizes.model),
        f"{hidden}[q,f]",
        f"{name}.outer.weight[d,f]",
        over=wide,
        bias=f"{name}.outer.bias[d]",
    )


def _end(graph: Graph, sizes: Sizes, name: str, module: str, side: str, x: str) -> str:
    """A stack's answer: as it is in post-norm, normed once more in pre-norm."""
    if sizes.settings.norm == "pre":
        return _norm(graph, sizes, name, module, side, x)
    return graph.make("copy", name, (sizes.place(side), sizes.model), f"{x}[q,d]")


def _choose(graph: Graph, sizes: Sizes, last: str) -> None:
    """Numbers become words: a logit for each piece; probabilities and choice are derived."""
    place = sizes.place("target")
    axes = (place, Axis("v", "vocabulary", sizes.target_vocabulary))
    logits = graph.make(
        "matmul",
        "logits",
        axes,
        f"{last}[q,i]",
        "output_table.weight[v,i]",
        over=sizes.summed,
        bias="output_bias[v]" if sizes.settings.output_bias else None,
    )
    graph.make("softmax", "probabilities", axes, f"{logits}[q,v]", derived=True)
    graph.make("argmax", "choice", (place,), f"{logits}[q,v]", over=axes[1], derived=True)
