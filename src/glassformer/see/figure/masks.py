"""Figures of masks: what may not be seen, where it is said, and why (V56-V58, V62)."""

from __future__ import annotations

import numpy as np

from . import style
from .grids import REASONS, Matrix, Reasons, Struck, Tall
from .links import Callout, Link
from .nodes import Across, Card, Columns, Down, Held, Label, Node, Panel
from .plan import Outline, figure
from .quantity import Array, Quantity
from .scene import Scene
from .selection import find_attention, get_mask, pick, show_tokens, tell_tokens_left_out

ROWS, FEW, PADDING = 24, 7, 2  # tokens of a mask; with numbers; padding that is added
WORDS = {"en": ("I", "like", "learning", "coding"), "zh": ("我", "喜欢", "学习", "编程")}
X = np.array([[0.5, 0.1, 0.3], [0.7, 0.2, 0.9], [0.6, 0.4, 0.8], [0.8, 0.3, 0.5]])
W_K = np.array([[0.5, 0.1, 0.3], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6]])
PRINTED = {1: (0.445, 0.555), 3: (0.250, 0.298, 0.236, 0.216)}  # in a lecture note, by row


def work_out() -> dict[str, Array]:
    """Return masked attention on four words of three numbers, stage by stage.

    W_Q and W_V are the identity.
    """
    key = X @ W_K
    scores = X @ key.T
    masked = np.where(np.tri(4, dtype=bool), scores / np.sqrt(3), -np.inf)
    weights = np.exp(masked) / np.exp(masked).sum(1, keepdims=True)
    stages = {"X": X, "W": W_K, "K": key, "scores": scores, "scaled": scores / np.sqrt(3)}
    return {**stages, "masked": masked, "weights": weights, "Z": weights @ X}


def fit_cell(count: int, most: float, widest: float = 24.0) -> tuple[float, float]:
    """Return the size of a square cell, of which `count` take at most `most`."""
    side = min(widest, most / max(1, count))
    return side, side


@figure("causal")
def draw_causal_mask(plan: Outline) -> Scene:
    """Show the causal mask M of four positions, and that of this translation (V56)."""
    four = plan.give("M", np.where(np.tri(4, dtype=bool), 0.0, -np.inf))
    may = get_mask(plan.trace, "decoder.0.self_attention")[:ROWS, :ROWS]
    texts = show_tokens(plan.trace.target)[:ROWS]
    small = Panel(
        four, width=136, height=136, digits=0, size=style.HEADING, hidden=np.isinf(four.values)
    )
    cell, _ = fit_cell(len(texts), 300)
    side = cell * len(texts)
    own = Panel(np.zeros(may.shape), width=side, height=side, hidden=~may, edge=style.SOFT)
    left = Down(
        Label(plan.say("four"), style.SMALL, style.SOFT), small.named("M"), gap=6, align="middle"
    )
    whole = Matrix(own, rows=texts, columns=texts, fit=70)
    hidden, count = int((~may).sum()), may.size
    return plan.compose(
        Across(left, whole, gap=style.FAR),
        title=plan.say("title", hidden=hidden, all=count),
        note=plan.say("note") + tell_tokens_left_out(plan.lang, len(texts), len(plan.trace.target)),
        callouts=[Callout("M", plan.say("closed"), "below", 150)],
    )


@figure("worked_mask")
def draw_worked_mask(plan: Outline) -> Scene:
    """Show masked attention worked out on four words, and what a note printed wrongly (V57)."""
    found, words, wide = work_out(), WORDS[plan.lang], 34.0
    lines = (
        (
            ("X", "sum", "$X$"),
            ("W", "linear", "$× W_K$"),
            ("K", "key", "$= K$"),
            ("scores", "scores", "$X K^T$"),
        ),
        (
            ("scaled", "scores", "$÷ √3$"),
            ("masked", "scores", "$+ M$"),
            ("weights", "weights", "$softmax$"),
            ("Z", "heads", "$softmax · X = Z$"),
        ),
    )
    rows: list[Node] = []
    for line in lines:
        names = [Held(Label(word, style.BODY), 58, "end") for word in words]
        parts: list[Node] = [Down(*(Tall(name, 22) for name in names), gap=0)]
        for key, role, formula in line:
            values = plan.give(key, found[key])
            hidden = np.isinf(found["masked"]) if key in ("masked", "weights") else None
            share = key == "weights"
            panel = Panel(
                values,
                width=wide * values.shape[1],
                height=22.0 * len(values),
                digits=2,
                scale="share" if share else "signed",
                limit=1.0,
                hidden=hidden,
                edge=style.role(role).ink if key == "W" else "",
            )
            label = Label(formula, style.HEADING, style.role(role).ink)
            parts.append(Down(label, panel.named(key), gap=4, align="middle", stands_on=1))
        rows.append(Across(*parts, gap=18))
    rows.append(_show_print(plan, plan.of("weights[i,j]")))
    return plan.compose(
        Down(*rows, gap=style.APART),
        title=plan.say("title", word=words[0]),
        note=plan.say("note"),
        origin=plan.say("worked"),
        callouts=[Callout("Z", plan.say("alone", word=words[0]), "below", 130)],
    )


