"""Pictures of training: smoothing and learning rate, teacher forcing, gradients (V89-V91)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .canvas import Page, Rect
from .cells import heat, legend
from .charts import Chart
from .runs import read_watched
from .selection import balance, elide, show_token, tell_left_out
from .training import Place


def learning_rate(step: float, width: int, warmup: int) -> float:
    """Return the learning rate at a step, by equation 3 of the paper (factor 1)."""
    return float(width**-0.5 * min(step**-0.5, step * warmup**-1.5))


def smoothed_loss(x: float, smoothing: float, tokens: int) -> float:
    """Return the KL divergence, in nats, of a smoothed target from a prediction.

    The prediction has 1 - x on the right token and x spread evenly over the others.
    """
    right, wrong = 1 - smoothing + smoothing / tokens, smoothing / tokens
    parts = ((1, right, 1 - x), (tokens - 1, wrong, x / (tokens - 1)))
    return sum(count * p * math.log(p / q) for count, p, q in parts if p > 0)


def draw_schedules(
    trace: Any = None,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    smoothing: float = 0.1,
    tokens: int = 6,
) -> Figure:
    """Draw the cost of certainty under label smoothing, and learning-rate schedules (V89)."""
    page = Page(lang, ax)
    places = np.linspace(0.002, 0.6, 150).tolist()
    chart = Chart(
        page,
        Rect(0, 0, 300, 200),
        (0, 0.6),
        (0, 1.2),
        up=page.say("divergence from the target, nats", "与目标的散度（nat）"),
        across=page.say("probability that is not on the right token", "不在正确词元上的概率"),
    )
    for amount, role in ((0.0, "residual"), (smoothing, "softmax")):
        values = [min(smoothed_loss(x, amount, tokens), 1.2) for x in places]
        chart.curve(places, values, theme.role(role).ink, width=2)
        page.text(
            306,
            chart.at(0.6, values[-1])[1],
            page.say(f"smoothing {amount:g}", f"平滑 {amount:g}"),
            size=theme.SMALL,
            bold=True,
            color=theme.role(role).ink,
        )
    best = smoothing * (tokens - 1) / tokens
    x, y = chart.at(best, smoothed_loss(best, smoothing, tokens))
    page.box(x - 4, y - 4, 8, 8, fill=theme.role("softmax").ink, edge=theme.PAPER, round=4, layer=5)
    page.line([(x, y - 6), (x, y - 58)], color=theme.role("softmax").ink, width=0.8, dashed=True)
    page.number(
        x + 4,
        y - 64,
        best,
        f"derived:{smoothing} * {tokens - 1} / {tokens}",
        digits=3,
        before=page.say("best at ", "最优 "),
    )
    steps = np.unique(np.linspace(1, 20000, 240).astype(int)).tolist()
    curves = ((512, 4000, "query"), (512, 8000, "key"), (256, 4000, "value"))
    top = 1000 * max(learning_rate(warmup, width, warmup) for width, warmup, _ in curves)
    rates = Chart(
        page,
        Rect(430, 0, 330, 200),
        (0, 20000),
        (0, top * 1.05),
        across=page.say("updates", "更新次数"),
        up=page.say("learning rate, thousandths", "学习率（千分之一）"),
    )
    for n, (width, warmup, role) in enumerate(curves):
        rates.curve(
            steps,
            [1000 * learning_rate(s, width, warmup) for s in steps],
            theme.role(role).ink,
            width=2,
        )
        page.line([(642, 14 + 15 * n), (660, 14 + 15 * n)], color=theme.role(role).ink, width=2)
        page.text(
            664,
            14 + 15 * n,
            page.say(f"d {width}, warm-up {warmup}", f"d {width}，预热 {warmup}"),
            size=theme.SMALL,
            color=theme.role(role).ink,
        )
    return page.finish(
        page.say("Label smoothing and the learning rate", "标签平滑与学习率"),
        page.say(
            f"Left: a target smoothed over {tokens} tokens is missed by a model that is too sure. "
            "Right: the paper's schedule, "
            "up during the warm-up, then down with the square root of the step.",
            f"左：目标在 {tokens} 个词元上平滑后，过于自信的模型反而受罚。右：论文的学习率，预热期"
            "上升，之后随步数的平方根下降。",
        ),
    )


def draw_teacher_forcing(
    trace: Any, *, lang: str = "en", ax: Axes | None = None, columns: int = 10
) -> Figure:
    """Draw what is fed, what is most probable and what is wanted, for all rows at once (V90)."""
    page, wide = Page(lang, ax), 76.0
    lines = (
        (page.say("fed", "输入"), "embedded"),
        (page.say("most probable", "最可能"), "softmax"),
        (page.say("wanted", "目标"), "decoder"),
    )
    shown = elide(len(trace.predictions), 5 * columns, 6)
    columns = balance(len(shown), columns)
    for place, t in enumerate(shown):
        row, column = divmod(place, columns)
        x, y = column * wide, row * 112.0
        if t is None:
            page.text(x + wide / 2 - 3, y + 43, "…", size=14, ha="center", color=theme.SOFT)
            continue
        prediction = trace.predictions[t]
        texts = (
            show_token(trace.target[t].text),
            show_token(prediction.texts[0]),
            show_token(trace.predicted[t].text),
        )
        right = prediction.rank == 0
        for n, ((label, role), text) in enumerate(zip(lines, texts, strict=True)):
            look, top = theme.role(role), y + n * 32
            page.box(
                x,
                top,
                wide - 6,
                22,
                fill=look.fill,
                edge=look.ink,
                line=1 if n != 1 or right else 2,
                dashed=n == 1 and not right,
            )
            page.text(
                x + wide / 2 - 3,
                top + 11,
                text,
                size=theme.SMALL,
                mono=True,
                ha="center",
                width=wide - 10,
            )
            if not column:
                page.text(-10, top + 11, label, ha="right", bold=True, color=look.ink)
        page.arrow((x + wide / 2 - 3, y + 23), (x + wide / 2 - 3, y + 31))
        page.text(
            x + wide / 2 - 3, y + 59, "=" if right else "≠", ha="center", bold=True, size=theme.TEXT
        )
        if column + 1 < columns and t + 1 in shown:
            page.line(
                [
                    (x + wide - 7, y + 64),
                    (x + wide - 3, y + 64),
                    (x + wide - 3, y + 11),
                    (x + wide, y + 11),
                ],
                dashed=True,
                width=0.8,
                alpha=0.7,
            )
    missed = sum(prediction.rank > 0 for prediction in trace.predictions)
    return page.finish(
        page.say(
            "Teacher forcing: the right words go in, whatever was predicted",
            "教师强制：无论预测什么，都输入正确的词",
        ),
        page.say(
            "What is fed is what is wanted, one place to the right. All rows are computed at "
            "once. Here the translation itself is the "
            f"teacher; at {missed} of {len(trace.predictions)} places another token was more "
            "probable (dashed).",
            f"输入就是目标右移一位，所有行同时计算。这里以译文本身为老师；{len(trace.predictions)} "
            f"处中有 {missed} 处另一个词元更可能（虚框）。",
        )
        + tell_left_out(page, len([t for t in shown if t is not None]), len(trace.predictions)),
    )


def draw_gradients(
    trace: Any = None, *, lang: str = "en", ax: Axes | None = None, watch: Place = None
) -> Figure:
    """Draw the gradient norm of each block at each recorded update (V91)."""
    page, run = Page(lang, ax), read_watched(watch)
    if not run.gradients:
        raise ValueError(f"{watch}: no gradients were noted in this training")
    blocks = [name for name in run.gradients[0] if name not in ("step", "total")]
    keep = sorted({round(n) for n in np.linspace(0, len(run.gradients) - 1, 200)})
    lines = [run.gradients[n] for n in keep]
    values = np.array([[line.get(block, 0.0) for line in lines] for block in blocks])
    high, limit = max(13.0, 200 / len(blocks)), float(values.max()) or 1.0
    heat(page, 0, 0, values, 460, high * len(blocks), role="softmax", scale="share", limit=limit)
    for n, block in enumerate(blocks):
        page.text(-6, (n + 0.5) * high, block.replace("_", " "), size=theme.SMALL, ha="right")
        last = keep[-1]
        end = float(values[n, -1])
        digits = max(3, 1 - math.floor(math.log10(end))) if end > 0 else 3
        page.number(
            470,
            (n + 0.5) * high,
            end,
            f"derived:watch.gradients[{last}]['{block}']",
            ha="left",
            size=theme.TINY,
            digits=digits,
        )
    bottom = high * len(blocks)
    page.text(470, -8, page.say("at the end", "最后"), size=theme.TINY, color=theme.SOFT)
    for n in (0, len(lines) // 2, len(lines) - 1):
        x = (n + 0.5) * 460 / len(lines)
        page.text(
            x,
            bottom + 10,
            str(int(lines[n]["step"])),
            size=theme.TINY,
            color=theme.SOFT,
            ha="center",
            gid="scale",
        )
    page.text(
        230,
        bottom + 24,
        page.say("updates noted", "记录的更新"),
        size=theme.SMALL,
        color=theme.SOFT,
        ha="center",
    )
    legend(
        page, 0, bottom + 38, "share", limit, label=page.say("norm of the gradient", "梯度的范数")
    )
    own = page.say(
        "A model of five words and three marks, trained for these pictures.",
        "为这些图训练的模型（五个词、三个标记）。",
    )
    where = own if watch is None else page.say("A training of yours.", "你的一次训练。")
    return page.finish(
        page.say("Every block is told how to change", "每一块都得知该如何改变"),
        where
        + page.say(
            " The loss goes backwards through all blocks; each column is one update, before "
            "clipping.",
            "损失反向传过所有块；每列是一次更新，裁剪之前。",
        ),
    )
