"""A drawing of a circuit: its nodes over the words at which they are, its edges, what it keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from glassformer.foundation.messages import Messages

from .parts.animate import save_figure
from .parts.fonts import check_language, choose_font, make_writable

SAYS = Messages(Path(__file__).with_name("messages.json"))
SUBLAYERS: dict[str, tuple[str, ...]] = {
    "source": ("self_attention", "feed_forward"),
    "target": ("self_attention", "cross_attention", "feed_forward"),
}
MARKERS = {"attention": "o", "forward": "s", "ssru": "o"}
INK, SOFT, FAINT, MADE, OTHER = "#1f2933", "#7b8794", "#e4e7eb", "#c2410c", "#2563a8"
GAP, WIDTH, HEIGHT = 1.6, 12.8, 7.2  # between the sides, in columns; of the page, in inches


class NodeSpot(NamedTuple):
    """The place of a node or of a reader in the drawing."""

    x: float
    y: float


class CircuitMap:
    """The places of nodes in a drawing: over a word, on a floor."""

    def __init__(self, why: Any):
        self.sources = len(why.trace.source)
        self.step = why.asked.row
        settings = why.trace.settings
        self.layers = {"source": settings.encoder_layers, "target": settings.decoder_layers}

    def column(self, side: str, position: int) -> float:
        """Return the column of a word."""
        return position if side == "source" else self.sources + GAP + position

    def place(self, node: str, position: int) -> NodeSpot:
        """Return the place of a node, or of a part that reads."""
        side = "source" if node.startswith(("source", "encoder")) else "target"
        return NodeSpot(self.column(side, position), self.floor(node, side))

    def floor(self, node: str, side: str) -> float:
        """Return the height of a node: 0 for a token, 1 for the last layer."""
        if node == "answer":
            return 1.09
        _, _, rest = node.partition(".")
        layer, _, kind = rest.partition(".")
        if not layer.isdigit():
            return 0.0
        kinds, kind = SUBLAYERS[side], kind.partition(".")[0].removesuffix("_residual")
        own = kinds.index(kind) if kind in kinds else 0
        return (int(layer) * len(kinds) + own + 1) / (self.layers[side] * len(kinds))


def draw_circuit(why: Any, path: Path, lang: str = "en") -> None:
    """Draw the first circuit of an answer of `why` into a file: .svg, .pdf, .png.

    Raises ValueError if it has none, or for a language that cannot be written.
    """
    check_language(lang)
    if not why.circuits:
        raise ValueError("there is no circuit to draw: nothing that is replaced matters")
    figure = Figure(figsize=(WIDTH, HEIGHT), facecolor="white")
    _draw_network(figure.add_axes((0.03, 0.23, 0.94, 0.66)), why, lang)
    _draw_shares(figure.add_axes((0.05, 0.05, 0.5, 0.1)), why.circuits[0], lang)
    _write_around(figure, why, lang)
    save_figure(figure, path)


def _write_around(figure: Figure, why: Any, lang: str) -> None:
    """Write the title and the note."""
    circuit = why.circuits[0]
    title = SAYS.say(
        "title",
        lang,
        word=f"“{why.asked.word.strip(' ▁')}”",
        rival=f"“{why.asked.rival.strip(' ▁')}”",
        size=f"{len(circuit.edges):,}",
        of=f"{circuit.of:,}",
    )
    note = SAYS.say("note", lang, lead=f"{circuit.lead:+.2f}", nothing=f"{circuit.nothing:+.2f}")
    _write(figure, 0.03, 0.93, title, 17, bold=True)
    _write(figure, 0.03, 0.015, note, 9, ink=SOFT)


def _write(
    where: Any, x: float, y: float, text: str, size: float, ink: str = INK, **look: Any
) -> None:
    """Write a text in a font that has its characters."""
    writable = make_writable(text)
    font = choose_font(writable, size, bold=look.pop("bold", False))
    where.text(x, y, writable, color=ink, fontproperties=font, **look)


def _draw_network(axes: Axes, why: Any, lang: str) -> None:
    at, circuit = CircuitMap(why), why.circuits[0]
    last = at.column("target", at.step)
    axes.set_xlim(-2.2, last + 1.2)
    axes.set_ylim(-0.22, 1.2)
    axes.axis("off")
    _draw_floors(axes, at, lang)
    used = {(each.side, each.position) for each in circuit.edges}
    used.add(("target", at.step))
    for side, tokens in (("source", why.trace.source), ("target", why.trace.target)):
        for position, token in enumerate(tokens[: at.step + 1 if side == "target" else None]):
            is_used = (side, position) in used
            x, ink = at.column(side, position), INK if is_used else SOFT
            text = token.text.strip(" ▁") or "?"
            look = {"ha": "right", "va": "top", "rotation": 40, "bold": is_used}
            _write(axes, x + 0.15, -0.04, text, 10, ink, **look)
    _write(axes, last, 1.13, why.asked.word.strip(" ▁"), 13, MADE, ha="center", bold=True)
    for edge in circuit.edges:
        _draw_edge(axes, at, edge)
    for node, position in {(each.node, each.position) for each in circuit.edges}:
        spot = at.place(node, position)
        marker = next((mark for part, mark in MARKERS.items() if part in node), "^")
        axes.plot(*spot, marker, color=INK, ms=6, zorder=3)


def _draw_floors(axes: Axes, at: CircuitMap, lang: str) -> None:
    """Draw a thin line under each layer, and name both sides."""
    ends = {"source": (-0.6, at.sources - 0.4)}
    ends["target"] = (at.column("target", 0) - 0.6, at.column("target", at.step) + 0.6)
    for side, name in (("source", "encoder"), ("target", "decoder")):
        left, right = ends[side]
        for layer in range(at.layers[side]):
            y = (layer + 0.15) / at.layers[side]
            axes.plot((left, right), (y, y), color=FAINT, lw=1, zorder=0)
            if side == "source":
                name_of_layer = SAYS.say("layer", lang, number=layer)
                _write(axes, left - 0.2, y + 0.06, name_of_layer, 8, SOFT, ha="right")
        _write(axes, left, 1.1, SAYS.say(name, lang), 11, SOFT)


def _draw_edge(axes: Axes, at: CircuitMap, edge: Any) -> None:
    """Draw an edge as an arc; one to the decoder ends at the step."""
    start = at.place(edge.node, edge.position)
    crosses = edge.reader.startswith("decoder") and edge.side == "source"
    end = at.place(edge.reader, at.step if crosses else edge.position)
    bend = -0.05 if crosses else -0.25 - 0.5 * abs(end.y - start.y)
    arc = FancyArrowPatch(
        start,
        end,
        connectionstyle=f"arc3,rad={bend:.3f}",
        arrowstyle="-|>",
        mutation_scale=6,
        lw=1.1,
        color=OTHER if crosses else MADE,
        alpha=0.55,
        shrinkA=3,
        shrinkB=4,
        zorder=2,
    )
    axes.add_patch(arc)


def _draw_shares(axes: Axes, circuit: Any, lang: str) -> None:
    """Draw what the circuit keeps, what random ones keep, and what is left without it, as bars."""
    most = max(*circuit.random, *circuit.connected)
    rows = (
        (circuit.kept, SAYS.say("kept", lang, share=f"{circuit.kept:.1%}"), MADE),
        (
            most,
            SAYS.say(
                "random",
                lang,
                count=len(circuit.random) + len(circuit.connected),
                share=f"{most:.1%}",
            ),
            SOFT,
        ),
        (circuit.without, SAYS.say("without", lang, share=f"{circuit.without:.1%}"), SOFT),
    )
    axes.set_xlim(0, 1.9)
    axes.set_ylim(2.6, -0.6)
    axes.axis("off")
    for y, (share, text, ink) in enumerate(rows):
        axes.barh(y, 1, 0.62, color=FAINT)
        axes.barh(y, min(max(share, 0), 1), 0.62, color=ink)
        _write(axes, 1.03, y, text, 10, va="center")
