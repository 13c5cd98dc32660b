"""The picture of the loss, token by token and term by term (V88)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .selection import Array, elide, show_token, tell_left_out

MOST = 32  # steps drawn one by one


def draw_loss(trace: Any, *, lang: str = "en", ax: Axes | None = None) -> Figure:
    """Draw -ln P of each token of the translation, and their sum (V88)."""
    page, role = Page(lang, ax), theme.role("softmax")
    losses = [-prediction.log_prob for prediction in trace.predictions]
    worst = max([*losses, 1e-9])
    for x, text, ha in (
        (0, page.say("token", "词元"), "right"),
        (60, "P", "right"),
        (76, "−ln P", "left"),
        (330, page.say("sum so far", "累计"), "right"),
    ):
        page.text(x, -14, text, size=theme.SMALL, color=theme.SOFT, ha=ha)
    shown = elide(len(losses), MOST, 6)
    for place, t in enumerate(shown):
        if t is None:
            page.text(0, place * 20.0 + 6, "⋮", ha="right", color=theme.SOFT)
            continue
        y, name, loss = place * 20.0 + 6, f"trace.predictions[{t}].log_prob", losses[t]
        page.text(0, y, show_token(trace.predicted[t].text), mono=True, ha="right", width=120)
        page.number(60, y, math.exp(-loss), f"derived:np.exp({name})", ha="right", digits=3)
        page.box(
            76,
            y - 7,
            max(150 * loss / worst, 0.6),
            14,
            fill=role.fill,
            edge=role.ink,
            line=0.8,
            round=2,
        )
        page.number(82 + 150 * loss / worst, y, loss, f"derived:-{name}", ha="left", digits=3)
        page.number(
            330,
            y,
            sum(losses[: t + 1]),
            f"derived:-sum(p.log_prob for p in trace.predictions[:{t + 1}])",
            ha="right",
            digits=2,
            bold=t == len(losses) - 1,
        )
    _tell_means(page, trace)
    if "logits" in trace:
        _draw_terms(page, trace, int(np.argmax(losses)), 400, 190)
    return page.finish(
        page.say("The loss, token by token", "逐词元的损失"),
        page.say(
            "Cross-entropy with a wanted distribution that is all on one token is −ln P of that "
            "token; what cross-entropy has over "
            "the entropy of the target is the Kullback-Leibler divergence, here the same, because "
            "that entropy is 0.",
            "当目标分布全在一个词元上时，交叉熵就是该词元的 −ln P；交叉熵减去目标的熵即 KL 散度，此"
            "处二者相同，因为目标的熵为 0。",
        )
        + tell_left_out(page, len([t for t in shown if t is not None]), len(losses)),
    )


def _tell_means(page: Page, trace: Any) -> None:
    """Draw the formula of the loss, and mean loss, perplexity and mean entropy."""
    page.formula(470, 40, r"-\sum_t \ln P(y_t \mid y_{<t}, x)", size=14)
    mean = -sum(p.log_prob for p in trace.predictions) / len(trace.predictions)
    for n, (label, value, expression) in enumerate(
        (
            (page.say("mean", "平均"), mean, "-np.mean([p.log_prob for p in trace.predictions])"),
            (
                page.say("perplexity", "困惑度"),
                math.exp(mean),
                "np.exp(-np.mean([p.log_prob for p in trace.predictions]))",
            ),
            (
                page.say("mean entropy", "平均熵"),
                float(np.mean([p.entropy for p in trace.predictions])),
                "np.mean([p.entropy for p in trace.predictions])",
            ),
        )
    ):
        page.number(
            400,
            90 + 22 * n,
            value,
            f"derived:{expression}",
            ha="left",
            before=label + page.say(": ", "："),
            size=11,
            digits=3,
        )


def smooth_terms(trace: Any, t: int, smoothing: float) -> Array:
    """Return target q, prediction p, -q ln p and q ln(q / p) of each token at step t; V 4."""
    logits = trace["logits"][t].astype(np.float64)
    logs = logits - np.logaddexp.reduce(logits)
    q = np.full(len(logits), smoothing / len(logits))
    q[trace.predicted[t].id] += 1 - smoothing
    return np.stack((q, np.exp(logs), -q * logs, q * (np.log(q) - logs)), 1)


def _draw_terms(page: Page, trace: Any, t: int, x: float, y: float, smoothing: float = 0.1) -> None:
    """Draw cross-entropy and KL divergence of one step, term by term, for a smoothed target."""
    terms, best = smooth_terms(trace, t, smoothing), [c.id for c in trace.top(t, 3)]
    wanted = trace.predicted[t]
    ids = list(dict.fromkeys([wanted.id, *best]))
    texts = {wanted.id: wanted.text} | {c.id: c.text for c in trace.top(t, 3)}
    page.text(
        x,
        y - 20,
        page.say(
            f"“{show_token(wanted.text)}”, target smoothed by {smoothing:g}",
            f"“{show_token(wanted.text)}”，目标平滑 {smoothing:g}",
        ),
        bold=True,
    )
    for column, name in enumerate(("q", "p", "−q ln p", "q ln(q/p)")):
        page.text(x + 120 + 56 * column, y, name, size=theme.SMALL, color=theme.SOFT, ha="right")
    of = f"smooth_terms(trace, {t}, {smoothing})"
    rows = [(show_token(texts[id]), terms[id], f"{of}[{id}]") for id in ids]
    rest = np.delete(terms, ids, 0).sum(0)
    rows.append((page.say("all others", "其余"), rest, f"np.delete({of}, {ids}, 0).sum(0)"))
    rows.append(("Σ", terms.sum(0), f"{of}.sum(0)"))
    for line, (text, values, expression) in enumerate(rows, 1):
        page.text(x, y + 18 * line, text, mono=line <= len(ids), width=76, bold=line == len(rows))
        for column, value in enumerate(values.tolist()):
            page.number(
                x + 120 + 56 * column,
                y + 18 * line,
                value,
                f"derived:{expression}[{column}]",
                ha="right",
                digits=4,
                bold=line == len(rows),
            )
    page.text(
        x,
        y + 18 * len(rows) + 22,
        page.say(
            "q: wanted, p: predicted; the first sum is the cross-entropy,\nthe second, "
            "the divergence, what it has over the entropy of q",
            "q：目标，p：预测；前一列之和是交叉熵，\n后一列之和是 KL 散度：交叉熵减去 q 的熵",
        ),
        size=theme.SMALL,
        color=theme.SOFT,
    )
