"""The figure of what a decoder keeps: a KV cache that grows, or a state of fixed size (V118)."""

from __future__ import annotations

import numpy as np

from glassformer.see.derive import mean_over_heads
from glassformer.see.recorded import Array, RecordedTensors

from .parts import grammar as g
from .parts import style
from .parts.selection import count_layers, pick

MOST = 16  # tokens of the matrix
SIDE = 18.0  # of a cell of it
LITTLE = 0.01  # a share that would be printed as 0 or 1 %
INKS = {"attention": "weights", "ssru": "decoder"}


@g.figure("kept")
def draw_kept(plan: g.Outline, *, layer: int = -1) -> g.Scene:
    """Show how many numbers a decoder keeps, and what is left of each token (V118)."""
    trace, settings = plan.trace, plan.settings
    layer = pick(layer, count_layers(trace, "decoder"), "layer")
    own, layers, count = settings.decoder, settings.decoder_layers, len(trace.target)
    steps = [float(n + 1) for n in range(count)]
    heads = settings.key_value_heads or settings.heads
    sizes = {
        "attention": [2 * heads * settings.width * layers * n for n in steps],
        "ssru": [float(settings.d_model * layers)] * count,
    }
    curves = [
        g.Curve(steps, sizes[name], ink, 2.6 if name == own else 1.6, plan.say(name), dots=True)
        for name, ink in INKS.items()
    ]
    most = max(max(values) for values in sizes.values())
    plot = plan.plot(
        curves,
        "tokens",
        "numbers",
        width=230,
        height=200,
        beside=96,
        x=(1.0, max(steps[-1], 2.0)),
        y=(0.0, 1.05 * most),
    )
    name = f"decoder.{layer}.self_attention.weights"
    is_ssru = own == "ssru"
    shares = trace_cells(trace, layer) if is_ssru else mean_over_heads(trace[name])
    shown = min(count, MOST)
    kept = plan.give("kept", shares[:shown, :shown])
    side = SIDE * shown
    panel = g.Panel(kept, width=side, height=side, scale="share", limit=1.0, edge=INKS[own])
    texts = plan.target[:shown]
    matrix = g.Matrix(panel, rows=texts, columns=texts, fit=70)
    text = g.middle(g.small(plan.say(f"kept_{own}", layer=layer)), matrix, gap=8)
    return plan.compose(
        g.Across(plot, text, gap=style.FAR, align="top"),
        title="title_gone" if is_ssru and shares[-1, 0] < LITTLE else f"title_{own}",
        note=f"note_{own}",
        left=(shown, count),
        n=count,
        d=settings.d_model,
        held=g.spell(sizes["attention"][-1], 0),
        little=g.spell(sizes["ssru"][-1], 0),
        share=g.percent(float(shares[-1, 0])),
    )


def trace_cells(trace: RecordedTensors, layer: int) -> Array:
    """Return the share of each token in the cell of an SSRU after each token, T T.

    A gate lets in 1 - f of its token; each later one keeps f of what there is (Kim et al. 2019);
    the share is the mean of all numbers of the cell. Rows sum to less than 1: the cell began at 0.
    """
    forget_TD = trace[f"decoder.{layer}.ssru.forget"].astype(np.float64)
    share_TT = np.zeros((len(forget_TD),) * 2)
    for written, gate in enumerate(forget_TD):
        left = 1 - gate
        for read in range(written, len(forget_TD)):
            left = left * forget_TD[read] if read > written else left
            share_TT[read, written] = left.mean()
    return share_TT
