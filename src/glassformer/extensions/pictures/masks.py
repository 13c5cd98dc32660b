"""Figures of masks: what may not be seen, where it is said, and why (V56-V58, V62)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .parts import grammar as g
from .parts import style
from .parts.selection import get_mask, pick, tell_tokens

ROWS, FEW, PADDING = 24, 7, 2  # tokens of a mask; with numbers; padding that is added
WORDS = {"en": ("I", "like", "learning", "coding"), "zh": ("我", "喜欢", "学习", "编程")}
X = np.array([[0.5, 0.1, 0.3], [0.7, 0.2, 0.9], [0.6, 0.4, 0.8], [0.8, 0.3, 0.5]])
W_K = np.array([[0.5, 0.1, 0.3], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6]])
LINES = (  # of the worked example: the role and formula of each matrix
    {"X": ("sum", "$X$"), "W": ("linear", "$× W_K$"), "K": ("key", "$= K$")}
    | {"scores": ("scores", "$X K^T$")},
    {"scaled": ("scores", "$÷ √3$"), "masked": ("scores", "$+ M$")}
    | {"weights": ("weights", "$softmax$"), "Z": ("heads", "$softmax · X = Z$")},
)
PRINTED = {1: (0.445, 0.555), 3: (0.250, 0.298, 0.236, 0.216)}  # in a lecture note, by row


def work_out() -> dict[str, g.Array]:
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


@g.figure("causal")
def draw_causal_mask(plan: g.Outline) -> g.Scene:
    """Show the causal mask M of four positions, and that of this translation (V56)."""
    four = plan.give("M", np.where(np.tri(4, dtype=bool), 0.0, -np.inf))
    may = get_mask(plan.trace, "decoder.0.self_attention")[:ROWS, :ROWS]
    texts = plan.target[:ROWS]
    small = g.Panel(
        four, width=136, height=136, digits=0, size=style.HEADING, hidden=np.isinf(four.values)
    )
    cell, _ = fit_cell(len(texts), 300)
    side = cell * len(texts)
    own = g.Panel(np.zeros(may.shape), width=side, height=side, hidden=~may, edge=style.SOFT)
    left = g.middle(small.named("M"), plan.small("four"), gap=6)
    whole = g.Matrix(own, rows=texts, columns=texts, fit=70)
    hidden, count = int((~may).sum()), may.size
    return plan.compose(
        g.Across(left, whole, gap=style.FAR),
        left=(len(texts), len(plan.trace.target)),
        callouts=[g.Callout("M[0,3]", "closed", "above", 150)],
        hidden=hidden,
        all=count,
    )


@g.figure("worked_mask")
def draw_worked_mask(plan: g.Outline) -> g.Scene:
    """Show masked attention worked out on four words, and what a note printed wrongly (V57)."""
    result, words, wide = work_out(), WORDS[plan.lang], 34.0
    rows: list[g.Node] = []
    for line in LINES:
        names = [g.Slot(g.Label(word), 58, "end", 22) for word in words]
        parts: list[g.Node] = [g.Down(*names, gap=0)]
        for key, (role, formula) in line.items():
            values = plan.give(key, result[key])
            hidden = np.isinf(result["masked"]) if key in ("masked", "weights") else None
            size = {"width": wide * values.shape[1], "height": 22.0 * len(values)}
            look = {"scale": "share" if key == "weights" else "signed", "hidden": hidden}
            edge = role if key == "W" else ""
            panel = g.Panel(values, digits=2, limit=1.0, edge=edge, **size, **look)  # type: ignore[arg-type]
            label = g.Label(formula, style.HEADING, role)
            parts.append(g.middle(label, panel.named(key), gap=4, stands_on=1))
        rows.append(g.Across(*parts, gap=18))
    rows.append(_show_print(plan, plan.of("weights[i,j]")))
    return plan.compose(
        g.Down(*rows, gap=style.APART),
        origin="worked",
        callouts=[g.Callout("Z[0,2]", "alone", "right", 70)],
        word=words[0],
    )


def _show_print(plan: g.Outline, weights: g.Quantity) -> g.Node:
    """Return the softmax of two words as a note prints it, struck out, above the computed one."""
    rows: list[list[g.Node]] = []
    for row, values in PRINTED.items():
        printed = plan.give(f"printed_{row}", values)
        wrong: list[g.Node] = [
            g.Label(plan.say("printed", word=WORDS[plan.lang][row]), style.SMALL)
        ]
        right: list[g.Node] = [plan.small("right", "weights")]
        for j in range(len(values)):
            label = g.small(f"{values[j]:.3f}", of=printed[j])
            wrong.append(g.Struck(label))
            number = g.Label(
                f"{float(weights[row, j]):.3f}", style.SMALL, bold=True, of=weights[row, j]
            )
            right.append(number)
        rows += [wrong, right]
    return g.Card(g.Columns(rows, gap=(16, 2), align="r"), pad=10)


STAGES = ("scores", "masked", "weights")


def show_stages(
    plan: g.Outline,
    stages: Sequence[g.Quantity],
    only: tuple[Sequence[int], Sequence[int]],
    names: Sequence[str],
    hidden: g.Array,
    *,
    high: float = 18.0,
    sums: Sequence[g.Node] = (),
) -> list[g.Matrix]:
    """Return scores, masked scores and weights: the rows and columns `only`, hidden where masked.

    Sums stand behind the weights.
    """
    parts = []
    limit = g.find_largest([stages[0].values[np.ix_(*only)]])
    for key, values in zip(STAGES, stages, strict=True):
        first, last = key == STAGES[0], key == STAGES[-1]
        panel = g.Panel(
            values,
            width=26.0 * len(only[1]),
            height=high * len(only[0]),
            scale="share" if last else "signed",
            limit=1.0 if last else limit,
            digits=2,
            size=7.0,
            only=only,
            hidden=None if first else hidden,
        )
        panel.named(f"{key} cells")
        head = plan.label(key, ink="weights" if last else "scores", bold=True)
        rows, ends = names[: len(only[0])] if first else (), sums if last else ()
        matrix = g.Matrix(panel, rows=rows, columns=names, head=head, sums=ends, fit=62)
        parts.append(matrix.named(key))
    return parts


@g.figure("where_mask")
def draw_before_and_after(plan: g.Outline, *, layer: int = 0, head: int = 0) -> g.Scene:
    """Show scores, masked scores and weights of the decoder's self-attention (V58)."""
    attention = plan.attention("decoder", layer)
    head, name = pick(head, plan.settings.heads, "head"), attention.name
    count = min(FEW - 1, len(attention.keys))
    hidden = ~get_mask(plan.trace, name)[:count, :count]
    stages = [plan.of(f"{name}.{key}[{head},q,m]") for key in STAGES]
    only = range(count), range(count)
    parts = show_stages(plan, stages, only, attention.keys[:count], hidden)
    return plan.compose(
        g.Across(*parts, gap=26),
        left=(count, len(attention.keys)),
        links=[g.Link("scores", "masked"), g.Link("masked", "weights")],
        callouts=[g.Callout(f"weights cells[0,{count - 1}]", "never", "right", 76)],
        head=head,
    )