def _show_print(plan: Outline, weights: Quantity) -> Node:
    """Return the softmax of two words as a note prints it, struck out, above the computed one."""
    rows: list[list[Node]] = []
    for row, values in PRINTED.items():
        printed = plan.give(f"printed_{row}", values)
        wrong: list[Node] = [Label(plan.say("printed", word=WORDS[plan.lang][row]), style.SMALL)]
        right: list[Node] = [Label(plan.say("right"), style.SMALL, style.role("weights").ink)]
        for j in range(len(values)):
            label = Label(f"{values[j]:.3f}", style.SMALL, style.SOFT, of=printed[j])
            wrong.append(Struck(label))
            number = Label(
                f"{float(weights[row, j]):.3f}", style.SMALL, bold=True, of=weights[row, j]
            )
            right.append(number)
        rows += [wrong, right]
    return Card(Columns(rows, gap=(16, 2), align=["end", *["end"] * 4]), pad=10)


@figure("where_mask")
def draw_before_and_after(plan: Outline, *, layer: int = 0, head: int = 0) -> Scene:
    """Show scores, masked scores and weights of the decoder's self-attention (V58)."""
    attention = find_attention(plan.trace, "decoder", layer)
    head, name = pick(head, plan.trace.settings.heads, "head"), attention.name
    count = min(FEW, len(attention.keys))
    shown, hidden = range(count), ~get_mask(plan.trace, name)[:count, :count]
    texts, side = attention.keys[:count], 26.0 * count
    stages = (
        ("scores", "scores", None),
        ("masked", "scores", hidden),
        ("weights", "weights", hidden),
    )
    scores = plan.of(f"{name}.scores[{head},q,m]").values[:count, :count]
    parts: list[Node] = []
    for key, role, mask in stages:
        share, look = key == "weights", style.role(role)
        panel = Panel(
            plan.of(f"{name}.{key}[{head},q,m]"),
            width=side,
            height=18.0 * count,
            digits=2,
            size=7.0,
            scale="share" if share else "signed",
            hidden=mask,
            only=(shown, shown),
            limit=1.0 if share else float(np.abs(scores).max()),
        )
        rows = texts if key == "scores" else ()
        told = Label(plan.say(key), style.BODY, look.ink, bold=True)
        parts.append(Matrix(panel, rows=rows, columns=texts, head=told, fit=64).named(key))
    return plan.compose(
        Across(*parts, gap=26),
        title=plan.say("title"),
        note=plan.say("note", where=attention.title(plan.lang), head=head)
        + tell_tokens_left_out(plan.lang, count, len(attention.keys)),
        links=[Link("scores", "masked"), Link("masked", "weights")],
        callouts=[Callout("masked", plan.say("never"), "below", 210)],
    )


@figure("three_masks")
def draw_three_masks(plan: Outline) -> Scene:
    """Show the masks of encoder, decoder and cross-attention, and why each cell is hidden (V62)."""
    pad = ["<pad>"] * PADDING
    source, target = (
        show_tokens(side)[: FEW + 1] + pad for side in (plan.trace.source, plan.trace.target)
    )
    s, t = (np.arange(len(side)) >= len(side) - PADDING for side in (source, target))
    later = ~np.tri(len(target), dtype=bool)
    uses = (
        ("encoder", source, source, np.tile(s, (len(source), 1)) * 1),
        ("decoder", target, target, np.maximum(later * 2, t * 1)),
        ("cross", target, source, np.tile(s, (len(target), 1)) * 1),
    )
    parts: list[Node] = []
    for key, rows, columns, why in uses:
        name = Label(plan.say(key), style.BODY, bold=True)
        cells = Reasons(why, (15.0, 15.0))
        parts.append(Matrix(cells, rows=rows, columns=columns, head=name, fit=54).named(key))
    keys = [
        Across(Reasons(np.array([[n]]), (20.0, 14.0)), Label(plan.say(reason), style.SMALL), gap=6)
        for n, reason in enumerate(REASONS)
    ]
    longest = max(len(plan.trace.source), len(plan.trace.target))
    return plan.compose(
        Down(Across(*parts, gap=16, align="bottom"), Across(*keys, gap=26), gap=20, align="middle"),
        title=plan.say("title"),
        note=plan.say("note", n=PADDING)
        + tell_tokens_left_out(plan.lang, min(longest, FEW + 1), longest),
    )
