"""Figures of padding, of the longest sentence and of a batch (V59-V61)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from glassformer.config import PAD

from .masks import STAGES, show_stages
from .parts import grammar as g
from .parts import style
from .parts.selection import elide, pick
from .reencode import read_again

PADDING, FEW, MOST = 2, 6, 60  # places of padding; tokens with numbers; tokens around the limit
FROM_ABOVE = (0.0, -40.0)
WIDE, LONGEST = 50.0, 9  # of a token; tokens of a batch
BATCH = (  # sentences beside the one that is recorded; those of its own language are drawn
    ("The cat is on the mat .", "I am a student .", "Thanks !"),
    ("Le chat est sur le tapis .", "Je suis étudiant .", "Merci !"),
    ("猫 在 垫子 上 。", "我 是 学生 。", "谢谢 ！"),
)


def choose_batch(text: str) -> tuple[str, ...]:
    """Return the example sentences in the language of a text: those that share most words."""
    if re.search(r"[\u4e00-\u9fff]", text):
        return BATCH[2]
    words = set(re.findall(r"\w+", text.lower()))
    return max(BATCH[:2], key=lambda each: len(words & set(" ".join(each).lower().split())))


def score_padded(trace: Any, head: int) -> g.Array:
    """Return the scores of encoder layer 0, before the mask, with padding after the sentence.

    They are recomputed in float64, as in a batch with a longer sentence.
    """
    ids = [token.id for token in trace.source] + [PAD] * PADDING
    scores: g.Array = read_again(trace, ids)("encoder.0.self_attention.scores")[head]
    return scores


class Masking(g.Node):
    """Cells that arrive bare at step 2 of an animation, and are hatched at the next one."""

    def __init__(self, bare: g.Panel, masked: g.Panel):
        self.bare, self.masked, self.cell = bare, masked.at(3), masked.cell
        self.width, self.height = masked.width, masked.height

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        below = g.Sheet()
        self.bare.place(below, x, y)
        for mark in below.marks:  # until the hatched cells have come over them
            layer = int(isinstance(mark, g.TextMark))
            sheet.add(replace(mark, step=2, until=4, start=FROM_ABOVE, layer=layer))
        self.masked.place(sheet, x, y)


@g.figure("padding")
def draw_padding(plan: g.Outline, *, head: int = 0) -> g.Scene:
    """Show a sentence with padding behind it: scores, scores under the mask, weights (V59)."""
    texts, count = plan.source, len(plan.trace.source)
    head = pick(head, plan.settings.heads, "head")
    rows = range(min(count, FEW))
    columns = [*rows, *range(count, count + PADDING)]
    scores = score_padded(plan.trace, head)
    masked = np.where(np.arange(count + PADDING) < count, scores, -np.inf)
    weights = np.exp(masked - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    hidden = np.broadcast_to(np.array(columns) >= count, (len(rows), len(columns)))
    names = [*texts[: len(rows)], *["<pad>"] * PADDING]
    result = zip(STAGES, (scores, masked, weights), strict=True)
    stages = [plan.give(key, values[:count]) for key, values in result]
    sums = [_add_up(plan, f"weights[{i},", columns[: len(rows)], count > len(rows)) for i in rows]
    sums = [each.at(4) for each in sums]
    only = rows, columns
    parts = show_stages(plan, stages, only, names, hidden, high=20.0, sums=sums)
    bare, covered, after = (part.cells for part in parts)
    assert isinstance(bare, g.Panel) and isinstance(covered, g.Panel)
    assert isinstance(after, g.Panel)
    copy = g.Panel(
        stages[0],
        digits=2,
        size=bare.size,
        only=only,
        width=bare.width,
        height=bare.height,
        limit=bare.limit,
    )
    parts[1].cells = Masking(copy, covered)
    bare.at(1, FROM_ABOVE)
    after.at(4, FROM_ABOVE)
    return plan.compose(
        g.Across(*parts, gap=22),
        left=(len(rows), count),
        links=[
            g.Link(*pair, step=step) for pair, step in zip(pairwise(STAGES), (2, 4), strict=True)
        ],
        callouts=[
            g.Callout(f"weights cells[{len(rows) - 1},{len(rows)}]", "alone", "below", 200, step=4)
        ],
        captions=[plan.say(f"caption_{n}") for n in range(1, 5)],
        head=head,
        n=PADDING,
    )


def _add_up(plan: g.Outline, row: str, shown: Sequence[int], more: bool) -> g.Node:
    """Return what the weights of the tokens that are left out add, and the sum of a row."""
    total = plan.of(f"sum[j] {row}j]")
    rest = plan.of(" - ".join([total.source, *(f"{row}{j}]" for j in shown)]))
    look = {"size": style.TINY, "ink": style.SOFT}
    parts = [g.Numeral(rest, before="+ ", **look)] if more else []  # type: ignore[arg-type]
    return g.Across(*parts, g.Numeral(total, before="= ", **look), gap=3)  # type: ignore[arg-type]


@g.figure("longest")
def draw_longest(plan: g.Outline, *, longest: int | None = None) -> g.Scene:
    """Show which tokens do not fit into `longest` positions, instead of the model's own (V60)."""
    texts = plan.source
    own = plan.settings.positions.max_positions
    longest = max(2, len(texts) * 2 // 3) if longest is None else longest
    first = max(0, min(longest - MOST // 2, len(texts) - MOST)) // 12 * 12
    shown = range(first, min(first + MOST, len(texts)))
    cells: list[g.Node] = []
    across = -(-len(shown) // -(-len(shown) // 12))  # in a line, of lines that are equally long
    wide = min(74.0, 600 / across)
    for i in shown:
        out = i >= longest
        chip = g.Chip(texts[i], "" if out else "embedded", fit=wide - 14, width=wide)
        chip.faded(0.45 if out else 1.0)
        place = g.tiny(str(i), style.LIT if out else style.SOFT)
        cells.append(g.middle(chip, place, gap=1).named(f"token {i}"))
    rest = max(0, len(texts) - longest)
    callouts = []
    if rest and longest in shown:
        is_last_line = (shown[-1] - shown[0]) // across == (longest - shown[0]) // across
        at = longest if is_last_line else shown[-1]
        callouts = [g.Callout(f"token {at}", plan.say("limit", n=longest), "below", 170)]
    return plan.compose(
        g.Columns([cells[n : n + across] for n in range(0, len(cells), across)], gap=(4, 8)),
        title="title" if rest else "fits",
        left=(len(shown), len(texts)),
        callouts=callouts,
        longest=longest,
        n=rest,
        fitting=len(texts) - rest,
        all=len(texts),
        own=own,
    )


@g.figure("batch")
def draw_batch(plan: g.Outline) -> g.Scene:
    """Show a batch: four sentences below each other, filled up to the longest one (V61)."""
    own = plan.source
    others = [[*each.split(), "</s>"] for each in choose_batch(plan.trace.text)]
    lines = sorted([own, *others], key=len, reverse=True)
    total = len(lines[0])
    shown = elide(total, LONGEST)
    rows: list[list[g.Node]] = []
    for line in lines:
        padded = line + ["<pad>"] * (total - len(line))
        is_own = line is own
        row: list[g.Node] = [g.small(plan.say("yours") if is_own else "")]
        for n in shown:
            if n is None:
                row.append(g.Label("…", ink=style.SOFT))
                continue
            out = n >= len(line)
            look = {"role": "" if out else "embedded", "hatch": "/" if out else "", "lit": is_own}
            row.append(g.Chip(padded[n], size=style.SMALL, fit=WIDE - 12, width=WIDE, **look))  # type: ignore[arg-type]
        rows.append(row)
    filled, size = sum(map(len, lines)), total * len(lines)
    grid = g.Columns(rows, gap=(4, 6), align="rm")
    across = g.small(plan.say("across", n=total))
    down = g.small(plan.say("down", n=len(lines)), upright=True)
    body = g.Down(
        g.Slot(across, grid.width), g.Across(down, grid.named("grid"), gap=6), gap=6, align="end"
    )
    return plan.compose(
        body, callouts=[g.Callout("grid", "cost", "below", 300)], n=size - filled, all=size
    )