@g.figure("three_masks")
def draw_three_masks(plan: g.Outline) -> g.Scene:
    """Show the masks of encoder, decoder and cross-attention, and why each cell is hidden (V62)."""
    pad = ["<pad>"] * PADDING
    source, target = (
        tell_tokens(side)[: FEW + 1] + pad for side in (plan.trace.source, plan.trace.target)
    )
    s, t = (np.arange(len(side)) >= len(side) - PADDING for side in (source, target))
    later = ~np.tri(len(target), dtype=bool)
    uses = (
        ("encoder", source, source, np.tile(s, (len(source), 1)) * 1),
        ("decoder", target, target, np.maximum(later * 2, t * 1)),
        ("cross", target, source, np.tile(s, (len(target), 1)) * 1),
    )
    parts = []
    for key, rows, columns, why in uses:
        parts.append(
            g.Matrix(
                g.Reasons(why, (15.0, 15.0)),
                rows=rows,
                columns=columns,
                head=plan.label(key, bold=True),
                fit=54,
            )
        )
    keys = [
        g.Across(g.Reasons(np.array([[n]]), (20.0, 14.0)), plan.label(reason, style.SMALL), gap=6)
        for n, reason in enumerate(g.REASONS)
    ]
    longest = max(len(plan.trace.source), len(plan.trace.target))
    return plan.compose(
        g.middle(g.Across(*parts, gap=16, align="bottom"), g.Across(*keys, gap=26), gap=20),
        left=(min(longest, FEW + 1), longest),
        n=PADDING,
    )
