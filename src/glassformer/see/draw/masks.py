"""Pictures of the causal mask: its matrix, a worked example, before and after (V56-V58)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .cells import find_limit, heat, legend, matrix
from .selection import (
    Array,
    find_attention,
    get_mask,
    label_rows,
    pick,
    show_tokens,
    tell_left_out,
)

MOST = 48  # rows and columns that have space for their names

WORDS = {"en": ("I", "like", "learning", "coding"), "zh": ("我", "喜欢", "学习", "编程")}
X = np.array([[0.5, 0.1, 0.3], [0.7, 0.2, 0.9], [0.6, 0.4, 0.8], [0.8, 0.3, 0.5]])
W_K = np.array([[0.5, 0.1, 0.3], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6]])


def work_out() -> dict[str, Array]:
    """Return masked attention on four words of three numbers; W_Q and W_V are the identity.

    The names are those that the picture prints, from X to the weighted values.
    """
    k = X @ W_K
    scores = X @ k.T
    scaled = scores / np.sqrt(3)
    masked = np.where(np.tri(4, dtype=bool), scaled, -np.inf)
    weights = np.exp(masked) / np.exp(masked).sum(1, keepdims=True)
    return {
        "X": X,
        "W_K": W_K,
        "K": k,
        "QKᵀ": scores,
        "QKᵀ / √3": scaled,
        "+ M": masked,
        "softmax": weights,
        "· V": weights @ X,
    }


PRINTED = {1: ("0.445", "0.555"), 3: ("0.250", "0.298", "0.236", "0.216")}  # in the lecture note


def _compare_with_print(page: Page, x: float, y: float, lang: str) -> None:
    """Draw the softmax of two words as the note prints it, beside the computed one."""
    weights = work_out()["softmax"]
    title = page.say("softmax, as a lecture note prints it", "softmax，讲义上的印刷值")
    page.text(x, y - 10, title, bold=True, color=theme.SOFT)
    for line, (row, values) in enumerate(PRINTED.items()):
        top = y + 12 + 48 * line
        page.text(x + 56, top, WORDS[lang][row], ha="right", size=theme.SMALL)
        page.text(
            x + 56,
            top + 18,
            page.say("right", "正确"),
            ha="right",
            size=theme.SMALL,
            color=theme.role("weights").ink,
        )
        for j, value in enumerate(values):
            wide = 44.0
            page.text(
                x + 84 + wide * j,
                top,
                value,
                ha="center",
                size=theme.SMALL,
                color=theme.SOFT,
                gid="worked",
            )
            page.line(
                [(x + 70 + wide * j, top), (x + 98 + wide * j, top)],
                color="#b03030",
                width=0.9,
                layer=7,
            )
            page.number(
                x + 84 + wide * j,
                top + 18,
                float(weights[row, j]),
                f"derived:work_out()['softmax'][{row},{j}]",
                digits=3,
                bold=True,
                color=theme.role("weights").ink,
            )


def write_columns(
    page: Page, texts: list[str], x: float, y: float, cell: float, size: float
) -> None:
    """Write names above columns, rotated by 90 degrees."""
    for j, text in enumerate(texts):
        page.text(
            x + (j + 0.5) * cell + 1, y - 5, text, size=size, mono=True, rotation=90, width=70
        )
    longest = max(len(text) for text in texts)
    page.reach(x, y - 8 - min(70.0, longest * size * 0.62), len(texts) * cell)


def write_rows(page: Page, texts: list[str], x: float, y: float, cell: float, size: float) -> None:
    for i, text in enumerate(texts):
        page.text(x - 6, y + (i + 0.5) * cell, text, size=size, mono=True, ha="right", width=150)


def fit_cell(count: int, most: float, widest: float = 24.0) -> tuple[float, float]:
    """Return the size of a cell, so that `count` of them take at most `most`, and its type size."""
    cell = min(widest, most / count)
    return cell, max(4.5, min(theme.SMALL, cell * 0.55))


def draw_causal_mask(trace: Any, *, lang: str = "en", ax: Axes | None = None) -> Figure:
    """Draw the causal mask M for four positions, and for this translation (V56)."""
    page = Page(lang, ax)
    small = np.where(np.tri(4, dtype=bool), 0.0, -np.inf)
    matrix(
        page,
        0,
        60,
        small,
        "scores",
        "schematic",
        masked=np.isinf(small),
        digits=0,
        cell=(34, 34),
        size=11,
    )
    page.text(68, 40, page.say("M for 4 positions", "4 个位置的 M"), bold=True, ha="center")
    may = get_mask(trace, "decoder.0.self_attention")[:MOST, :MOST]
    cell, size = fit_cell(len(may), 420)
    texts = show_tokens(trace.target)[:MOST]
    left = 290.0
    heat(
        page,
        left,
        0,
        np.zeros(may.shape),
        cell * len(may),
        cell * len(may),
        role="scores",
        masked=~may,
    )
    write_columns(page, texts, left, 0, cell, size)
    write_rows(page, label_rows(trace)[:MOST], left, 0, cell, size)
    page.text(
        left - 6,
        -18,
        page.say("reads ↓", "读取者 ↓"),
        size=theme.SMALL,
        ha="right",
        bold=True,
        color=theme.role("query").ink,
    )
    page.text(
        left + cell * len(may) / 2,
        page.top - 8,
        page.say("is read →", "被读者 →"),
        size=theme.SMALL,
        ha="center",
        bold=True,
        color=theme.role("key").ink,
    )
    for t in range(len(may)) if cell >= 16 else ():
        for j in range(len(may)):
            value = 0.0 if may[t, j] else -np.inf
            of = f'derived:np.where(trace["decoder.0.self_attention.mask"][0], 0, -np.inf)[{t},{j}]'
            page.number(
                left + (j + 0.5) * cell,
                (t + 0.5) * cell,
                value,
                of,
                digits=0,
                size=size,
                color=theme.SOFT,
            )
    return page.finish(
        page.say("The causal mask: nobody looks ahead", "因果掩码：谁也不能往后看"),
        page.say(
            "Added to the scores before the softmax: 0 leaves a score as it is, −∞ (hatched) makes "
            "its weight exactly 0. "
            "Hidden is what lies strictly above the diagonal; each position sees itself.",
            "在 softmax 之前加到得分上：0 不改变得分，−∞（阴影）使权重恰为 0。被遮住的是严格的上三"
            "角；每个位置都看得到自己。",
        )
        + tell_left_out(page, len(may), len(trace.target)),
    )


def draw_worked_mask(trace: Any, *, lang: str = "en", ax: Axes | None = None) -> Figure:
    """Draw the worked example, from X to the output; it reads nothing from the recording (V57)."""
    page = Page(lang, ax)
    roles = ("embedded", "linear", "key", "scores", "scores", "scores", "weights", "heads")
    x, y = 70.0, 0.0
    for (name, values), role in zip(work_out().items(), roles, strict=True):
        if name in ("QKᵀ / √3", "· V"):
            x, y = 70.0, y + 138
        masked = ~np.tri(4, dtype=bool) if name in ("+ M", "softmax") else None
        digits = 4 if name in ("QKᵀ / √3", "+ M", "softmax", "· V") else 3 if name == "QKᵀ" else 2
        label = "softmax · V = Z" if name == "· V" else name
        page.text(x + 2, y - 10, label, bold=True, color=theme.role(role).ink)
        shown = f"derived:work_out()['{name}'][{{i}},{{j}}]"
        rect = matrix(
            page,
            x,
            y,
            values,
            role,
            shown,
            masked=masked,
            digits=digits,
            cell=(44, 24),
            learned=name == "W_K",
        )
        if x == 70:
            for i, word in enumerate(WORDS[lang]):
                page.text(62, y + 12 + 24 * i, word, ha="right", size=theme.SMALL)
        x = rect.right + 34
    _compare_with_print(page, x + 20, y, lang)
    return page.finish(
        page.say("Masked attention, worked out by hand", "手算带掩码的注意力"),
        page.say(
            "Four words of three numbers, W_Q = W_V = I, so Q = V = X; K = X W_K. d_k = 3. The "
            "first word can see "
            "only itself, so its answer is its own value.",
            "四个词，每个三个数，W_Q = W_V = I，因此 Q = V = X；K = X W_K，d_k = 3。第一个词只能看"
            "到自己，所以结果就是它自己的值。",
        ),
    )


def draw_before_and_after(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    layer: int = 0,
    head: int = 0,
) -> Figure:
    """Draw scores, masked scores and weights of the decoder's self-attention (V58)."""
    page, attention = Page(lang, ax), find_attention(trace, "decoder", layer)
    head, name = pick(head, trace.settings.heads, "head"), attention.name
    may = get_mask(trace, name)[:MOST, :MOST]
    scores, weights = (trace[f"{name}.{w}"][head, :MOST, :MOST] for w in ("scores", "weights"))
    cell, size = fit_cell(len(scores), 300, 34)
    limit, wide = find_limit(scores), cell * len(scores)
    texts = show_tokens(trace.target)[:MOST]
    stages = (
        (page.say("scores", "得分"), scores, None, "scores"),
        (page.say("+ M: hidden are −∞", "+ M：遮住处为 −∞"), scores, ~may, "scores"),
        (page.say("softmax: hidden are 0", "softmax：遮住处为 0"), weights, ~may, "weights"),
    )
    for n, (label, values, masked, role) in enumerate(stages):
        x, share = n * (wide + 46), role == "weights"
        heat(
            page,
            x,
            0,
            values,
            wide,
            wide,
            role=role,
            scale="share" if share else "signed",
            limit=1 if share else limit,
            masked=masked,
        )
        write_columns(page, texts, x, 0, cell, size)
        page.text(
            x + wide / 2, wide + 16, label, bold=True, ha="center", color=theme.role(role).ink
        )
        legend(page, x, wide + 30, "share" if share else "signed", 1 if share else limit)
        for t, j in np.ndindex(values.shape) if cell >= 20 else ():
            hidden = masked is not None and bool(masked[t, j])
            value = float(-np.inf if hidden and not share else values[t, j])
            window = "weights" if share else "scores"
            plain = f'trace["{name}.{window}"][{head},{t},{j}]'
            of = "derived:-np.inf" if hidden and not share else f"derived:{plain}"
            shade = theme.SHARE(value) if share else theme.SIGNED(0.5 + values[t, j] / limit / 2)
            page.number(
                x + (j + 0.5) * cell,
                (t + 0.5) * cell,
                value,
                of,
                digits=2,
                size=size * 0.72,
                color=theme.SOFT if hidden else theme.ink_on(shade),
            )
    write_rows(page, attention.queries[:MOST], 0, 0, cell, size)
    return page.finish(
        page.say(
            "Where the mask goes: between the scores and the softmax",
            "掩码加在哪里：得分与 softmax 之间",
        ),
        page.join(attention.title(lang), page.say(f"head {head}", f"头 {head}"))
        + page.say(
            " Rows read (what goes in → what should come out), columns are read. A row of weights "
            "sums to 1 over what may be seen.",
            "行读取（读入 → 应输出），列被读。每行权重在可见范围内之和为 1。",
        )
        + tell_left_out(page, len(scores), len(trace.target)),
    )
