"""Pictures of the choice of a token from the decoder's last vector (V80, V83)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .cells import find_limit, heat, legend, strip
from .selection import Array, find_query, show_token, show_tokens
from .sublayers import as_raster

K = 10


def find_step(trace: Any, step: int | str | None) -> int:
    """Return a row of the decoder: by number, by predicted token, or by default the third."""
    if step is None:
        return min(2, len(trace.predicted) - 1)
    return find_query(show_tokens(trace.predicted), step, "step")


def draw_final(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    step: int | str | None = None,
) -> Figure:
    """Draw one prediction: the last vector, the linear map, the softmax, the best tokens (V80)."""
    page, t = Page(lang, ax), find_step(trace, step)
    logits = trace["logits"][t]
    strip(
        page,
        0,
        60,
        trace["last"][t],
        "decoder",
        ("last", (t,)),
        shown=6,
        cell=(36, 20),
        upright=True,
    )
    page.text(
        18, 44, page.say("last vector", "最后的向量"), size=theme.SMALL, ha="center", bold=True
    )
    for x, role, label, size in (
        (66, "linear", page.say("Linear", "线性"), f"{trace['last'].shape[1]} × {len(logits)}"),
        (348, "softmax", "Softmax", ""),
    ):
        look = theme.role(role)
        page.arrow((x - 22, 120), (x, 120))
        page.box(
            x + 2,
            96,
            62,
            48,
            fill=look.fill,
            edge=look.ink,
            line=2 if role == "linear" else 1,
            label=label,
            bold=True,
        )
        page.text(x + 33, 154, size, size=theme.TINY, color=theme.SOFT, ha="center")
        page.arrow((x + 66, 120), (x + 86, 120))
    raster, limit = as_raster(logits), find_limit(logits)
    high = 160 * raster.shape[0] / raster.shape[1]
    heat(page, 156, 120 - high / 2, raster, 160, high, role="logits", limit=limit)
    page.text(
        236,
        120 - high / 2 - 11,
        page.say(f"{len(logits)} logits, one a token", f"{len(logits)} 个 logit，每词元一个"),
        size=theme.SMALL,
        ha="center",
        bold=True,
        color=theme.role("logits").ink,
    )
    legend(page, 181, 120 + high / 2 + 8, "signed", limit)
    _place_best(page, raster, int(logits.argmax()), (156, 120 - high / 2, 160, high))
    _list_best(page, trace, t, 446)
    given, written = (show_token(side[t].text) for side in (trace.target, trace.predicted))
    return page.finish(
        page.say(f"From a vector to a word: “{written}”", f"从向量到词：“{written}”"),
        page.say(
            f"Row {t} of the decoder, which reads “{given}”. The ring is the largest logit; the "
            "exponentials of all "
            "logits, divided by their sum, are the probabilities.",
            f"解码器第 {t} 行，读入“{given}”。圆圈处是最大的 logit；所有 logit 取指数再除以总和即为"
            "概率。",
        ),
    )


def _place_best(
    page: Page, raster: Array, best: int, rect: tuple[float, float, float, float]
) -> None:
    """Draw a ring around one unit of a raster."""
    row, column = divmod(best, raster.shape[1])
    x = rect[0] + (column + 0.5) / raster.shape[1] * rect[2]
    y = rect[1] + (row + 0.5) / raster.shape[0] * rect[3]
    page.box(x - 6, y - 6, 12, 12, fill="none", edge="#b03030", round=6, line=2, layer=6)


def _list_best(page: Page, trace: Any, t: int, x: float) -> None:
    """List the most probable tokens: id, text, logit, probability."""
    heads = (
        ("id", 22, "right"),
        (page.say("token", "词元"), 32, "left"),
        ("logit", 150, "right"),
        (page.say("probability", "概率"), 166, "left"),
    )
    for text, offset, ha in heads:
        page.text(x + offset, 0, text, size=theme.SMALL, color=theme.SOFT, ha=ha)
    role = theme.role("softmax")
    for n, choice in enumerate(trace.top(t, min(K, len(trace.predictions[t].ids)))):
        y, share = 20 + n * 21, float(np.exp(choice.log_prob))
        taken = choice.id == trace.predicted[t].id
        page.text(
            x + 22, y, str(choice.id), size=theme.TINY, color=theme.SOFT, ha="right", gid="id"
        )
        page.text(x + 32, y, show_token(choice.text), mono=True, bold=taken, width=84)
        page.number(
            x + 150, y, float(trace["logits"][t, choice.id]), ("logits", (t, choice.id)), ha="right"
        )
        page.box(
            x + 166,
            y - 8,
            max(130 * share, 0.5),
            16,
            fill=role.ink if taken else role.fill,
            edge=role.ink,
            line=0.6,
            round=2,
        )
        page.number(
            x + 172 + 130 * share,
            y,
            share,
            f"derived:np.exp(trace.top({t}, {K})[{n}].log_prob)",
            ha="left",
            digits=4,
            bold=taken,
        )


def draw_sampling(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    step: int | str | None = None,
    temperatures: tuple[float, float] = (0.5, 1.5),
    top_k: int = 3,
    top_p: float = 0.9,
) -> Figure:
    """Draw one prediction as it is, at two temperatures, and cut by top-k and top-p (V83)."""
    page = Page(lang, ax)
    t = (
        max(range(len(trace.predictions)), key=lambda i: trace.predictions[i].entropy)
        if step is None
        else find_step(trace, step)
    )
    z = trace["logits"][t].astype(np.float64)
    choices = trace.top(t, 8)
    panels = [(page.say("as it is", "原样"), 1.0, len(z), 1.0)]
    panels += [
        (page.say(f"temperature {h:g}", f"温度 {h:g}"), h, len(z), 1.0) for h in temperatures
    ]
    panels += [(f"top-k {top_k}", 1.0, top_k, 1.0), (f"top-p {top_p:g}", 1.0, len(z), top_p)]
    for n, choice in enumerate(choices):
        page.text(-10, 20 + n * 22, show_token(choice.text), mono=True, ha="right", width=90)
    page.text(
        -10, 20 + len(choices) * 22, page.say("all others", "其余"), ha="right", color=theme.SOFT
    )
    for column, (label, warmth, k, p) in enumerate(panels):
        share = cut_off(z / warmth, k, p)
        expression = f'cut_off(trace["logits"][{t}].astype(np.float64) / {warmth}, {k}, {p})'
        _draw_distribution(page, column * 132.0, label, share, [c.id for c in choices], expression)
    return page.finish(
        page.say("Drawing the next token by lot", "采样：随机抽取下一个词元"),
        page.say(
            f"After “{show_token(trace.target[t].text)}”. Temperature divides the logits before "
            "the softmax; top-k keeps the k "
            "best, top-p the fewest that together reach p; what is left is scaled up to sum to 1. "
            "Crossed out: cannot be drawn.",
            f"在“{show_token(trace.target[t].text)}”之后。温度在 softmax 之前除 logit；top-k 只留最"
            "好的 k 个，"
            "top-p 留下合计达到 p 的最少几个；剩下的重新归一。划掉的不会被抽中。",
        ),
    )


def cut_off(logits: Array, k: int, p: float) -> Array:
    """Return probabilities after top-k and top-p, scaled to sum to 1.

    Top-p keeps the smallest set of best tokens whose probabilities reach p.
    """
    share = np.exp(logits - np.logaddexp.reduce(logits))
    order = np.argsort(-share, kind="stable")
    before = np.cumsum(share[order]) - share[order]
    out = order[(before >= p) | (np.arange(len(order)) >= k)]
    share[out] = 0
    return np.asarray(share / share.sum())


def _draw_distribution(
    page: Page, x: float, label: str, share: Array, ids: list[int], expression: str
) -> None:
    role = theme.role("softmax")
    page.text(x, 0, label, bold=True, size=theme.SMALL)
    for n, id in enumerate([*ids, None]):
        y = 20 + n * 22.0
        value = float(share[id]) if id is not None else max(0.0, 1 - float(share[ids].sum()))
        of = f"{expression}[{id}]" if id is not None else f"1 - {expression}[{ids}].sum()"
        out = value < 1e-12
        page.box(
            x,
            y - 7,
            max(74 * value, 0.5),
            14,
            fill=role.fill if id is not None else theme.FAINT,
            edge=role.ink if id is not None else theme.SOFT,
            line=0.6,
            round=2,
        )
        page.number(
            x + 80 * value + 5,
            y,
            value,
            f"derived:{of}",
            ha="left",
            size=theme.TINY + 0.5,
            digits=3,
            color=theme.FAINT if out else theme.INK,
        )
        if out:
            page.line([(x + 2, y), (x + 34, y)], color=theme.SOFT, width=0.9, layer=7)
