"""Pictures of padding, of the longest sentence and of a batch (V59-V61)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .animate import Animation
from .canvas import Page
from .cells import heat, legend
from .masks import fit_cell, write_columns, write_rows
from .reencode import read_again
from .selection import Array, pick, show_tokens, tell_left_out

MOST = 144  # tokens drawn around the limit


def draw_padding(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    head: int = 0,
    short: int | None = None,
) -> Animation:
    """Draw a sentence and its own beginning, padded, in one batch (V59).

    head: of encoder layer 0; short: tokens of the beginning, whose last one is the end mark.
    """
    page, texts = Page(lang, ax), show_tokens(trace.source)
    head = pick(head, trace.settings.heads, "head")
    total = min(len(texts), 18)
    short = max(1, total // 2) if short is None else max(1, min(short, total))
    scores = score_beginning(trace, head, short)
    cell, size = fit_cell(total, 720, 40)
    padded = _end(texts[:short]) + ["<pad>"] * (total - short)
    hidden = np.broadcast_to(np.arange(total) >= short, (short, total))
    weights = np.zeros((short, total))
    weights[:, :short] = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    page.step(
        f"A sentence of {total} tokens, and one of {short} that is filled up to the same length.",
        f"一句有 {total} 个词元；另一句只有 {short} 个，被填充到同样长度。",
    )
    _draw_two(page, texts[:total], padded, cell, size)
    page.step(
        "Padding is hidden: the scores of its columns become −∞, not the words.",
        "遮住填充：其各列的得分变为 −∞，而不是改动词。",
    )
    heat(
        page,
        0,
        0,
        weights,
        cell * total,
        cell * short,
        role="weights",
        scale="share",
        limit=1,
        masked=hidden,
        derived=True,
    )
    write_columns(page, padded, 0, 0, cell, size)
    write_rows(page, padded[:short], 0, 0, cell, size)
    page.step(
        "So the shorter sentence is read as if it were alone: each row sums to 1 over its own "
        "tokens.",
        "于是短句如同独自被读：每行在自己的词元上之和为 1。",
    )
    for i in range(short):
        z = f"np.exp(score_beginning(trace, {head}, {short})[{i}])"
        page.number(
            cell * total + 18,
            (i + 0.5) * cell,
            float(weights[i].sum()),
            f"derived:({z} / {z}.sum()).sum()",
            size=theme.TINY,
        )
    page.text(cell * total + 18, -8, "Σ", ha="center", bold=True)
    legend(page, 0, cell * short + 12, "share", 1, label=page.say("weight", "权重"))
    more = page.say(
        f" The first {total} of {len(texts)} tokens are drawn.",
        f"只画出 {len(texts)} 个词元中的前 {total} 个。",
    )
    return page.animate(
        page.say("Padding: a short sentence beside a longer one", "填充：短句与长句同批"),
        page.say(
            f"Encoder, layer 0, head {head}. Rows read, columns are read.",
            f"编码器第 0 层，头 {head}。行读取，列被读。",
        )
        + (more if total < len(texts) else ""),
    )


def _end(texts: list[str]) -> list[str]:
    """Return as many tokens, with the end mark as the last one."""
    return [*texts[:-1], "</s>"]


def score_beginning(trace: Any, head: int, short: int) -> Array:
    """Return the scores of encoder layer 0 for the beginning of the sentence, in float64.

    The beginning is `short` tokens, whose last one is the end mark.
    """
    rows, name = [*range(short - 1), len(trace.source) - 1], "source_embedding"
    given = {
        f"{name}.embedded": trace[f"{name}.embedded"][rows],
        f"{name}.positions": trace[f"{name}.positions"][:short],
    }
    fetch = read_again(trace, [trace.source[row].id for row in rows], given)
    scores: Array = fetch("encoder.0.self_attention.scores")[head]
    return scores


def _draw_two(page: Page, whole: list[str], padded: list[str], cell: float, size: float) -> None:
    """Draw the tokens of the longer sentence above those of the shorter one."""
    for row, shown in enumerate((whole, padded)):
        for j, text in enumerate(shown):
            out = text == "<pad>"
            page.box(
                j * cell,
                -128 + row * 26,
                cell - 1,
                22,
                fill=theme.PAPER if out else theme.role("embedded").fill,
                edge=theme.role("embedded").ink if not out else theme.FAINT,
                hatch="/////" if out else None,
                round=2,
            )
            page.text(
                (j + 0.5) * cell,
                -117 + row * 26,
                text,
                size=theme.TINY,
                mono=True,
                ha="center",
                width=cell - 1,
            )


def draw_longest(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    longest: int | None = None,
) -> Figure:
    """Draw which tokens do not fit into `longest` positions, instead of the model's own (V60)."""
    page, texts = Page(lang, ax), show_tokens(trace.source)
    own = trace.settings.positions.max_positions
    longest = max(2, len(texts) * 2 // 3) if longest is None else longest
    columns, wide = 12, 58.0
    first = max(0, min(longest - MOST // 2, len(texts) - MOST)) // columns * columns
    shown = range(first, min(first + MOST, len(texts)))
    for i in shown:
        row, column = divmod(i - first, columns)
        x, y, out = column * wide, row * 44.0, i >= longest
        role = theme.role("plain" if out else "embedded")
        page.box(x, y, wide - 5, 22, fill=role.fill, edge=theme.FAINT if out else role.ink)
        page.text(
            x + wide / 2 - 2.5,
            y + 11,
            texts[i],
            size=theme.SMALL,
            mono=True,
            ha="center",
            width=wide - 9,
            color=theme.SOFT if out else theme.INK,
        )
        page.text(
            x + wide / 2 - 2.5, y + 30, str(i), size=theme.TINY, ha="center", color=theme.SOFT
        )
        if out:
            page.line(
                [(x + 3, y + 11), (x + wide - 8, y + 11)], color="#b03030", width=1.4, layer=7
            )
    return page.finish(
        page.say(
            f"If there were {longest} positions, the rest would not fit",
            f"若只有 {longest} 个位置，其余的放不下",
        ),
        page.say(
            f"This model has {own} positions; {longest} is chosen here to show it. Attention "
            "itself takes any length: the limit "
            "is the table of positions, and what was seen in training. Nothing is cut in silence: "
            "longer pairs are left out of "
            "training and counted, longer texts are translated in parts.",
            f"该模型有 {own} 个位置；这里取 {longest} 只为说明。注意力本身不限长度：限制来自位置表"
            "和训练所见。不会默默截断："
            "训练时过长的句对被剔除并计数，过长的文本分段翻译。",
        )
        + tell_left_out(page, len(shown), len(texts)),
    )


def draw_batch(trace: Any, *, lang: str = "en", ax: Axes | None = None) -> Figure:
    """Draw a batch: sentences below each other, positions from left to right (V61)."""
    page, texts = Page(lang, ax), show_tokens(trace.source)
    total = min(len(texts), 16)
    lengths = sorted(
        {total, max(1, total * 2 // 3), max(1, total // 2), max(1, total // 3)}, reverse=True
    )
    wide = 46.0
    for row, length in enumerate(lengths):
        shown = _end(texts[:length]) + ["<pad>"] * (total - length)
        for j, text in enumerate(shown):
            out, role = j >= length, theme.role("embedded")
            page.box(
                j * wide,
                row * 30,
                wide - 4,
                24,
                fill=theme.PAPER if out else role.fill,
                edge=theme.FAINT if out else role.ink,
                hatch="/////" if out else None,
            )
            page.text(
                j * wide + wide / 2 - 2,
                row * 30 + 12,
                text,
                size=theme.TINY,
                mono=True,
                ha="center",
                width=wide - 6,
                color=theme.SOFT if out else theme.INK,
            )
    high = len(lengths) * 30 - 6.0
    page.brace(
        0,
        total * wide - 4,
        high + 8,
        page.say(f"{total} positions: the longest sentence", f"{total} 个位置：最长的句子"),
    )
    page.line([(-8, 0), (-14, 0), (-14, high), (-8, high)])
    page.text(
        -20,
        high / 2,
        page.say(f"{len(lengths)} sentences", f"{len(lengths)} 个句子"),
        ha="right",
        size=theme.SMALL,
        color=theme.SOFT,
    )
    filled = sum(lengths)
    return page.finish(
        page.say("A batch: sentences down, positions across", "一个批次：向下是句子，向右是位置"),
        page.say(
            "Batch size is how many sentences there are, length how many positions; they are not "
            f"the same. {filled} of "
            f"{total * len(lengths)} places hold a token, the hatched ones padding. The sentences "
            "are beginnings of the one recorded.",
            f"批大小是句子的数目，长度是位置的数目，两者不同。{total * len(lengths)} 个位置中 "
            f"{filled} 个是词元，阴影处是填充。"
            "这些句子是所录句子的开头部分。",
        ),
    )
